"""Services keep their turns, fail slowly, end when told, and are missed when they hang."""

import itertools
import threading
from collections.abc import Callable

import pytest

from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, Instant, later
from holdfast.errors import StoreCorrupt, StoreUnavailable
from holdfast.runtime.kernel.clock import Chance, StoreClock, monotonic_s, sleep_s
from holdfast.runtime.kernel.service import BACKOFF_S, Supervisor
from holdfast.runtime.maintenance.watchdog import Watchdog

PATIENCE_S = 10.0


class Turns:
    """A service that does what it is told and lets the test wait for its turns."""

    name = "turns"

    def __init__(self, act: Callable[[int, Instant], Instant]) -> None:
        self.wake = threading.Event()
        self._act = act
        self._turned = threading.Condition()
        self.count = 0

    def tick(self, now: Instant) -> Instant:
        with self._turned:
            self.count += 1
            self._turned.notify_all()
            number = self.count
        return self._act(number, now)

    def wait_for(self, count: int) -> None:
        with self._turned:
            assert self._turned.wait_for(lambda: self.count >= count, PATIENCE_S)


@pytest.fixture
def fatal():
    return []


@pytest.fixture
def supervisor(fatal):
    clock = StoreClock(lambda: Instant(10**15))
    supervisor = Supervisor(clock=clock, chance=Chance(1), on_fatal=fatal.append)
    yield supervisor
    supervisor.stop()


def wait_until(condition: Callable[[], bool]) -> None:
    until_s = monotonic_s() + PATIENCE_S
    while not condition():
        assert monotonic_s() < until_s
        sleep_s(0.002)


def test_a_service_that_wants_the_next_turn_at_once_gets_it(supervisor):
    service = Turns(lambda number, now: now if number < 50 else FAR_FUTURE)
    supervisor.start(service)
    service.wait_for(50)

    assert service.count == 50


def test_a_service_sleeps_as_long_as_it_asked(supervisor):
    began_s = monotonic_s()
    service = Turns(lambda _, now: later(now, SECOND_US // 20))
    supervisor.start(service)
    service.wait_for(4)

    assert monotonic_s() - began_s >= 3 * 0.05


def test_a_sleeping_service_can_be_woken(supervisor):
    service = Turns(lambda *_: FAR_FUTURE)
    supervisor.start(service)
    service.wait_for(1)
    service.wake.set()
    service.wait_for(2)

    assert service.count == 2


def test_a_wake_during_a_turn_is_not_lost(supervisor):
    def act(number, now):
        if number == 1:
            service.wake.set()
        return FAR_FUTURE

    service = Turns(act)
    supervisor.start(service)
    service.wait_for(2)

    assert service.count == 2


@pytest.mark.parametrize("error", [StoreUnavailable("x://", reason="gone"), ValueError("bug")])
def test_a_service_that_fails_goes_on(supervisor, error, caplog, fatal):
    caplog.set_level("INFO")

    def act(number, now):
        if number <= 2:
            raise error
        return FAR_FUTURE

    service = Turns(act)
    supervisor.start(service)
    service.wait_for(3)
    wait_until(lambda: "turns works again" in caplog.text)

    warnings = [record for record in caplog.records if "turns failed" in record.message]
    # An outage is said once, by a line; every turn of a bug is said, with its traceback.
    assert len(warnings) == (1 if isinstance(error, StoreUnavailable) else 2)
    assert bool(warnings[0].exc_info) == isinstance(error, ValueError)
    assert fatal == []


def test_a_service_that_keeps_failing_is_tried_ever_more_slowly(supervisor):
    times_s = []

    def act(number, now):
        times_s.append(monotonic_s())
        raise StoreUnavailable("x://", reason="gone")

    service = Turns(act)
    supervisor.start(service)
    service.wait_for(4)

    waits_s = [after - before for before, after in itertools.pairwise(times_s)]
    for wait_s, longest_s in zip(waits_s, BACKOFF_S, strict=False):
        assert wait_s >= longest_s / 2


def test_a_damaged_database_ends_the_worker(supervisor, fatal):
    def act(number, now):
        raise StoreCorrupt("x://", reason="bad page")

    service = Turns(act)
    supervisor.start(service)
    wait_until(lambda: bool(fatal))

    assert "restore it from a backup" in fatal[0]
    wait_until(lambda: not supervisor.running[0].alive())
    assert service.count == 1


def test_stopping_ends_sleeping_and_busy_services_alike(supervisor):
    services = [Turns(lambda *_: FAR_FUTURE), Turns(lambda _, now: now)]
    for service in services:
        supervisor.start(service)
        service.wait_for(1)

    assert supervisor.stop() == []
    assert not any(running.alive() for running in supervisor.running)


def look(supervisor, fatal, *, patience_s):
    Watchdog(supervisor, patience_s=patience_s, on_fatal=fatal.append).tick(Instant(0))


def test_the_watchdog_notices_a_service_that_hangs(supervisor, fatal):
    release = threading.Event()

    def act(number, now):
        release.wait(PATIENCE_S)
        return FAR_FUTURE

    service = Turns(act)
    supervisor.start(service)
    service.wait_for(1)
    wait_until(lambda: supervisor.running[0].overdue_s() > 0.02)
    look(supervisor, fatal, patience_s=60)
    assert fatal == []
    look(supervisor, fatal, patience_s=0.02)
    release.set()

    assert fatal == ["turns has been stuck for 0 s"]


def test_the_watchdog_notices_a_service_that_hangs_after_it_was_woken(supervisor, fatal):
    release = threading.Event()

    def act(number, now):
        if number > 1:
            release.wait(PATIENCE_S)
        return FAR_FUTURE

    service = Turns(act)
    supervisor.start(service)
    service.wait_for(1)
    wait_until(lambda: supervisor.running[0].sleeps_until_s > monotonic_s() + 3600)
    look(supervisor, fatal, patience_s=0.0)
    assert fatal == []
    service.wake.set()
    service.wait_for(2)
    wait_until(lambda: supervisor.running[0].overdue_s() > 0.02)
    look(supervisor, fatal, patience_s=0.02)
    release.set()

    assert len(fatal) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_watchdog_notices_a_thread_that_died_without_a_word(supervisor, fatal):
    def act(number, now):
        raise SystemExit

    supervisor.start(Turns(act))
    wait_until(lambda: not supervisor.running[0].alive())
    look(supervisor, fatal, patience_s=60)

    assert fatal == ["the thread of turns has died"]


def test_the_watchdog_never_sees_a_service_whose_thread_has_yet_to_start(supervisor):
    seen_dead: list[str] = []
    all_started = threading.Event()

    def look() -> None:
        while not all_started.is_set():
            seen_dead.extend(each.service.name for each in supervisor.running if not each.alive())

    looking = [threading.Thread(target=look) for _ in range(2)]
    for thread in looking:
        thread.start()
    for _ in range(60):
        supervisor.start(Turns(lambda *_: FAR_FUTURE))
    all_started.set()
    for thread in looking:
        thread.join()

    assert seen_dead == []


def test_an_outage_is_not_a_hang(supervisor, fatal):
    def act(number, now):
        raise StoreUnavailable("x://", reason="gone")

    service = Turns(act)
    supervisor.start(service)
    service.wait_for(3)
    look(supervisor, fatal, patience_s=5)

    assert fatal == []


def test_services_that_were_told_to_end_are_not_missed(supervisor, fatal):
    service = Turns(lambda *_: FAR_FUTURE)
    supervisor.start(service)
    service.wait_for(1)
    supervisor.stop()
    look(supervisor, fatal, patience_s=0)

    assert fatal == []
