"""Finds what time has changed: ended leases, passed deadlines, waits nobody answered."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from holdfast.core.event import DeadlinePassed, Event, LeaseExpired, WaitExpired
from holdfast.core.instant import SECOND_US, Instant, later
from holdfast.core.job import Job
from holdfast.core.plan import Route
from holdfast.runtime import failpoint
from holdfast.runtime.clock import Chance, Clock
from holdfast.runtime.settle import Settler
from holdfast.store.contract import Position, Store

LOGGER: Final = logging.getLogger("holdfast.worker")
CHUNK: Final = 500
WARN_EVERY_US: Final = 60 * SECOND_US
NEGLECTED_AFTER_US: Final = 60 * SECOND_US

_Select = Callable[..., list[Job]]


class Sweeper:
    """Sweeps in every worker; the fence makes each reclaim happen once."""

    name = "sweeper"

    def __init__(
        self,
        store: Store,
        *,
        settler: Settler,
        chance: Chance,
        clock: Clock,
        every_us: int,
        lease_us: int,
        knows: Callable[[Route], bool] = lambda _: True,
    ) -> None:
        self.wake = threading.Event()
        self._store = store
        self._settler = settler
        self._chance = chance
        self._clock = clock
        self._every_us = every_us
        self._lease_us = lease_us
        self._knows = knows
        self._warned_at = Instant(0)
        self._kinds: tuple[tuple[_Select, Callable[[Job], Instant | None], Event], ...] = (
            (store.overdue, lambda job: job.deadline_at, DeadlinePassed()),
            (store.expired, lambda job: job.lease_until, LeaseExpired()),
            (store.unanswered, lambda job: job.run_at, WaitExpired()),
        )

    def tick(self, now: Instant) -> Instant:
        """Sweep everything that is over at `now`."""
        for select, instant_of, event in self._kinds:
            self._sweep(select, instant_of, event, now=now)
        if now - self._warned_at >= WARN_EVERY_US:
            self._warned_at = now
            self._warn_of_neglect(now)
        return later(now, int(self._every_us * (0.75 + self._chance.roll() / 2)))

    def _sweep(
        self,
        select: _Select,
        instant_of: Callable[[Job], Instant | None],
        event: Event,
        *,
        now: Instant,
    ) -> None:
        after: Position | None = None
        while True:
            jobs = select(now=now, after=after, limit=CHUNK)
            if not jobs or (isinstance(event, LeaseExpired) and not self._time_is_sure()):
                return
            failpoint.reach("sweep.before")
            self._settler.settle_many(((job, event) for job in jobs), now=now)
            failpoint.reach("sweep.after")
            if len(jobs) < CHUNK:
                return
            # Go on behind the last row, so that rows which cannot be settled block no others.
            after = Position(Instant(instant_of(jobs[-1]) or 0), jobs[-1].id)

    def _time_is_sure(self) -> bool:
        """Tell whether leases may be judged: not right after the store's clock was set.

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
