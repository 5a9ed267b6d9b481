"""One Celery application with the same task twice: Celery's own, and a durable one."""

import os

from celery import Celery
from kombu import Exchange, Queue

from holdfast import Holdfast
from holdfast.workers import WorkerOptions

PLAIN = "bench-plain"
DURABLE = "bench.default"

celery = Celery("bench", broker=os.environ["BENCH_BROKER"])
celery.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=int(os.environ.get("BENCH_PREFETCH", "1")),
    worker_enable_remote_control=False,
    broker_native_delayed_delivery_queue_type="classic",
    task_queues=[
        Queue(
            PLAIN,
            Exchange(PLAIN, type="topic"),
            routing_key=PLAIN,
            queue_arguments={"x-queue-type": "quorum"},
        )
    ],
)
jobs = Holdfast(os.environ["BENCH_DATABASE"])
durable = jobs.celery(celery, exchange="bench", options=WorkerOptions(concurrency=1, processes=1))
_pipe: list[int] = []


def note() -> None:
    """Tell the harness of a run, by one byte into its pipe."""
    if not _pipe:
        _pipe.append(os.open(os.environ["BENCH_PIPE"], os.O_WRONLY))
    os.write(_pipe[0], b".")


@celery.task(name="plain")
def plain(_n: int) -> None:
    note()


@durable.task(name="durable")
def kept(_n: int) -> None:
    note()
