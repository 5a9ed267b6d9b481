"""A Celery application with tasks of its own and durable ones, as its workers import it."""

import os
import signal
import time
from pathlib import Path

from celery import Celery

from holdfast import Holdfast, Pipeline, Retry
from holdfast.workers import WorkerOptions

FOLDER = Path(os.environ["SHOP_FOLDER"])
SOON = Retry(attempts=3, base=0.5, factor=2.0, jitter="none")

celery = Celery("shop", broker=os.environ["SHOP_BROKER"])
celery.conf.update(
    worker_prefetch_multiplier=1,
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
    broker_native_delayed_delivery_queue_type="classic",
)
jobs = Holdfast(os.environ["SHOP_DATABASE"])
OWN = WorkerOptions(concurrency=1, lease=2.0, grace=3.0)
durable = jobs.celery(
    celery,
    exchange=os.environ["SHOP_EXCHANGE"],
    options=None if os.environ.get("SHOP_OPTIONS") == "those of the pool" else OWN,
    hold=float(os.environ.get("SHOP_HOLD", "60")),
)


def note(what: str) -> None:
    """Leave a line about a run that no kill can take back."""
    with (FOLDER / "runs").open("a") as file:
        file.write(f"{what} {os.getpid()} {time.monotonic()}\n")


@durable.task(name="add", retry=SOON)
def add(x: int, y: int = 1) -> int:
    note(f"add-{x}")
    return x + y


@durable.task(name="stall", retry=SOON)
def stall(name: str, seconds: float) -> str:
    """Take long, in the first run only."""
    note(f"stall-{name}")
    marker = FOLDER / f"stalled-{name}"
    if not marker.exists():
        marker.touch()
        time.sleep(seconds)
    return name


@durable.task(name="work", retry=SOON)
def work(n: int) -> int:
    note(f"work-{n}")
    time.sleep(0.05)
    return n


@durable.task(name="nap", retry=SOON)
def nap(n: int) -> int:
    note(f"nap-{n}")
    time.sleep(0.3)
    return n


@durable.task(name="meet", retry=SOON)
def meet(place: str, n: int, others: int) -> int:
    """End only once as many others are here at the same time; return how many came."""
    here = FOLDER / f"meeting-{place}"
    here.mkdir(exist_ok=True)
    (here / str(n)).touch()
    note(f"meet-{n}")
    until_s = time.monotonic() + 60
    while (came := len(list(here.iterdir()))) <= others:
        if time.monotonic() > until_s:
            raise TimeoutError(f"only {came} came")
        time.sleep(0.02)
    return came


@durable.task(name="suicide", retry=SOON)
def suicide() -> None:
    note("suicide")
    os.kill(os.getpid(), signal.SIGKILL)


steps = Pipeline("steps", retry=SOON)
jobs.add(steps)


@steps.stage
async def one(job, n: int) -> int:
    note(f"one-{n}")
    return n + 1


@steps.stage
def two(job, one: int) -> int:
    note(f"two-{one}")
    return one * 10


@steps.stage(runs="process")
def three(job, two: int) -> int:
    note(f"three-{two}")
    return two + 1


@celery.task(name="plain")
def plain(what: str) -> None:
    note(f"plain-{what}")
