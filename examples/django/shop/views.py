"""Orders over HTTP."""

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_GET, require_POST

from shop.models import Order
from shop.tasks import count_orders, send_receipt

MOST = 10


class SoldOut(Exception):
    """There are not so many."""


@transaction.atomic
def placed(item: str, quantity: int) -> tuple[int, str]:
    """Store an order together with the job that sends its receipt: both, or none."""
    new = Order.objects.create(item=item, quantity=quantity)
    result = send_receipt.enqueue(new.pk)
    if quantity > MOST:
        raise SoldOut
    return new.pk, result.id


@require_POST
def order(request: HttpRequest) -> HttpResponse:
    """Place an order, and answer with where to ask for its receipt."""
    try:
        number, receipt_id = placed(request.POST["item"], int(request.POST["quantity"]))
    except SoldOut:
        return JsonResponse({"error": "sold out"}, status=409)
    return JsonResponse({"order": number, "receipt": receipt_id}, status=202)


@require_GET
def receipt(_: HttpRequest, result_id: str) -> HttpResponse:
    """Return what has become of a receipt."""
    result = send_receipt.get_result(result_id)
    text = result.return_value if result.status == "SUCCESSFUL" else None
    return JsonResponse({"status": result.status, "text": text})


async def count(_: HttpRequest, item: str) -> HttpResponse:
    """Have orders counted, without blocking the loop."""
    result = await count_orders.aenqueue(item)
    return JsonResponse({"count": result.id}, status=202)
