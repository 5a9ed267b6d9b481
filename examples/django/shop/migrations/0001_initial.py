"""The table of orders."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Makes the table."""

    initial = True
    operations = (
        migrations.CreateModel(
            name="Order",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("item", models.CharField(max_length=100)),
                ("quantity", models.PositiveIntegerField()),
                ("receipt", models.CharField(blank=True, max_length=200)),
            ],
        ),
    )
