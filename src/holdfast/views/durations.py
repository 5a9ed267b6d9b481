"""Instants and lengths of time as people say them."""

from __future__ import annotations

from typing import Final

from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, Instant, to_datetime

_MILLISECOND_US: Final = 1_000
_MINUTE_US: Final = 60 * SECOND_US
_HOUR_US: Final = 60 * _MINUTE_US
_DAY_US: Final = 24 * _HOUR_US


def span(length_us: int) -> str:
    """Return a length of time as people say it."""
    us = abs(length_us)
    if us < SECOND_US:
        return f"{us // _MILLISECOND_US} ms"
    if us < 10 * SECOND_US:
        return f"{us / SECOND_US:.1f} s"
    for unit_us, unit, below_us, below in (
        (_DAY_US, "d", _HOUR_US, "h"),
        (_HOUR_US, "h", _MINUTE_US, "min"),
        (_MINUTE_US, "min", SECOND_US, "s"),
    ):
        if us >= unit_us:
            rest = us % unit_us // below_us
            return f"{us // unit_us} {unit}" + (f" {rest} {below}" if rest else "")
    return f"{us // SECOND_US} s"


def short(length_us: int) -> str:
    """Return a length of time for a column: its largest unit only."""
    us = abs(length_us)
    for unit_us, unit in ((_DAY_US, "d"), (_HOUR_US, "h"), (_MINUTE_US, "m"), (SECOND_US, "s")):
        if us >= unit_us:
            return f"{us // unit_us}{unit}"
    return "0s"


def clock(instant: Instant) -> str:
    """Return an instant as date and time in UTC."""
    return to_datetime(instant).strftime("%Y-%m-%d %H:%M:%S UTC")


def when(instant: Instant | None, now: Instant) -> str | None:
    """Return an instant as date and time, and how far away it is."""
    if instant is None:
        return None
    if instant >= FAR_FUTURE:
        return "never"
    away = f"in {span(instant - now)}" if instant > now else f"{span(now - instant)} ago"
    return f"{clock(instant)} ({away})"
