"""Too much of one thing: a slow pipeline, urgent jobs without end, a flood of submissions."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from holdfast import Holdfast, JobState, Submit
from holdfast.errors import QueueFull
from tests.crash import program
from tests.crash.fleet import Fleet, WorkerProcess, eventually

pytestmark = pytest.mark.slow

SLEEPERS = 10_000


@contextmanager
def _meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Do something again and again, in a thread, as long as the block takes."""
    over, failed = threading.Event(), []

    def go_on() -> None:
        while not over.is_set() and not failed:
            try:
                act()
            except Exception as error:  # noqa: BLE001 - reported by the test's own thread
                failed.append(error)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert not failed


@pytest.mark.timeout(120)
def test_ten_thousand_sleeping_jobs_of_one_pipeline_do_not_stop_the_others(fleet: Fleet) -> None:
    sleepers = [Submit(payload={"n": 1, "pause": 600.0}, owner="busy")] * SLEEPERS
    fleet.app.submit_many("steps", sleepers)
    worker = fleet.start(only="steps,noop", concurrency=10)
    eventually(lambda: len(fleet.executions(stage="one")) >= 9, what="the sleepers run")

    quick = fleet.submit("noop", 20)
    fleet.finished(quick)
    assert len(fleet.executions(stage="one")) == 9, "a tenth of the places is kept free"
    assert worker.is_alive


@pytest.mark.timeout(120)
def test_one_owner_with_a_queue_of_its_own_does_not_stop_the_others(fleet: Fleet) -> None:
    sleepers = [Submit(payload={"n": 1, "pause": 600.0}, owner="busy", queue="busy")] * 200
    fleet.app.submit_many("steps", sleepers)
    worker = fleet.start(only="steps", queues="default,busy", concurrency=10)
    eventually(lambda: len(fleet.executions(stage="one")) >= 9, what="the sleepers run")

    others = [fleet.app.submit("steps", {"n": n}, owner="other").id for n in range(5)]
    fleet.finished(others)
    assert worker.is_alive


@pytest.mark.timeout(120)
def test_a_constant_feed_of_urgent_jobs_keeps_no_other_waiting_for_ever(fleet: Fleet) -> None:
    urgent = [Submit(payload={"n": 1, "pause": 0.01}, priority=0)] * 40

    def feed() -> None:
        """Always leave more urgent jobs than the worker can take."""
        if fleet.app.store.queued("default", limit=1_000) < 200:
            fleet.app.submit_many("steps", urgent)
        time.sleep(0.01)  # the pace of looking

    with _meanwhile(feed):
        fleet.start(only="steps", concurrency=4)
        eventually(lambda: len(fleet.executions()) > 50, what="urgent jobs are run")
        patient = [
            fleet.app.submit("steps", {"n": 1}, priority=priority).id for priority in (1, 2, 3)
        ]
        fleet.finished(patient, within_s=60)
        assert fleet.app.store.queued("default", limit=1_000) > 40, "there was always more"


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_flood_of_submissions_is_refused_and_leaves_memory_as_it_was(fleet: Fleet) -> None:
    limit, seconds = 500, 20.0
    worker = fleet.start(only="steps", concurrency=4)
    refused = made = 0
    with Holdfast(fleet.url, pipelines=program.PIPELINES.values(), max_queued=limit) as app:
        resident: list[int] = []
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            results = app.submit_many("steps", [Submit(payload={"n": 1, "pause": 0.05})] * 100)
            made += sum(item.created for item in results)
            refused += sum(isinstance(item.error, QueueFull) for item in results)
            resident.append(_resident_kib(worker))
            assert app.store.queued("default", limit=10 * limit) <= 2 * limit
        while True:
            try:
                app.submit("steps", {"n": 1})
            except QueueFull:
                time.sleep(0.1)  # as the error says: later
            else:
                break

    assert made + refused == 100 * len(resident)
    assert refused > 5 * made, "it was no flood"
    assert made > limit, "the queue took more as it was worked off"
    half = len(resident) // 2
    assert max(resident[half:]) < 1.3 * max(resident[:half]) + 10_000
    assert worker.is_alive
    states = {view.state for view in fleet.app.jobs(limit=5_000)}
    assert states <= {JobState.QUEUED, JobState.PROCESSING, JobState.COMPLETE}
    fleet.sound()


def _resident_kib(worker: WorkerProcess) -> int:
    with open(f"/proc/{worker.pid}/status", encoding="utf-8") as file:  # noqa: PTH123 - a pseudo file
        [line] = [line for line in file if line.startswith("VmRSS:")]
    return int(line.split()[1])
