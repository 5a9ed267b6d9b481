"""A rate in this process's memory: calls wait for their turn, first come, first served."""

from __future__ import annotations

import threading

from holdfast.core.upstream.rate_policy import Rate
from holdfast.core.values.instant import SECOND_US, Instant, to_datetime
from holdfast.errors import CircuitOpen


class LocalRate:
    """Gives every call the instant at which it may begin."""

    __slots__ = ("_full_at", "_lock", "_name", "_rate")

    def __init__(self, name: str, rate: Rate) -> None:
        self._name = name
        self._rate = rate
        self._lock = threading.Lock()
        self._full_at = Instant(0)
        """When there is room for a whole burst, if no other call begins."""

    def wait_s(self, now: Instant, *, ends_by: Instant | None) -> float:
        """Return for how long a call has to wait, or raise `CircuitOpen` when that is too long."""
        interval_us = self._rate.interval_us
        with self._lock:
            full_at = self._full_at
            begins_at = max(now, Instant(full_at - (self._rate.at_once - 1) * interval_us))
            if ends_by is None or begins_at < ends_by:
                self._full_at = Instant(max(full_at, begins_at) + interval_us)
                return (begins_at - now) / SECOND_US
        raise CircuitOpen(
            self._name,
            reason="its rate has no room in time",
            until=to_datetime(begins_at),
            wait_s=(begins_at - now) / SECOND_US,
        )
