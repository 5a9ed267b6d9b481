"""Notices services that hang or died without a word."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.runtime.kernel.service import Supervisor

LOGGER: Final = logging.getLogger("holdfast.worker")
EVERY_US: Final = SECOND_US


class Watchdog:
    """Ends the worker when one of its services has not finished a turn for too long.

    A worker that cannot renew, report or claim, and does not know it, is worse than none: its
    process manager starts a new one, and its jobs are reclaimed.
    """

    name = "watchdog"

    def __init__(
        self, supervisor: Supervisor, *, patience_s: float, on_fatal: Callable[[str], None]
    ) -> None:
        self.wake = threading.Event()
        self._supervisor = supervisor
        self._patience_s = patience_s
        self._on_fatal = on_fatal

    def tick(self, now: Instant) -> Instant:
        """Look at every service once."""
        for running in self._supervisor.running:
            name = running.service.name
            if self._supervisor.stopping:
                break
            if name == self.name:
                continue
            if not running.alive():
                self._on_fatal(f"the thread of {name} has died")
            elif running.overdue_s() > self._patience_s:
                self._on_fatal(f"{name} has been stuck for {running.overdue_s():.0f} s")
        return later(now, EVERY_US)
