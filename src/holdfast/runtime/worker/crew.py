"""What a worker's reporter may ask of the services that are made after it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from holdfast.core.values.instant import Instant
from holdfast.runtime.worker.claimer import Leased

if TYPE_CHECKING:
    from holdfast.runtime.attempts.attempt import Attempt
    from holdfast.runtime.worker.worker import Worker


class WorkersCrew:
    """Lets the reporter speak to the claimer and the breakers, which are made after it."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def runs(self, pipeline: str, stage: str, *, now: Instant) -> bool:
        """Return whether this worker runs that stage now."""
        return self._worker.claimer.runs(pipeline, stage, now=now)

    def start(self, leased: Iterable[Leased]) -> None:
        """Set off attempts whose leases go on."""
        self._worker.claimer.start(leased)

    def ended(self, attempt: Attempt) -> None:
        """Say that an attempt has left its lane."""
        self._worker.claimer.ended(attempt)

    def freed(self, count: int, *, requeued: bool) -> None:
        """Say that so many attempts are over."""
        self._worker.claimer.freed(count, requeued=requeued)

    def heed_breakers(self, now: Instant) -> None:
        """Have what was seen of upstreams written, where that cannot wait."""
        self._worker.breakers.heed(now)
