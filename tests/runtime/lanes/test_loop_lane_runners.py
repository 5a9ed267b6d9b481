"""Handlers that do not wait share a task, and notice nothing of each other."""

import asyncio
import contextvars
import itertools

import pytest

from holdfast.core.job.event import Done
from holdfast.runtime.lanes.loop_lane import LoopLane
from holdfast.testing.clock import ManualClock
from tests.runtime.attempts.samples import Desk, attempt_of

MANY = 200


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


def test_handlers_that_do_not_wait_share_a_task(lane, desk):
    tasks = []

    async def quick(job):
        tasks.append(asyncio.current_task())

    lane.start([attempt_of(quick) for _ in range(MANY)])
    desk.wait_for(MANY)

    assert all(isinstance(task, asyncio.Task) for task in tasks)
    assert len(set(tasks)) < MANY / 2


def test_a_handler_that_waits_has_its_task_to_itself(lane, desk):
    held = []

    async def slow(job):
        task = asyncio.current_task()
        assert task not in held
        held.append(task)
        await asyncio.sleep(0)
        assert asyncio.current_task() is task
        held.remove(task)

    lane.start([attempt_of(slow) for _ in range(10)])

    assert [reported.error for reported in desk.wait_for(10)] == [None] * 10


def test_a_handler_that_stops_its_own_task_stops_no_other(lane, desk):
    async def stops_itself(job):
        asyncio.current_task().cancel()

    async def waits(job):
        await asyncio.sleep(0)

    lane.start([attempt_of(handler) for handler in (stops_itself, waits) * 5])

    assert [reported.event for reported in desk.wait_for(10)] == [Done("null")] * 10


def test_whoever_waits_is_seen_to_while_others_that_do_not_wait_come_one_after_the_other(desk):
    numbers = itertools.count()
    done_as = []

    async def waits(job):
        await asyncio.sleep(0)
        done_as.append(next(numbers))

    async def quick(job):
        sum(range(1_000))  # so that all of them together take many turns
        next(numbers)

    lane = LoopLane(
        limit=2,
        clock=ManualClock(),
        report=desk.report,
        report_late=desk.report_late,
        on_fatal=pytest.fail,
    )
    lane.start([attempt_of(waits), *(attempt_of(quick) for _ in range(20 * MANY))])
    desk.wait_for(20 * MANY + 1)
    lane.close()

    assert done_as[0] < 10 * MANY


def test_an_attempt_that_cannot_be_reported_keeps_no_other_from_beginning(desk):
    refused = []

    def report(attempt, value, error):
        if not refused:
            refused.append(attempt)
            raise ValueError("not now")
        desk.report(attempt, value, error)

    async def quick(job):
        pass

    lane = LoopLane(
        limit=2,
        clock=ManualClock(),
        report=report,
        report_late=desk.report_late,
        on_fatal=pytest.fail,
    )
    lane.start([attempt_of(quick) for _ in range(3)])

    assert len(desk.wait_for(2)) == 2
    lane.close()


def test_context_variables_outlive_a_wait_of_their_own_job_alone(lane, desk):
    variable = contextvars.ContextVar("variable", default="clean")

    async def sets(job):
        assert variable.get() == "clean"
        variable.set("mine")
        await asyncio.sleep(0)
        assert variable.get() == "mine"
        await asyncio.create_task(reads())
        return variable.get()

    async def reads():
        assert variable.get() == "mine"

    async def quick(job):
        return variable.get()

    lane.start([attempt_of(handler) for handler in (sets, quick, sets, quick)])

    assert sorted(reported.event.result for reported in desk.wait_for(4)) == [
        '"clean"', '"clean"', '"mine"', '"mine"',
    ]  # fmt: skip


def test_a_time_limit_inside_a_handler_works_as_in_any_task(lane, desk):
    async def gives_up(job):
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            return "gave up"

    lane.start([attempt_of(gives_up)])

    assert desk.wait_for(1)[0].event == Done('"gave up"')
