from datetime import UTC, datetime, timedelta

import pytest

from holdfast.core.values.instant import FAR_FUTURE, Instant, to_datetime
from holdfast.errors import InvalidValue
from holdfast.testing import ManualClock


def test_it_stands_still_until_it_is_moved():
    clock = ManualClock()

    assert clock.now() == clock.now()
    assert to_datetime(clock.now()) == datetime(2026, 1, 1, tzinfo=UTC)


def test_it_advances_by_seconds_and_by_timedeltas():
    clock = ManualClock(Instant(0))

    assert clock.advance(1.5) == 1_500_000
    assert clock.advance(timedelta(milliseconds=1)) == 1_501_000
    assert clock.now() == 1_501_000


def test_it_can_be_set_to_an_instant_or_a_moment_in_any_zone():
    clock = ManualClock()

    assert clock.set(datetime(1970, 1, 1, 0, 1, tzinfo=UTC)) == 60_000_000
    assert clock.set(Instant(7)) == 7
    assert clock.now() == 7


def test_learning_from_the_store_leaves_it_alone():
    clock = ManualClock(Instant(5))

    clock.learn()

    assert clock.now() == 5


@pytest.mark.parametrize("span", [-1, float("nan"), float("inf"), timedelta(seconds=-1)])
def test_it_does_not_advance_backwards_or_for_ever(span):
    clock = ManualClock()
    before = clock.now()

    with pytest.raises(InvalidValue, match="span"):
        clock.advance(span)
    assert clock.now() == before


@pytest.mark.parametrize("moment", [Instant(-1), Instant(FAR_FUTURE + 1)])
def test_it_stays_within_the_calendar(moment):
    with pytest.raises(InvalidValue, match="between 1970 and 9999"):
        ManualClock(moment)


def test_its_repr_shows_the_time():
    assert repr(ManualClock()) == "ManualClock(2026-01-01T00:00:00+00:00)"
