"""What is done aside holds nobody up, whatever becomes of it."""

import logging
import threading

import pytest

from holdfast.runtime.kernel.background import BackgroundQueue
from holdfast.runtime.kernel.clock import monotonic_s

PATIENCE_S = 30.0


@pytest.fixture
def told(caplog):
    caplog.set_level(logging.WARNING, logger="holdfast.worker")

    def told():
        return [record for record in caplog.records if getattr(record, "event", "") == "left_out"]

    return told


def test_items_are_done_in_order_and_elsewhere():
    done, threads = [], set()

    def do(item):
        done.append(item)
        threads.add(threading.current_thread())

    aside = BackgroundQueue(do, name="test")
    for item in range(100):
        aside(item)
    aside.close()

    assert done == list(range(100))
    assert threading.current_thread() not in threads
    assert aside.left_out == 0


def test_what_finds_no_room_is_left_out_and_told_once(told):
    begun, goes_on, done = threading.Event(), threading.Event(), []

    def do(item):
        begun.set()
        goes_on.wait(PATIENCE_S)
        done.append(item)

    aside = BackgroundQueue(do, name="test", room=2)
    aside(0)
    assert begun.wait(PATIENCE_S)
    for item in range(1, 6):
        aside(item)
    goes_on.set()
    aside.close()

    assert done == [0, 1, 2]
    assert aside.left_out == 3
    assert [record.service for record in told()] == ["test"]


def test_an_item_that_fails_spares_the_others(told):
    done = []

    def do(item):
        if item % 2:
            raise OSError("no space left")
        done.append(item)

    aside = BackgroundQueue(do, name="test")
    for item in range(6):
        aside(item)
    aside.close()

    assert done == [0, 2, 4]
    assert aside.left_out == 3
    assert len(told()) == 1


def test_closing_waits_no_longer_than_it_may():
    begun, goes_on = threading.Event(), threading.Event()

    def do(item):
        begun.set()
        goes_on.wait(PATIENCE_S)

    aside = BackgroundQueue(do, name="test", room=1)
    aside(0)
    assert begun.wait(PATIENCE_S)
    aside(1)
    started_s = monotonic_s()
    aside.close(within_s=0.05)
    aside.close(within_s=0.05)

    assert monotonic_s() - started_s < PATIENCE_S / 2
    goes_on.set()


def test_closing_what_was_never_used_does_nothing():
    aside = BackgroundQueue(lambda item: None, name="test")

    aside.close()

    assert aside.left_out == 0


def test_it_may_be_used_again_after_it_was_closed():
    done = []
    aside = BackgroundQueue(done.append, name="test")
    aside(1)
    aside.close()
    aside(2)
    aside.close()

    assert done == [1, 2]
