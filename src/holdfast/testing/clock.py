"""A clock that is moved by hand."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import Final

from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, Instant, from_datetime, to_datetime
from holdfast.errors import InvalidValue

START: Final = Instant(1_767_225_600 * SECOND_US)
"""Where a manual clock starts by default: midnight at the start of 2026, UTC."""


class ManualClock:
    """The time of a test: it stands still until `advance` or `set` moves it.

        clock = ManualClock()
        app = Holdfast("sqlite:///:memory:", pipelines=[convert], clock=clock)
        clock.advance(60)

    Give it to `Holdfast` and to nothing that sleeps: a running worker waits by real time.
    """

    def __init__(self, start: Instant | datetime = START) -> None:
        self._lock = threading.Lock()
        self._now = _instant(start)

    def __repr__(self) -> str:
        return f"ManualClock({to_datetime(self._now).isoformat()})"

    def now(self) -> Instant:
        """Return the time it was last moved to."""
        return self._now

    def instant_of(self, reading_s: float) -> Instant:
        """Return the time it was last moved to: real time plays no part."""
        del reading_s
        return self._now

    def learn(self) -> None:
        """Follow nobody: this clock is set by hand."""

    def steady_for(self, span_us: int) -> bool:
        """A clock that is set by hand never jumps by itself."""
        del span_us
        return True

    def advance(self, span: float | timedelta) -> Instant:
        """Move forward by seconds or a timedelta, and return the new time."""
        seconds = span.total_seconds() if isinstance(span, timedelta) else span
        if not 0 <= seconds < FAR_FUTURE / SECOND_US:
            raise InvalidValue(
                "ManualClock", field="span", value=span, limit="0 or more; use set() to go back"
            )
        with self._lock:
            self._now = _instant(Instant(self._now + round(seconds * SECOND_US)))
            return self._now

    def set(self, moment: Instant | datetime) -> Instant:
        """Move to a moment, forward or back, and return the new time."""
        with self._lock:
            self._now = _instant(moment)
            return self._now


def _instant(moment: Instant | datetime) -> Instant:
    instant = from_datetime(moment) if isinstance(moment, datetime) else moment
    if not 0 <= instant <= FAR_FUTURE:
        raise InvalidValue(
            "ManualClock", field="moment", value=moment, limit="between 1970 and 9999"
        )
    return instant
