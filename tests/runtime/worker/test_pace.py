"""How much work is leased ahead."""

import pytest

from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.runtime.worker.pace import NEVER, PREFETCH_MOST, PREFETCH_US, Pace

NOW = Instant(5 * SECOND_US)


def paced(count: int, over_us: int = PREFETCH_US) -> Pace:
    pace = Pace()
    pace.prefetch(NOW)
    pace.note(count)
    pace.prefetch(later(NOW, over_us))
    return pace


def test_as_much_is_leased_ahead_as_ended_in_the_last_fiftieth_of_a_second_or_so():
    assert paced(100).prefetch(later(NOW, PREFETCH_US)) == 100
    assert paced(100, 2 * PREFETCH_US).prefetch(later(NOW, 2 * PREFETCH_US)) == 50
    assert paced(10 * PREFETCH_MOST).prefetch(later(NOW, PREFETCH_US)) == PREFETCH_MOST


def test_nothing_is_leased_ahead_while_nothing_ends_or_no_time_passes():
    assert paced(0).prefetch(later(NOW, PREFETCH_US)) == 0
    assert paced(100, 0).prefetch(NOW) == 0
    assert paced(100).prefetch(later(NOW, 100 * SECOND_US)) == 0


def test_a_clock_that_is_set_back_starts_the_measurement_anew():
    pace = paced(100)
    earlier = Instant(NOW - SECOND_US)
    pace.prefetch(earlier)
    pace.note(40)

    assert pace.prefetch(later(earlier, PREFETCH_US)) == 40


@pytest.mark.parametrize("ended", [5, 6, 1000])
def test_a_lane_is_to_be_refilled_as_soon_as_there_is_room_again(ended):
    pace, now = paced(ended), later(NOW, PREFETCH_US)
    refill_at = pace.refill_at(places=5, now=now)

    assert pace.room(places=5, load=refill_at, now=now) > 0
    assert pace.room(places=5, load=refill_at + 1, now=now) == 0


def test_a_lane_whose_handlers_are_slow_is_not_refilled_before_they_are_applied():
    assert paced(4).refill_at(places=5, now=later(NOW, PREFETCH_US)) == NEVER
