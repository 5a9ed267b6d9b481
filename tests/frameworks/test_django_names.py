"""What names, priorities and databases of Django's are in holdfast."""

from holdfast.django.databases import postgres_url
from holdfast.django.names import pipeline_name, priority_of
from holdfast.pipeline.names import MAX_NAME_LENGTH


def test_a_long_path_keeps_its_end_and_is_no_other():
    short, long = "shop.tasks.send", "project.applications.shop.tasks.send_the_receipt_of_an_order"
    names = [pipeline_name(path) for path in (short, long, long.replace("project", "another"))]

    assert names[0] == "django.shop.tasks.send"
    assert len(names[1]) == MAX_NAME_LENGTH
    assert names[1].endswith(".shop.tasks.send_the_receipt_of_an_order")
    assert len(set(names)) == 3


def test_priorities_fall_into_four_bands_of_which_the_default_is_the_second():
    bands = {-100: 3, -51: 3, -50: 2, -1: 2, 0: 1, 49: 1, 50: 0, 100: 0}

    assert {priority: priority_of(priority) for priority in bands} == bands


def test_the_url_of_a_database_is_what_django_connects_to():
    urls = {
        "postgresql://ann:a%2Fb%40c@db.internal:5433/shop?sslmode=require": {
            "user": "ann",
            "password": "a/b@c",
            "host": "db.internal",
            "port": "5433",
            "dbname": "shop",
            "sslmode": "require",
            "prepare_threshold": None,
            "cursor_factory": object,
            "context": object(),
        },
        "postgresql://ann@%2Fvar%2Frun%2Fpostgresql/shop": {
            "user": "ann",
            "host": "/var/run/postgresql",
            "dbname": "shop",
        },
        "postgresql://[::1]:5432/shop": {"host": "::1", "port": 5432, "dbname": "shop"},
        "postgresql:///?service=shop": {"service": "shop"},
    }

    assert [postgres_url(given) for given in urls.values()] == list(urls)
