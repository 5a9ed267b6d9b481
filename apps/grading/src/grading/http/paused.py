"""Whether grading is paused, for everybody's banner: read at most every few seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from grading.main.submissions import Operations

FRESH: Final = timedelta(seconds=3)
OPEN: Final = "open"


class Paused:
    """Return whether a breaker is open, from a reading that is a few seconds old at most."""

    def __init__(self, read: Callable[[], Operations], *, now: Callable[[], datetime]) -> None:
        self._read = read
        self._now = now
        self._lock = threading.Lock()
        self._known: tuple[datetime, bool] | None = None

    def __call__(self) -> bool:
        """Return whether a breaker is open."""
        with self._lock:
            now = self._now()
            if self._known is None or not now - FRESH < self._known[0] <= now:
                breakers = self._read().breakers
                self._known = now, any(each.get("state") == OPEN for each in breakers)
            return self._known[1]
