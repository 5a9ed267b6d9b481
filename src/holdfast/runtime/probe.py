"""Asks an upstream how it is, beside everything else: a probe may take its time."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from holdfast.core.breaker import TrialEnded
from holdfast.runtime.watch import Permit

LOGGER: Final = logging.getLogger("holdfast.breaker")


class Probing:
    """Runs one probe at a time in a thread of its own."""

    def __init__(self, probe: Callable[[], Any] | None, *, over: Callable[[], None]) -> None:
        self._probe = probe or (lambda: None)
        self._over = over
        self._ended: TrialEnded | None = None
        self._running = False

    @property
    def idle(self) -> bool:
        """Whether no probe is under way and no outcome waits to be taken."""
        return not self._running and self._ended is None

    def start(self, permit: Permit) -> None:
        """Run the probe under a permit."""
        self._running = True
        threading.Thread(
            target=self._run, args=(permit,), name="holdfast-probe", daemon=True
        ).start()

    def take(self) -> TrialEnded | None:
        """Return how the probe has ended, once."""
        ended, self._ended = self._ended, None
        return ended

    def _run(self, permit: Permit) -> None:
        try:
            answer = self._probe()
            if inspect.iscoroutine(answer):
                answer = asyncio.run(answer)
            fine = answer is None or bool(answer)
        except Exception as error:  # noqa: BLE001 - whatever a probe raises, it did not succeed
            LOGGER.info("the probe failed: %s", type(error).__name__, extra={"event": "probe"})
            fine = False
        self._ended = TrialEnded(permit.generation, permit.number, fine)
        self._running = False
        self._over()
