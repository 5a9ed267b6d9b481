"""Whether this process takes requests: not while it drains."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Readiness:
    """Is notified once that the process is about to end, and tells all who have asked to hear it.

    May be called from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._draining = threading.Event()
        self._listeners: list[Callable[[], None]] = []

    @property
    def draining(self) -> bool:
        """Return whether the process is about to end."""
        return self._draining.is_set()

    def drain(self) -> None:
        """Answer from now on that the process is not ready, and have open streams end."""
        with self._lock:
            if self._draining.is_set():
                return
            self._draining.set()
            listeners = list(self._listeners)
        for listener in listeners:
            listener()

    def on_drain(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` when the process drains, at once if it does already; returns the undoing.

        It is called in whichever thread ends the process, and must not block.
        """
        with self._lock:
            self._listeners.append(listener)
            draining = self._draining.is_set()
        if draining:
            listener()
        return lambda: self._forget(listener)

    def _forget(self, listener: Callable[[], None]) -> None:
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)
