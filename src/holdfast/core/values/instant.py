"""Instants and spans: whole microseconds, counted from the epoch in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NewType

Instant = NewType("Instant", int)

SECOND_US = 1_000_000
FAR_FUTURE = Instant(253_402_300_799_999_999)
"""The last microsecond of the year 9999: no due time or deadline lies beyond it."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN_EPOCH = _EPOCH.replace(tzinfo=None)
_MICROSECOND = timedelta(microseconds=1)


def later(instant: Instant, span_us: int) -> Instant:
    """Return the instant `span_us` after `instant`, clamped to what the calendar can hold."""
    moved: Instant = instant + span_us  # type: ignore[assignment]  # a call of Instant takes time
    if moved > FAR_FUTURE:
        return FAR_FUTURE
    return moved


def to_datetime(instant: Instant) -> datetime:
    """Return `instant` as an aware datetime in UTC."""
    return _EPOCH + timedelta(microseconds=instant)


def from_datetime(moment: datetime) -> Instant:
    """Return the instant of an aware datetime, whatever its zone."""
    if moment.tzinfo is None:
        msg = f"{moment!r} has no time zone; give an aware datetime, such as one in UTC"
        raise ValueError(msg)
    return Instant((moment - _EPOCH) // _MICROSECOND)


def to_rfc3339(instant: Instant) -> str:
    """Return `instant` as an RFC 3339 text in UTC with microseconds."""
    # Without a zone, which would be asked for its name each time: a page of jobs has a hundred.
    plain = _PLAIN_EPOCH + timedelta(microseconds=instant)
    return plain.isoformat(timespec="microseconds") + "Z"
