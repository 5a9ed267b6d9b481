"""What people say when they ask for something: who they are and why, and how much at a time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from holdfast.core.values.failure import MAX_MESSAGE_LENGTH
from holdfast.core.values.instant import SECOND_US, Instant, from_datetime
from holdfast.engine.submit.submission import checked_text
from holdfast.errors import InvalidValue
from holdfast.secrecy import safe_text

PAGE: Final = 100
LONGEST_PAGE: Final = 10_000
_LONGEST_AGO_S: Final = 36_525 * 86_400.0


def asked(action: str, by: str, reason: str | None) -> tuple[str, str | None]:
    """Return who asked and why, as both databases can hold it."""
    who = checked_text(action, field="by", text=by)
    return who, None if reason is None else safe_text(reason, MAX_MESSAGE_LENGTH)


def checked_limit(owner: str, limit: int) -> int:
    """Return how many of something a page may have."""
    if not 1 <= limit <= LONGEST_PAGE:
        raise InvalidValue(owner, field="limit", value=limit, limit=f"from 1 to {LONGEST_PAGE}")
    return limit


def instant_since(since: datetime | timedelta | float, *, now: Instant) -> Instant:
    """Return the instant that is meant by a time, or by how long ago it was."""
    if isinstance(since, datetime):
        return from_datetime(since)
    seconds = since.total_seconds() if isinstance(since, timedelta) else since
    if not 0 <= seconds <= _LONGEST_AGO_S:
        limit = f"a time, or from 0 to {_LONGEST_AGO_S:.0f} seconds ago"
        raise InvalidValue("since", field="seconds", value=since, limit=limit)
    return Instant(max(now - int(seconds * SECOND_US), 0))
