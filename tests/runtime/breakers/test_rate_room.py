"""The slices that a worker has: what may begin, what is reported, what goes back."""

from holdfast.core.upstream.rate import VALID_US, Slice, Used
from holdfast.core.upstream.rate_policy import Rate
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.runtime.breakers.rate_room import RETURN_US, RateRoom

NOW = Instant(1_800_000_000 * SECOND_US)
END = later(NOW, VALID_US)


def room_with(*calls: int) -> RateRoom:
    room = RateRoom(Rate(100))
    for number, count in enumerate(calls, 1):
        room.add(Slice(number, "w", count, END))
    return room


def test_calls_begin_until_the_slices_are_used_up():
    room = room_with(2, 1)

    assert [room.take(NOW) for _ in range(4)] == [True, True, True, False]


def test_no_call_begins_at_the_end_of_its_slice_or_later():
    room = room_with(2)

    assert room.take(Instant(END - 1))
    assert not room.take(END)
    assert room.free(END) == 0


def test_what_is_reserved_is_not_free_and_lets_calls_begin():
    room = room_with(2, 3)

    assert room.reserve(4, NOW) == 4
    assert room.free(NOW) == 1
    assert room.reserve(9, NOW) == 1
    assert room.reserve(1, NOW) == 0
    room.release(2)
    assert room.free(NOW) == 2
    assert sum(room.take(NOW) for _ in range(9)) == 5


def test_only_what_is_news_is_reported():
    room = room_with(3)
    assert room.report(NOW) == ()
    room.take(NOW)

    told = room.report(NOW)
    assert told == (Used(1, 1, NOW),)
    assert room.report(NOW) == told
    room.told(told)
    assert room.report(NOW) == ()
    assert room.in_use


def test_a_slice_that_is_used_up_is_closed_and_forgotten_once_that_is_known():
    room = room_with(1)
    room.take(NOW)

    told = room.report(NOW)
    assert told == (Used(1, 1, NOW, closed=True),)
    room.told(told)
    assert not room.in_use


def test_what_was_given_back_cannot_be_used_whatever_becomes_of_the_report():
    room = room_with(3)
    assert room.report(NOW, give_back=True) == (Used(1, 0, Instant(0), closed=True),)

    assert not room.take(NOW)
    assert room.in_use


def test_what_nobody_needs_goes_back_before_it_lapses_and_what_is_reserved_does_not():
    soon = Instant(END - RETURN_US)
    idle, busy = room_with(3), room_with(3)
    busy.reserve(1, NOW)

    assert idle.report(Instant(soon - 1)) == ()
    assert [each.closed for each in idle.report(soon)] == [True]
    assert busy.report(soon) == ()
    assert busy.take(soon)
    assert [each.closed for each in busy.report(END)] == [True]
