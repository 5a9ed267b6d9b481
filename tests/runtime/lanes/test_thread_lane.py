"""Plain functions in threads: a thread cannot be killed, but it can be given up."""

import contextvars
import threading

import pytest

from holdfast.core.job.event import DeadlinePassed, Done, Failed, Interrupted
from holdfast.core.values.failure import STAGE_TIMEOUT
from holdfast.core.values.instant import FAR_FUTURE, Instant
from holdfast.runtime.attempts.attempt import Fate
from holdfast.runtime.lanes.thread_lane import TICK_US, ThreadLane
from holdfast.testing.clock import START, ManualClock
from tests.runtime.attempts.samples import PATIENCE_S, Desk, attempt_of


@pytest.fixture
def desk():
    return Desk()


@pytest.fixture
def lane(desk):
    lane = ThreadLane(
        limit=2, clock=ManualClock(), report=desk.report, report_late=desk.report_late
    )
    yield lane
    lane.close()


@pytest.fixture
def gate():
    gate = threading.Event()
    yield gate
    gate.set()


def nothing(job):
    pass


def overrun(lane, attempt):
    """Let an attempt that runs be past its time, and the lane look."""
    while attempt.ends_at_s is None:
        lane.wake.wait(0.001)
    attempt.ends_at_s -= 3600
    return lane.tick(START)


def test_handlers_run_and_are_reported(lane, desk):
    lane.start([attempt_of(lambda job: job.payload) for _ in range(5)])

    assert [reported.event for reported in desk.wait_for(5)] == [Done("{}")] * 5
    assert lane.load() == 0


def test_no_more_threads_run_than_the_limit(lane, desk, gate):
    names = set()

    def handler(job):
        names.add(threading.current_thread())
        gate.wait(0.01)

    lane.start([attempt_of(handler) for _ in range(8)])
    desk.wait_for(8)

    assert 1 <= len(names) <= 2


def test_a_handler_that_takes_too_long_is_given_up_and_replaced(lane, desk, gate):
    stuck = [attempt_of(lambda job: gate.wait(PATIENCE_S), timeout=3600) for _ in range(2)]
    lane.start(stuck)
    for attempt in stuck:
        overrun(lane, attempt)

    assert [reported.event for reported in desk.wait_for(2)] == [Failed(STAGE_TIMEOUT)] * 2
    assert (lane.load(), lane.abandoned) == (0, 2)
    lane.start([attempt_of(nothing)])
    assert desk.wait_for(3)[2].event == Done("null")


def test_a_handler_cut_off_by_the_jobs_deadline_expires_the_job(lane, desk, gate):
    attempt = attempt_of(
        lambda job: gate.wait(PATIENCE_S), deadline_at=Instant(START + 3600 * 10**6)
    )
    lane.start([attempt])
    overrun(lane, attempt)

    assert desk.wait_for(1)[0].event == DeadlinePassed()


def test_what_a_given_up_handler_returns_is_late_and_its_thread_ends(lane, desk, gate):
    threads = []

    def handler(job):
        threads.append(threading.current_thread())
        gate.wait(PATIENCE_S)
        return "late"

    attempt = attempt_of(handler, timeout=3600)
    lane.start([attempt])
    overrun(lane, attempt)
    gate.set()

    assert desk.wait_for_late() == (attempt, "late")
    threads[0].join(PATIENCE_S)
    assert not threads[0].is_alive()
    assert lane.abandoned == 0
    assert len(desk.reported) == 1


def test_what_a_given_up_handler_raises_is_nothing(lane, desk, gate):
    threads = []

    def handler(job):
        threads.append(threading.current_thread())
        gate.wait(PATIENCE_S)
        raise ValueError

    attempt = attempt_of(handler, timeout=3600)
    lane.start([attempt])
    overrun(lane, attempt)
    gate.set()
    threads[0].join(PATIENCE_S)

    assert desk.late == []
    assert len(desk.reported) == 1


def test_a_handler_can_see_that_it_was_stopped(lane, desk, gate):
    seen = []

    def handler(job):
        seen.append(job.cancelled)
        gate.wait(PATIENCE_S)
        seen.append(job.cancelled)
        done.set()

    done = threading.Event()
    attempt = attempt_of(handler)
    lane.start([attempt])
    while not seen:
        lane.wake.wait(0.001)
    lane.stop(attempt, Fate.LOST)
    gate.set()

    assert done.wait(PATIENCE_S)
    assert seen == [False, True]
    assert desk.wait_for(1)[0].event is None


def test_a_handler_stopped_while_it_waits_for_a_thread_never_runs(lane, desk, gate):
    ran = []
    blockers = [attempt_of(lambda job: gate.wait(PATIENCE_S)) for _ in range(2)]
    waiting = attempt_of(ran.append)
    lane.start([*blockers, waiting])
    lane.stop(waiting, Fate.LOST)
    gate.set()

    events = {id(reported.attempt): reported.event for reported in desk.wait_for(3)}
    assert events[id(waiting)] is None
    assert ran == []


def test_waiting_attempts_are_handed_back(lane, desk, gate):
    entered = threading.Semaphore(0)

    def block(job):
        entered.release()
        gate.wait(PATIENCE_S)

    lane.start([attempt_of(block) for _ in range(2)])
    for _ in range(2):
        assert entered.acquire(timeout=PATIENCE_S)
    lane.start([attempt_of(nothing) for _ in range(3)])
    lane.release_pending()

    assert [reported.event for reported in desk.wait_for(3)] == [Interrupted()] * 3
    assert lane.load() == 2


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_a_handler_that_exits_has_failed_and_ends_no_thread(lane, desk, error):
    def leave(job):
        raise error

    lane.start([attempt_of(leave) for _ in range(5)])

    failures = [reported.event.failure for reported in desk.wait_for(5)]
    assert [failure.error_class for failure in failures] == ["HANDLER_STOPPED"] * 5
    assert lane.load() == 0


def test_context_variables_do_not_leak_from_job_to_job(lane, desk):
    variable = contextvars.ContextVar("variable", default="clean")

    def handler(job):
        found = variable.get()
        variable.set("dirty")
        return found

    lane.start([attempt_of(handler) for _ in range(6)])

    assert {reported.value for reported in desk.wait_for(6)} == {"clean"}


def test_it_looks_often_only_while_something_can_run_out_of_time(lane, desk, gate):
    assert lane.tick(START) == FAR_FUTURE
    attempt = attempt_of(lambda job: gate.wait(PATIENCE_S), timeout=3600)
    lane.start([attempt])
    assert lane.wake.wait(PATIENCE_S)

    assert lane.tick(START) == START + TICK_US


def test_closing_tells_how_many_handlers_still_run(desk, gate):
    lane = ThreadLane(
        limit=2, clock=ManualClock(), report=desk.report, report_late=desk.report_late
    )
    entered = threading.Event()

    def block(job):
        entered.set()
        gate.wait(PATIENCE_S)

    lane.start([attempt_of(block)])
    assert entered.wait(PATIENCE_S)

    assert lane.close() == 1
