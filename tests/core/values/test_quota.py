"""When a provider's quota is renewed."""

from datetime import UTC, datetime

import pytest

from holdfast.core.values.instant import SECOND_US, Instant, from_datetime
from holdfast.core.values.quota import SPREAD_US, Window, allowed_at, window_end


def at(*parts: int) -> Instant:
    return from_datetime(datetime(*parts, tzinfo=UTC))


@pytest.mark.parametrize(
    ("window", "now", "ends"),
    [
        (Window.DAY, at(2026, 7, 14, 9, 30), at(2026, 7, 15)),
        (Window.DAY, at(2026, 7, 14), at(2026, 7, 15)),
        (Window.DAY, at(2026, 12, 31, 23, 59, 59), at(2027, 1, 1)),
        (Window.MONTH, at(2026, 7, 14, 9, 30), at(2026, 8, 1)),
        (Window.MONTH, at(2026, 12, 31, 23, 59), at(2027, 1, 1)),
        (Window.MONTH, at(2028, 1, 31), at(2028, 2, 1)),
    ],
)
def test_a_window_ends_by_the_calendar_in_utc(window, now, ends):
    assert window_end(window, now) == ends


def test_what_waited_for_one_window_comes_back_within_minutes_of_its_end():
    now, ends = at(2026, 7, 14, 9, 30), at(2026, 7, 15)
    tries = [allowed_at(Window.DAY, now, roll=roll, retry_after_us=None) for roll in (0.0, 0.999)]

    assert tries[0] == ends
    assert ends < tries[1] < ends + SPREAD_US


def test_a_provider_that_names_a_later_time_is_believed():
    now = at(2026, 7, 14, 9, 30)
    two_days_us = 2 * 86_400 * SECOND_US

    assert allowed_at(Window.DAY, now, roll=0.0, retry_after_us=two_days_us) == now + two_days_us
    assert allowed_at(Window.DAY, now, roll=0.0, retry_after_us=1) == at(2026, 7, 15)
