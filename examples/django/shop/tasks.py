"""The tasks of the shop; `manage.py holdfast worker` runs them."""

try:
    from django.tasks import TaskContext, task
except ModuleNotFoundError:  # before Django 6.0
    from django_tasks import TaskContext, task

from holdfast import Retry
from shop.models import Order


@task(priority=50, retry=Retry(attempts=5, base=2), timeout=30)
def send_receipt(order_id: int) -> str:
    """Note that the receipt of an order was sent; done twice it is the same."""
    order = Order.objects.get(pk=order_id)
    order.receipt = f"receipt for {order.quantity} {order.item}"
    order.save()
    return order.receipt


@task(queue_name="reports", takes_context=True)
async def count_orders(context: TaskContext, item: str) -> dict[str, int]:
    """Count the orders of an item."""
    found = await Order.objects.filter(item=item).acount()
    return {item: found, "attempt": context.attempt}
