"""Attempts that step aside once their work is done, so that others can begin."""

import asyncio
import threading

import pytest

from holdfast import Pipeline
from holdfast.runtime.lanes.loop_lane import LoopLane
from holdfast.testing import run_inline
from holdfast.testing.clock import ManualClock
from tests.runtime.attempts.samples import PATIENCE_S, Desk, attempt_of

LIMIT = 2


@pytest.fixture
def desk():
    return Desk()


@pytest.fixture
def lane(desk):
    lane = LoopLane(
        limit=LIMIT,
        clock=ManualClock(),
        report=desk.report,
        report_late=desk.report_late,
        on_fatal=pytest.fail,
    )
    yield lane
    lane.close()


class Stage:
    """Its handler works until it is told to keep, aside, and keeps until it is told to end."""

    def __init__(self):
        self.begun = threading.Semaphore(0)
        self.asides = threading.Semaphore(0)
        self._may_keep, self._may_end = threading.Event(), threading.Event()

    def work_is_done(self):
        self._may_keep.set()

    def result_is_kept(self):
        self._may_end.set()

    async def handler(self, job):
        self.begun.release()
        await asyncio.to_thread(self._may_keep.wait, PATIENCE_S)
        with job.aside():
            self.asides.release()
            await asyncio.to_thread(self._may_end.wait, PATIENCE_S)


def all_of(semaphore, count):
    return all(semaphore.acquire(timeout=PATIENCE_S) for _ in range(count))


def test_an_attempt_that_steps_aside_lets_another_begin(lane, desk):
    first, second = Stage(), Stage()
    lane.start([attempt_of(first.handler), attempt_of(first.handler), attempt_of(second.handler)])
    assert all_of(first.begun, 2)
    assert not second.begun.acquire(timeout=0.1)

    first.work_is_done()

    assert all_of(first.asides, 2)
    assert all_of(second.begun, 1)
    assert lane.load() == 1
    for stage in (first, second):
        stage.work_is_done()
        stage.result_is_kept()
    desk.wait_for(3)
    assert lane.load() == 0


def test_no_more_attempts_are_aside_than_may_run(lane, desk):
    stage = Stage()
    stage.work_is_done()

    lane.start([attempt_of(stage.handler) for _ in range(2 * LIMIT + 1)])

    assert all_of(stage.begun, 2 * LIMIT)
    assert not stage.begun.acquire(timeout=0.2)
    stage.result_is_kept()
    desk.wait_for(2 * LIMIT + 1)
    assert lane.load() == 0


def test_where_an_attempt_has_no_place_stepping_aside_changes_nothing(open_app):
    pipeline = Pipeline("p")

    @pipeline.stage
    async def one(job):
        with job.aside():
            return 1

    app = open_app(pipeline)
    job = app.submit("p")
    run_inline(app)

    assert job.get().result == 1
