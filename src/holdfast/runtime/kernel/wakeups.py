"""Listens for announcements of due jobs and wakes the claimer."""

from __future__ import annotations

import threading
from typing import Final

from holdfast.core.values.instant import Instant
from holdfast.store.contract import Listener

WAIT_S: Final = 5.0


class WakeupListener:
    """Waits for announcements. What it misses, the claimer finds by polling."""

    name = "listener"

    def __init__(self, listener: Listener, *, heard: threading.Event) -> None:
        self.wake = threading.Event()
        self._listener = listener
        self._heard = heard

    def tick(self, now: Instant) -> Instant:
        """Wait for one announcement."""
        if self._listener.wait(WAIT_S):
            self._heard.set()
        return now

    def close(self) -> None:
        """Make a wait under way return."""
        self._listener.close()
