"""What the shop sells."""

from django.db import models


class Order(models.Model):
    """An order, and the receipt that was sent for it."""

    item = models.CharField(max_length=100)
    quantity = models.PositiveIntegerField()
    receipt = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return f"{self.quantity} {self.item}"
