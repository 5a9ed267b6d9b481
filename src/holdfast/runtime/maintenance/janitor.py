"""Removes what has been kept long enough, a little at a time."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.core.values.retention import Cutoffs, Retention
from holdfast.runtime.kernel import failpoint
from holdfast.runtime.kernel.clock import Chance, monotonic_s, sleep_s
from holdfast.store.contract import Store
from holdfast.store.tables.retention import BATCH, Batch, Place

LOGGER: Final = logging.getLogger("holdfast.worker")
EVERY_US: Final = 60 * SECOND_US
PAUSE_S: Final = 0.05
"""The least pause between two batches, in which others get at the database."""
SLOW_S: Final = 0.1
"""A batch that takes longer is halved: the rows may be large, or the database busy."""
FEWEST: Final = 10
IDLE_PER_FRUITLESS: Final = 9
"""How many pauses a walk is followed by for each batch that removed nothing."""


Chore = Callable[[], object]
"""Something that workers do about once a minute, in parts short enough for that."""


class Walk:
    """One walk through everything that may be old, batch by batch."""

    def __init__(self, store: Store, cutoffs: Cutoffs, *, dry_run: bool = False) -> None:
        self._store = store
        self._cutoffs = cutoffs
        self._dry_run = dry_run
        self._place: Place | None = Place()
        self._limit = BATCH
        self.removed: Counter[str] = Counter()
        """How many of each kind went, or would go."""
        self.fruitless = 0
        """How many batches found nothing to remove."""
        self.took_s = 0.0
        """How long the last batch took."""

    @property
    def over(self) -> bool:
        """Whether everything was looked at."""
        return self._place is None

    @property
    def pause_s(self) -> float:
        """How long to leave the database to others before the next batch."""
        return max(PAUSE_S, self.took_s)

    def step(self) -> Batch:
        """Remove one batch; one that fails may be tried again."""
        if self._place is None:
            raise AssertionError("the walk is over")
        began_s = monotonic_s()
        failpoint.reach("purge.before")
        batch = self._store.retention.purge(
            self._cutoffs, self._place, limit=self._limit, dry_run=self._dry_run
        )
        failpoint.reach("purge.after")
        self.took_s = monotonic_s() - began_s
        if self.took_s > SLOW_S:
            self._limit = max(self._limit // 2, FEWEST)
        else:
            self._limit = min(self._limit * 2, BATCH)
        self.removed.update(batch.removed)
        self.fruitless += not any(batch.removed.values())
        self._place = batch.next
        return batch


class Janitor:
    """Walks through the store again and again, in every worker.

    It never holds up claims: a batch is short, and others get at least as much time after it. Rows
    that another removes, or has locked, are passed over. After each walk it does the chores
    of the application; one that fails is logged, and done again next time.
    """

    name = "janitor"

    def __init__(
        self,
        store: Store,
        *,
        retention: Retention,
        chance: Chance,
        chores: Sequence[Chore] = (),
    ) -> None:
        self.wake = threading.Event()
        self._store = store
        self._retention = retention
        self._chance = chance
        self._chores = tuple(chores)
        self._walk: Walk | None = None

    def tick(self, now: Instant) -> Instant:
        """Remove one batch, and return when to go on."""
        walk = self._walk or Walk(self._store, self._retention.cutoffs(now))
        self._walk = walk
        walk.step()
        if not walk.over:
            return later(now, int((walk.took_s + walk.pause_s) * SECOND_US))
        self._walk = None
        removed = +walk.removed
        if removed:
            LOGGER.info("removed what was old", extra={"event": "purged", **removed})
        self._do_chores()
        # A long walk past rows that stay is not begun again at once.
        idle_us = int(walk.fruitless * IDLE_PER_FRUITLESS * PAUSE_S * SECOND_US)
        return later(now, int(max(EVERY_US, idle_us) * (0.75 + self._chance.roll() / 2)))

    def _do_chores(self) -> None:
        for chore in self._chores:
            try:
                chore()
            except Exception:
                LOGGER.exception("a chore failed", extra={"event": "chore_failed"})


def purge(walk: Walk, *, told: Callable[[Batch], object] | None = None) -> dict[str, int]:
    """Walk through everything now; return how many of each kind went. `told` gets every batch."""
    while not walk.over:
        batch = walk.step()
        if told is not None:
            told(batch)
        if not walk.over:
            sleep_s(walk.pause_s)
    return dict(+walk.removed)
