"""Finds what time has changed: ended leases, passed deadlines, waits nobody answered."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final, NamedTuple

from holdfast.core.job.event import DeadlinePassed, Event, LeaseExpired, WaitExpired
from holdfast.core.job.job import Job
from holdfast.core.job.plan import Route
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.runtime.events.settle import Settler
from holdfast.runtime.kernel import failpoint
from holdfast.runtime.kernel.clock import Chance, Clock
from holdfast.store.contract import Position, Store

LOGGER: Final = logging.getLogger("holdfast.worker")
CHUNK: Final = 500
WARN_EVERY_US: Final = 60 * SECOND_US
NEGLECTED_AFTER_US: Final = 60 * SECOND_US

ANSWER_GRACE_US: Final = SECOND_US // 4
"""How long a worker leaves an answer that was received in time to be written, before it acts on a
deadline or the end of a wait: when the answer was received decides, not who writes first."""


class _Search(NamedTuple):
    """Jobs of one kind that time has changed, and the event that this is to them."""

    select: Callable[..., list[Job]]
    instant_of: Callable[[Job], Instant | None]
    event: Event
    grace_us: int = 0


class _Round:
    """Searches that are made together, and when they are due."""

    def __init__(self, *searches: _Search, every_us: int) -> None:
        self.searches = searches
        self.due = Instant(0)
        self._every_us = every_us

    def is_due(self, now: Instant) -> bool:
        """Return whether it is time to look, also after the clock was set back."""
        return now >= self.due or self.due - now > 2 * self._every_us

    def plan_next(self, now: Instant, roll: float) -> None:
        """Set when to look again, with jitter so that a fleet does not look as one."""
        self.due = later(now, int(self._every_us * (0.75 + roll / 2)))


class Sweeper:
    """Sweeps in every worker; the fence makes each reclaim happen once.

    Deadlines are looked for at one pace, ended leases and waits at another.
    """

    name = "sweeper"

    def __init__(
        self,
        store: Store,
        *,
        settler: Settler,
        chance: Chance,
        clock: Clock,
        every_us: int,
        deadlines_every_us: int,
        lease_us: int,
        grace_us: int = 0,
        knows: Callable[[Route], bool] = lambda _: True,
    ) -> None:
        self.wake = threading.Event()
        self._store = store
        self._settler = settler
        self._chance = chance
        self._clock = clock
        self._lease_us = lease_us
        self._knows = knows
        self._warned_at = Instant(0)
        overdue = _Search(store.overdue, lambda job: job.deadline_at, DeadlinePassed(), grace_us)
        expired = _Search(store.expired, lambda job: job.lease_until, LeaseExpired())
        unanswered = _Search(store.unanswered, lambda job: job.run_at, WaitExpired(), grace_us)
        self._rounds = (
            _Round(overdue, every_us=deadlines_every_us),
            _Round(expired, unanswered, every_us=every_us),
        )

    def tick(self, now: Instant) -> Instant:
        """Sweep what it is time to look for."""
        for each in self._rounds:
            if each.is_due(now):
                self._sweep_all(each, now=now)
                each.plan_next(now, self._chance.roll())
        if now - self._warned_at >= WARN_EVERY_US:
            self._warned_at = now
            self._warn_of_neglect(now)
        return min(each.due for each in self._rounds)

    def sweep(self, now: Instant) -> None:
        """Sweep everything that is over at `now`, whether it is time to look or not."""
        for each in self._rounds:
            self._sweep_all(each, now=now)

    def _sweep_all(self, each: _Round, *, now: Instant) -> None:
        for search in each.searches:
            self._sweep(search, now=now)

    def _sweep(self, search: _Search, *, now: Instant) -> None:
        event = search.event
        before = Instant(now - search.grace_us)
        after: Position | None = None
        while True:
            jobs = search.select(now=before, after=after, limit=CHUNK)
            if not jobs or (isinstance(event, LeaseExpired) and not self._time_is_sure()):
                return
            failpoint.reach("sweep.before")
            self._settler.settle_many(((job, event) for job in jobs), now=now)
            failpoint.reach("sweep.after")
            if len(jobs) < CHUNK:
                return
            # Go on behind the last row, so that rows which cannot be settled block no others.
            after = Position(Instant(search.instant_of(jobs[-1]) or 0), jobs[-1].id)

    def _time_is_sure(self) -> bool:
        """Return whether leases may be judged: not right after the store's clock was set.

        Those that live are renewed by the new time first. Before a lease is taken the clock is
        read again, because it may have been set since it was last looked at.
        """
        self._clock.learn()
        return self._clock.steady_for(self._lease_us)

    def _warn_of_neglect(self, now: Instant) -> None:
        """Point out due jobs that this worker has no handler for and nobody else takes."""
        for route, count, since in self._store.routes(now=now):
            if now - since > NEGLECTED_AFTER_US and not self._knows(route):
                LOGGER.warning(
                    "%d jobs wait for a worker that knows stage %r of pipeline %r in queue %r",
                    count,
                    route.stage,
                    route.pipeline,
                    route.queue,
                    extra={"event": "neglected", "jobs": count, **route._asdict()},
                )
