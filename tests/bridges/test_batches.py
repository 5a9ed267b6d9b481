"""Messages that wait are handed over together, in their order, and one that fails spares others."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from holdfast.bridges.messages.batches import handing_over
from holdfast.bridges.messages.handler_threads import HandlerThreads
from holdfast.errors import GiveUp, HandlerStuck, StoreUnavailable, UsageError
from holdfast.runtime.outbox.received import Received

SOON_S = 10.0


def message(number: int) -> Received:
    return Received(id=f"m-{number}", type="test", subject=None, payload=number)


class Handled:
    """A handle that notes its batches; the first one waits until it is let go."""

    def __init__(self, raises: dict[int, BaseException] | None = None) -> None:
        self.batches: list[list[int]] = []
        self.raises = raises or {}
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self, received: Sequence[Received]) -> None:
        self.batches.append([each.payload for each in received])
        self.begun.set()
        assert self.go_on.wait(SOON_S)
        for each in received:
            if each.payload in self.raises:
                raise self.raises[each.payload]


def handed_over(handled: Handled, count: int, *, timeout_s: float = SOON_S) -> list[object]:
    """Hand one message over, more while that is handled, and return what each raised."""
    threads = HandlerThreads()

    async def give() -> list[object]:
        hand_over = handing_over(None, handled, timeout_s=timeout_s, threads=threads)
        first = asyncio.ensure_future(hand_over(message(0)))
        assert await asyncio.to_thread(handled.begun.wait, SOON_S)
        others = [asyncio.ensure_future(hand_over(message(n))) for n in range(1, count)]
        await asyncio.sleep(0)
        handled.go_on.set()
        return await asyncio.gather(first, *others)

    try:
        return asyncio.run(give())
    finally:
        threads.close()


def test_what_comes_while_a_message_is_handled_is_handed_over_together_in_its_order():
    handled = Handled()

    assert handed_over(handled, 5) == [None] * 5
    assert handled.batches == [[0], [1, 2, 3, 4]]


def test_a_message_that_fails_is_handed_over_alone_and_spares_the_others():
    poison = GiveUp("POISON", "it cannot be read")
    handled = Handled({2: poison})

    assert handed_over(handled, 4) == [None, None, poison, None]
    assert handled.batches == [[0], [1, 2, 3], [1], [2], [3]]


def test_an_outage_is_that_of_all_and_nothing_is_handed_over_one_by_one():
    away = StoreUnavailable("postgresql://db", reason="it is away")
    handled = Handled({2: away})

    assert handed_over(handled, 4) == [None, away, away, away]
    assert handled.batches == [[0], [1, 2, 3]]


def test_a_batch_that_does_not_end_is_stuck_as_a_whole():
    handled = Handled()
    threads = HandlerThreads()

    async def give() -> list[object]:
        hand_over = handing_over(None, handled, timeout_s=0.05, threads=threads)
        return await asyncio.gather(hand_over(message(0)), hand_over(message(1)))

    raised = asyncio.run(give())
    handled.go_on.set()
    threads.close()

    assert [type(each) for each in raised] == [HandlerStuck] * 2
    assert handled.batches == [[0, 1]]


def test_without_a_handle_there_is_nothing_to_hand_over_to():
    with pytest.raises(UsageError, match="needs a handle"):
        handing_over(None, None, timeout_s=1.0, threads=HandlerThreads())
