"""Windows in which a provider allows so much and no more, and when each ends."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from holdfast.core.values.instant import SECOND_US, Instant, from_datetime, later, to_datetime

DAY_US: Final = 86_400 * SECOND_US
SPREAD_US: Final = 300 * SECOND_US
"""What waited for the same window does not come back in the same second."""
_DECEMBER: Final = 12


class Window(StrEnum):
    """For how long a quota counts, by the calendar in UTC."""

    DAY = "day"
    MONTH = "month"


def window_end(window: Window, now: Instant) -> Instant:
    """Return when the window that holds `now` ends."""
    if window is Window.DAY:
        return later(now, DAY_US - now % DAY_US)
    moment = to_datetime(now)
    years, month = (1, 1) if moment.month == _DECEMBER else (0, moment.month + 1)
    first = moment.replace(
        year=moment.year + years, month=month, day=1, hour=0, minute=0, second=0, microsecond=0
    )
    return from_datetime(first)


def allowed_at(window: Window, now: Instant, *, roll: float, retry_after_us: int | None) -> Instant:
    """Return when to try again: after the window, or later where the provider says so."""
    ends_at = later(window_end(window, now), int(roll * SPREAD_US))
    return ends_at if retry_after_us is None else max(ends_at, later(now, retry_after_us))
