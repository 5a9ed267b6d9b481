"""Renewals that are starved, and services that die or hang without a word."""

import multiprocessing
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from holdfast.core.values.instant import Instant, later
from holdfast.runtime.kernel.clock import Chance, StoreClock
from holdfast.runtime.kernel.service import Supervisor
from holdfast.runtime.maintenance.watchdog import Watchdog
from tests.crash.fleet import Fleet, eventually
from tests.crash.sampling import on_both_databases, slow
from tests.crash.verdict import assert_no_attempt_spent, assert_no_stage_repeated

LEASE_S = 1.5


def _spin(until: float) -> None:
    while time.monotonic() < until:
        pass


@contextmanager
def _busy_processors(*, count: int, at_most_s: float) -> Iterator[None]:
    until = time.monotonic() + at_most_s
    context = multiprocessing.get_context("spawn")
    spinners = [context.Process(target=_spin, args=(until,)) for _ in range(count)]
    for spinner in spinners:
        spinner.start()
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.join()


@pytest.mark.parametrize(
    ("database_url", "leases"), on_both_databases([3.0]), indirect=["database_url"]
)
def test_handlers_that_burn_the_processor_for_several_leases_keep_them(
    fleet: Fleet, leases: float
) -> None:
    jobs = fleet.submit("burn", 2, seconds=leases * LEASE_S)
    with _busy_processors(count=2, at_most_s=10.0):
        busy = fleet.start(lease=LEASE_S)
        other = fleet.start(lease=LEASE_S)
        fleet.finished(jobs)

    assert_no_attempt_spent(fleet, jobs)
    assert_no_stage_repeated(fleet)
    for worker in (busy, other):
        assert not worker.events("lease_lost")
    fleet.sound()


def test_a_handler_that_lets_no_other_thread_run_keeps_its_lease_in_a_child_process(
    sqlite_fleet: Fleet,
) -> None:
    fleet = sqlite_fleet
    [job] = fleet.submit("child", does="hold the interpreter", seconds=3 * LEASE_S)
    fleet.start(lease=LEASE_S)
    fleet.start(lease=LEASE_S)
    fleet.finished([job])

    assert_no_attempt_spent(fleet, [job])
    assert len(fleet.executions(job)) == 1


@pytest.mark.slow
def test_an_async_handler_that_blocks_its_loop_keeps_its_lease(postgres_fleet: Fleet) -> None:
    fleet = postgres_fleet
    [job] = fleet.submit("stubborn", does="block the loop", seconds=2.5 * LEASE_S)
    fleet.start(lease=LEASE_S)
    fleet.start(lease=LEASE_S)
    fleet.finished([job])

    assert_no_attempt_spent(fleet, [job])
    assert len(fleet.executions(job)) == 1


def test_an_async_handler_that_blocks_its_loop_past_its_timeout_ends_its_worker(
    postgres_fleet: Fleet,
) -> None:
    fleet = postgres_fleet
    [neighbour] = fleet.submit("steps", pause=0.5)
    worker = fleet.start(concurrency=2)
    eventually(lambda: fleet.executions(neighbour), what="the neighbour waits")
    [job] = fleet.submit("blocking")

    assert worker.ended(within_s=40) == 1
    [fatal] = worker.events("fatal")
    assert "blocked the event loop" in fatal["text"]
    assert "blocking.blocks_once" in fatal["text"]
    assert fleet.app.store.held_by(worker.id) == []
    fleet.start()
    fleet.finished([job, neighbour])
    assert_no_attempt_spent(fleet, [neighbour])
    assert [line.outcome for line in fleet.app.attempts(job)] == ["retried", "completed"]
    fleet.sound()


@pytest.mark.parametrize("service", ["keeper", "reporter", slow("claimer"), slow("sweeper")])
def test_a_worker_whose_service_has_died_ends_and_hands_its_jobs_back(
    postgres_fleet: Fleet, service: str
) -> None:
    fleet = postgres_fleet
    [job] = fleet.submit("steps", pause=30.0)
    worker = fleet.start(kill_thread=f"holdfast-{service}", lease=1.0, only="steps")
    eventually(lambda: fleet.executions(job), what="the handler runs")
    fleet.submit("steps")  # a thread meets its end when it wakes, and this wakes them all
    assert worker.ended(within_s=20) == 1

    [fatal, *_] = worker.events("fatal")
    assert f"the thread of {service} has died" in fatal["text"]
    other = fleet.start(lease=1.0)
    eventually(lambda: len(fleet.executions(job)) == 2, what="another worker runs it")
    assert fleet.executions(job)[1].pid == other.pid
    fleet.sound()


def test_errors_while_renewing_are_survived(postgres_fleet: Fleet) -> None:
    fleet = postgres_fleet
    [job] = fleet.submit("steps", pause=0.5)
    worker = fleet.start(failpoints="renew.before=raise:2,renew.after=raise:2", lease=1.0)
    fleet.finished([job])

    assert sum("FailpointReached" in (line["trouble"] or "") for line in worker.log()) == 2
    assert_no_attempt_spent(fleet, [job])
    worker.signal(signal.SIGTERM)
    assert worker.ended() == 0


class _Stuck:
    """A service that never comes back from its second turn."""

    name = "stuck"

    def __init__(self) -> None:
        self.wake = threading.Event()
        self.release = threading.Event()
        self._turns = 0

    def tick(self, now: Instant) -> Instant:
        self._turns += 1
        if self._turns > 1:
            self.release.wait(30)
        return now


class _Sleeper:
    """A service that has nothing to do for a long time."""

    name = "sleeper"

    def __init__(self) -> None:
        self.wake = threading.Event()

    def tick(self, now: Instant) -> Instant:
        return later(now, 3_600_000_000)


def test_a_service_that_hangs_is_told_from_one_that_sleeps() -> None:
    fatal: list[str] = []
    clock = StoreClock(lambda: Instant(time.time_ns() // 1000))
    supervisor = Supervisor(clock=clock, chance=Chance(1), on_fatal=fatal.append)
    stuck = _Stuck()
    watchdog = Watchdog(supervisor, patience_s=0.3, on_fatal=fatal.append)
    try:
        supervisor.start(_Sleeper())
        supervisor.start(stuck)
        supervisor.start(watchdog)
        eventually(lambda: fatal, what="the watchdog speaks", within_s=5)
    finally:
        stuck.release.set()
        assert supervisor.stop() == []
    assert {line.partition(" has been")[0] for line in fatal} == {"stuck"}
