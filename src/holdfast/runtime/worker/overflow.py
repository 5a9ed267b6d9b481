"""A second reporter, for when attempts end faster than one can write."""

from __future__ import annotations

from holdfast.core.values.instant import FAR_FUTURE, Instant
from holdfast.runtime.worker.reporter import BATCH, Reporter


class OverflowReporter(Reporter):
    """Takes a batch off a reporter that writes another, so that deciding and writing overlap.

    Whole batches only: what is less is written in one commit by the one who has the time.
    """

    name = "overflow"

    def tick(self, now: Instant) -> Instant:
        """Apply a batch, where a whole one waits."""
        self._idle = True  # before the look: who reports more from here on calls
        if not self._batch and (self.draining or len(self.outcomes) < BATCH):
            return FAR_FUTURE
        return super().tick(now)
