"""Coroutines on a loop of their own: each is reported once, whatever it does."""

import asyncio
import contextvars
import threading

import pytest

from holdfast.core.job.event import DeadlinePassed, Done, Failed, Interrupted
from holdfast.core.values.failure import STAGE_TIMEOUT
from holdfast.core.values.instant import Instant
from holdfast.runtime.attempts.attempt import Fate
from holdfast.runtime.lanes.loop_lane import (
    ABANDON_S,
    BLOCKED_S,
    MAX_BLOCKED_S,
    TICK_US,
    LoopLane,
)
from holdfast.testing.clock import START, ManualClock
from tests.runtime.attempts.samples import PATIENCE_S, Desk, attempt_of


@pytest.fixture
def desk():
    return Desk()


@pytest.fixture
def lane(desk):
    lane = LoopLane(
        limit=2,
        clock=ManualClock(),
        report=desk.report,
        report_late=desk.report_late,
        on_fatal=pytest.fail,
    )
    yield lane
    lane.close()


async def nothing(job):
    pass


async def for_ever(job):
    await asyncio.Event().wait()


def test_handlers_run_and_are_reported(lane, desk):
    async def double(job):
        await asyncio.sleep(0)
        return job.payload

    lane.start([attempt_of(double), attempt_of(double)])

    assert [reported.event for reported in desk.wait_for(2)] == [Done("{}")] * 2
    assert lane.load() == 0


def test_no_more_handlers_run_at_a_time_than_the_limit_and_the_rest_wait_in_order(lane, desk):
    running, most, order = [0], [0], []

    def handler_of(number):
        async def handler(job):
            order.append(number)
            running[0] += 1
            most[0] = max(most[0], running[0])
            await asyncio.sleep(0)
            running[0] -= 1

        return handler

    lane.start([attempt_of(handler_of(number)) for number in range(10)])
    desk.wait_for(10)

    assert most[0] == 2
    assert order == list(range(10))


def test_a_handler_that_takes_too_long_is_cancelled(lane, desk):
    lane.start([attempt_of(for_ever, timeout=0.01)])

    [reported] = desk.wait_for(1)
    assert isinstance(reported.error, asyncio.CancelledError)
    assert reported.event == Failed(STAGE_TIMEOUT)


def test_a_handler_cut_off_by_the_jobs_deadline_expires_the_job(lane, desk):
    lane.start([attempt_of(for_ever, timeout=60, deadline_at=Instant(START + 10_000))])

    [reported] = desk.wait_for(1)
    assert reported.event == DeadlinePassed()


def test_a_handler_that_uses_being_cancelled_to_finish_is_done(lane, desk):
    async def tidy(job):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "finished"

    lane.start([attempt_of(tidy, timeout=0.01)])

    [reported] = desk.wait_for(1)
    assert reported.event == Done('"finished"')


def test_a_handler_can_be_stopped_from_outside(lane, desk):
    entered = threading.Event()

    async def handler(job):
        entered.set()
        await asyncio.Event().wait()

    attempt = attempt_of(handler)
    lane.start([attempt])
    assert entered.wait(PATIENCE_S)
    lane.stop(attempt, Fate.SHUT_DOWN)

    [reported] = desk.wait_for(1)
    assert reported.event == Interrupted()


def test_a_handler_stopped_before_its_first_step_is_reported(lane, desk):
    """The stop comes after it was accepted and before it has begun."""
    attempts = [attempt_of(nothing) for _ in range(2)]

    def stop_both():
        lane._accept(attempts)
        for attempt in attempts:
            lane._stop(attempt, Fate.LOST)

    with lane._lock:
        lane._load += 2
    lane._loop.call_soon_threadsafe(stop_both)

    assert [reported.event for reported in desk.wait_for(2)] == [None, None]
    lane.start([attempt_of(nothing)])
    assert desk.wait_for(3)[-1].event == Done("null")


def test_a_handler_stopped_while_it_waits_for_a_place_never_runs(lane, desk):
    ran = []

    async def handler(job):
        ran.append(1)

    blockers = [attempt_of(for_ever), attempt_of(for_ever)]
    waiting = attempt_of(handler)
    lane.start([*blockers, waiting])
    lane.stop(waiting, Fate.LOST)
    for blocker in blockers:
        lane.stop(blocker, Fate.SHUT_DOWN)

    events = {id(reported.attempt): reported.event for reported in desk.wait_for(3)}
    assert events[id(waiting)] is None
    assert ran == []


def test_waiting_attempts_are_handed_back(lane, desk):
    begun = threading.Semaphore(0)

    async def begins(job):
        begun.release()
        await for_ever(job)

    waiting = [attempt_of(nothing) for _ in range(3)]
    lane.start([attempt_of(begins), attempt_of(begins), *waiting])
    for _ in range(2):
        assert begun.acquire(timeout=PATIENCE_S)
    lane.release_pending()

    reported = desk.wait_for(3)
    assert [item.attempt for item in reported] == waiting
    assert [item.event for item in reported] == [Interrupted()] * 3
    assert lane.load() == 2


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_a_handler_that_stops_itself_has_failed_and_ends_nothing_else(lane, desk, error):
    async def leave(job):
        raise error

    lane.start([attempt_of(leave), attempt_of(nothing)])

    events = [reported.event for reported in desk.wait_for(2)]
    assert isinstance(events[0], Failed)
    assert events[0].failure.error_class == "HANDLER_STOPPED"
    assert events[1] == Done("null")


def test_context_variables_do_not_leak_from_job_to_job(lane, desk):
    variable = contextvars.ContextVar("variable", default="clean")

    async def handler(job):
        found = variable.get()
        variable.set("dirty")
        return found

    lane.start([attempt_of(handler) for _ in range(4)])

    assert {reported.value for reported in desk.wait_for(4)} == {"clean"}


def test_a_handler_that_does_not_end_when_stopped_is_given_up(lane, desk):
    let_go, entered = threading.Event(), threading.Semaphore(0)

    async def stubborn(job):
        entered.release()
        while not let_go.is_set():
            try:
                await asyncio.sleep(0.001)
            except asyncio.CancelledError:
                continue
        return "late"

    attempts = [attempt_of(stubborn) for _ in range(2)]
    waiting = attempt_of(nothing)
    lane.start([*attempts, waiting])
    for _ in attempts:
        assert entered.acquire(timeout=PATIENCE_S)
    for attempt in attempts:
        lane.stop(attempt, Fate.TIMED_OUT)
        attempt.ends_at_s -= ABANDON_S
    lane.tick(START)

    events = [reported.event for reported in desk.wait_for(3)]
    assert events.count(Failed(STAGE_TIMEOUT)) == 2
    assert events.count(Done("null")) == 1
    assert lane.load() == 0
    let_go.set()
    attempt, value = desk.wait_for_late()
    assert attempt in attempts
    assert value == "late"


def test_a_handler_that_blocks_the_loop_is_given_up_and_pointed_out(lane, desk, caplog):
    let_go = threading.Event()

    async def blocking(job):
        let_go.wait(PATIENCE_S)

    attempt = attempt_of(blocking, timeout=60)
    lane.start([attempt])
    while attempt.ends_at_s is None:
        lane.wake.wait(0.001)
    attempt.ends_at_s -= 60 + ABANDON_S
    lane._answered_s -= BLOCKED_S
    lane.tick(START)

    [reported] = desk.wait_for(1)
    assert reported.event == Failed(STAGE_TIMEOUT)
    assert caplog.text.count("the event loop has been blocked") == 1
    let_go.set()


@pytest.mark.parametrize("timeout", [60, None])
def test_a_handler_that_blocks_the_loop_for_good_ends_its_worker(desk, timeout):
    fatal: list[str] = []
    lane = LoopLane(
        limit=2,
        clock=ManualClock(),
        report=desk.report,
        report_late=desk.report_late,
        on_fatal=fatal.append,
    )
    let_go, entered = threading.Event(), threading.Event()

    async def neighbour(job):
        await asyncio.Event().wait()

    async def blocking(job):
        entered.set()
        let_go.wait(PATIENCE_S)

    attempts = [attempt_of(neighbour), attempt_of(blocking, timeout=timeout), attempt_of(nothing)]
    lane.start(attempts)
    assert entered.wait(PATIENCE_S)
    blocker = attempts[1]
    if timeout:
        blocker.ends_at_s -= timeout + ABANDON_S
    lane._answered_s -= MAX_BLOCKED_S if timeout is None else BLOCKED_S
    lane.tick(START)
    assert fatal == []
    lane.tick(START)

    events = {id(reported.attempt): reported.event for reported in desk.wait_for(3)}
    assert events[id(blocker)] == (Failed(STAGE_TIMEOUT) if timeout else Interrupted())
    assert events[id(attempts[0])] == events[id(attempts[2])] == Interrupted()
    assert len(fatal) == 1
    assert lane.load() == 0
    let_go.set()
    lane.close()


def test_a_loop_that_answers_is_not_blocked(lane, caplog):
    lane._answered_s = 0.0
    lane._loop.call_soon_threadsafe(lane._answer)
    while lane._answered_s == 0:
        lane.wake.wait(0.001)
    lane.tick(START)

    assert "blocked" not in caplog.text


def test_closing_ends_what_handlers_left_behind(desk):
    lane = LoopLane(
        limit=1,
        clock=ManualClock(),
        report=desk.report,
        report_late=desk.report_late,
        on_fatal=pytest.fail,
    )
    ended = threading.Event()

    async def background():
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def handler(job):
        tasks.append(asyncio.create_task(background()))
        await asyncio.sleep(0)

    tasks = []
    lane.start([attempt_of(handler)])
    desk.wait_for(1)

    assert lane.close() == 0
    assert ended.is_set()


def test_closing_tells_how_many_handlers_could_not_be_ended(desk):
    lane = LoopLane(
        limit=1,
        clock=ManualClock(),
        report=desk.report,
        report_late=desk.report_late,
        on_fatal=pytest.fail,
    )
    entered = threading.Event()

    async def stubborn(job):
        entered.set()
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue

    attempt = attempt_of(stubborn)
    lane.start([attempt])
    assert entered.wait(PATIENCE_S)
    lane.stop(attempt, Fate.SHUT_DOWN)

    assert lane.close() == 1


def test_a_look_at_a_lane_that_was_closed_does_no_harm(desk):
    clock = ManualClock()
    lane = LoopLane(
        limit=1, clock=clock, report=desk.report, report_late=desk.report_late, on_fatal=pytest.fail
    )
    lane.close()

    assert lane.tick(clock.now()) == clock.now() + TICK_US
