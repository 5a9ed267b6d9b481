"""Uses the example on Django as its users do, and prints what came of it as JSON."""

import asyncio
import json
import os
from datetime import timedelta
from typing import Any

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection, transaction  # noqa: E402
from django.test import AsyncClient, Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from holdfast.django import application  # noqa: E402
from holdfast.django.interface import TaskResultDoesNotExist, task_enqueued  # noqa: E402
from holdfast.testing import run_inline  # noqa: E402

call_command("migrate", verbosity=0)

from shop.models import Order  # noqa: E402
from shop.tasks import count_orders, send_receipt  # noqa: E402

app = application()
client = Client()
found: dict[str, Any] = {}


def states(*results: Any) -> list[str]:
    for result in results:
        result.refresh()
    return [result.status for result in results]


def orders() -> None:
    signals: list[str] = []
    task_enqueued.connect(keep := lambda task_result, **_: signals.append(task_result.id))
    made = client.post("/orders", {"item": "rope", "quantity": 2})
    refused = client.post("/orders", {"item": "anchor", "quantity": 11})
    task_enqueued.disconnect(keep)
    receipt = made.json()["receipt"]
    found["answers"] = [made.status_code, refused.status_code, refused.json()]
    found["signals"] = [receipt in signals, len(signals)]
    found["jobs"] = [
        (view.job.pipeline, view.job.queue, view.job.priority, view.payload) for view in app.jobs()
    ]
    found["before"] = client.get(f"/receipts/{receipt}").json()
    run_inline(app)
    found["after"] = client.get(f"/receipts/{receipt}").json()
    found["orders"] = list(Order.objects.values_list("item", "receipt"))
    result = send_receipt.get_result(receipt)
    times = (result.enqueued_at, result.started_at, result.finished_at)
    found["result"] = [result.return_value, result.attempts, result.worker_ids, list(result.args)]
    found["in order"] = times == tuple(sorted(times))


async def counts() -> str:
    return (await AsyncClient().get("/counts/rope")).json()["count"]


async def counted(result_id: str) -> Any:
    return (await count_orders.aget_result(result_id)).return_value


def savepoints() -> None:
    before = app.count()
    with transaction.atomic():
        kept = send_receipt.enqueue(1)
        inner = transaction.savepoint()
        send_receipt.enqueue(2)
        transaction.savepoint_rollback(inner)
        found["unseen before the commit"] = app.count() - before
    found["kept"] = [app.count() - before, *states(kept)]


def failures() -> None:
    failed = send_receipt.enqueue(0)
    run_inline(app)
    found["failed"] = [*states(failed), [error.exception_class_path for error in failed.errors]]
    found["says why"] = "DoesNotExist" in failed.errors[0].traceback
    cancelled = send_receipt.enqueue(1)
    app.cancel(cancelled.id, by="tests")
    found["cancelled"] = [*states(cancelled), cancelled.errors[0].exception_class.__name__]
    unknown = []
    for result_id in ("no id", "00000000-0000-7000-8000-000000000000"):
        try:
            send_receipt.get_result(result_id)
        except TaskResultDoesNotExist:
            unknown.append(result_id)
    found["unknown"] = len(unknown)


def later() -> None:
    at = timezone.now() + timedelta(hours=1)
    result = send_receipt.using(run_after=at, priority=-100).enqueue(1)
    again = send_receipt.get_result(result.id)
    view = app.job(result.id)
    found["later"] = [again.status, again.task.run_after == at, view.label, view.job.priority]


orders()
count = asyncio.run(counts())
run_inline(app)
found["count"] = asyncio.run(counted(count))
found["queue of the count"] = count_orders.get_result(count).task.queue_name
savepoints()
failures()
later()
call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)
call_command("migrate", check_unapplied=True, verbosity=0)
app.close()
connection.close()
print(json.dumps(found))
