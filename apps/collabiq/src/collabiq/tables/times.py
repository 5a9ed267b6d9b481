"""Instants as the tables hold them: whole microseconds since the epoch, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def to_us(value: datetime) -> int:
    """Return an instant as microseconds since the epoch."""
    return (value - _EPOCH) // _MICROSECOND


def from_us(value: int) -> datetime:
    """Return microseconds since the epoch as an instant in UTC."""
    return _EPOCH + value * _MICROSECOND


def day_start(value: datetime) -> datetime:
    """Return the beginning of a day, in UTC."""
    return value.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def maybe_us(value: datetime | None) -> int | None:
    """Return an instant as microseconds since the epoch; None for none."""
    return None if value is None else to_us(value)


def maybe_from_us(value: int | None) -> datetime | None:
    """Return microseconds since the epoch as an instant; None for none."""
    return None if value is None else from_us(value)
