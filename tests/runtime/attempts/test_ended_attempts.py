"""What a lane keeps of an attempt that has ended: nothing."""

import gc
import threading
import weakref

import pytest

from holdfast.runtime.lanes.loop_lane import LoopLane
from holdfast.runtime.lanes.thread_lane import ThreadLane
from holdfast.testing.clock import ManualClock
from tests.runtime.attempts.samples import PATIENCE_S, attempt_of


class Witness:
    """Lives as long as the frame of the handler that made it."""


@pytest.fixture
def no_collector():
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("kind", [LoopLane, ThreadLane])
def test_what_a_handler_raised_is_freed_without_the_cycle_collector(kind):
    freed = threading.Event()

    def fail():
        witness = Witness()
        weakref.finalize(witness, freed.set)
        raise ConnectionError

    async def fail_in_the_loop(job):
        fail()

    def fail_in_a_thread(job):
        fail()

    ends = {"report": lambda *_: None, "report_late": lambda *_: None}
    if kind is LoopLane:
        ends["on_fatal"] = lambda _: None
    lane = kind(limit=1, clock=ManualClock(), **ends)
    lane.start([attempt_of(fail_in_the_loop if kind is LoopLane else fail_in_a_thread)])

    assert freed.wait(PATIENCE_S)
    lane.close()
