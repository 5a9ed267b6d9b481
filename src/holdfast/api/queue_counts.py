"""How queues stand, for everybody who asks at about the same time.

Counting takes as long as there are jobs to count, and pages and probes ask often. A long count is
given to everybody who asks within a second of it; a short one is made anew each time.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final, NamedTuple

from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.engine.app import Holdfast
from holdfast.store.contract import QueueCounts

MANY: Final = 1_000
"""From how many active jobs on a count is given again."""
KEPT_US: Final = SECOND_US


class _Kept(NamedTuple):
    counts: Sequence[QueueCounts]
    until: Instant


class QueueCounting:
    """Counts the active jobs of every queue, at most about once a second where they are many."""

    def __init__(self, engine: Holdfast, *, many: int = MANY) -> None:
        self._engine = engine
        self._many = many
        self._kept: _Kept | None = None
        self._counting = threading.Lock()
        """Held while a long count is made anew; others get the one before."""

    def read(self) -> Sequence[QueueCounts]:
        """Return how every queue stands, now or about a second ago."""
        kept = self._kept
        now = self._engine.clock.now()
        if kept is None:
            return self._count(now)
        if now < kept.until or not self._counting.acquire(blocking=False):
            return kept.counts
        try:
            return self._count(now)
        finally:
            self._counting.release()

    def _count(self, now: Instant) -> Sequence[QueueCounts]:
        counts = self._engine.queues()
        is_long = sum(each.active for each in counts) >= self._many
        self._kept = _Kept(counts, later(now, KEPT_US)) if is_long else None
        return counts

    def forget(self) -> None:
        """Have the next one who asks shown how things are after a change made here."""
        self._kept = None
