"""Asks an upstream how it is, beside everything else: a probe may take its time."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from holdfast.classify import classify
from holdfast.core.upstream.breaker import TrialEnded, failed_call
from holdfast.core.upstream.upstream import FailedCall
from holdfast.core.values.instant import Instant
from holdfast.runtime.breakers.watch import Permit

LOGGER: Final = logging.getLogger("holdfast.breaker")
PROBE_FAILED: Final = "PROBE_FAILED"
"""The class of a probe that raised nothing and returned something false."""


class _Ended(NamedTuple):
    permit: Permit
    fine: bool
    error: Exception | None


class Probing:
    """Runs one probe at a time in a thread of its own."""

    def __init__(self, probe: Callable[[], Any] | None, *, over: Callable[[], None]) -> None:
        self._probe = probe or (lambda: None)
        self._over = over
        self._ended: _Ended | None = None
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

    def take(self, now: Instant) -> TrialEnded | None:
        """Return how the probe has ended, once."""
        ended, self._ended = self._ended, None
        if ended is None:
            return None
        failure = None if ended.fine else _failed_call(ended.error, now)
        return TrialEnded(ended.permit.generation, ended.permit.number, ended.fine, failure)

    def _run(self, permit: Permit) -> None:
        raised: Exception | None = None
        try:
            answer = self._probe()
            if inspect.iscoroutine(answer):
                answer = asyncio.run(answer)
            fine = answer is None or bool(answer)
        except Exception as error:  # noqa: BLE001 - whatever a probe raises, it did not succeed
            LOGGER.info("the probe failed: %s", type(error).__name__, extra={"event": "probe"})
            fine, raised = False, error
        self._ended = _Ended(permit, fine, raised)
        self._running = False
        self._over()


def _failed_call(error: Exception | None, now: Instant) -> FailedCall:
    if error is None:
        return FailedCall(now, PROBE_FAILED, "the probe returned that it is not well")
    return failed_call(classify(error, now=now), at=now, job_id=None)
