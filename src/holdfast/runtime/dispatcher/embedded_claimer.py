"""Leases the jobs it is handed, and no others."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from enum import Enum
from typing import Any, Final, NamedTuple

from holdfast.core.job.job import Job
from holdfast.core.job.plan import Route
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.runtime.breakers.watch import Permit
from holdfast.runtime.kernel import failpoint
from holdfast.runtime.worker.allowed_claims import BATCH
from holdfast.runtime.worker.claimer import Claimer


class Rest(Enum):
    """What is to be done about the jobs that a take has not asked for."""

    LATER = "later"
    """There is no room for them yet."""
    LEFT = "left"
    """They are not to be run now; the store says when."""


class Taken(NamedTuple):
    """How far a take came: how many of the jobs given it asked for, and what of the others."""

    asked: int
    rest: Rest = Rest.LATER
    leased: int = 0
    """How many of those asked for were due, and run now."""


NONE_YET: Final = Taken(0)
_NONE: Final = Taken(0, Rest.LEFT)


class EmbeddedClaimer(Claimer):
    """Claims by ids, as many as the lane has room for and their upstream lets through."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - those of a claimer
        super().__init__(*args, **kwargs)
        self._news = threading.Condition()
        self._freed = 0

    def tick(self, now: Instant) -> Instant:
        """Look after a claim whose reply was lost; otherwise wait to be handed jobs."""
        with self._turn:
            if self._claim_in_doubt and self._healthy():
                self._adopt(now)
        return later(now, self._poll_us)

    def freed(self, count: int, *, requeued: bool) -> None:
        """Note that attempts ended, and wake who waits for that."""
        super().freed(count, requeued=requeued)
        with self._news:
            self._freed += count
            self._news.notify_all()

    def mark(self) -> int:
        """Return how many attempts have ended so far, for `wait_past`."""
        return self._freed

    def wait_past(self, mark: int, timeout_s: float) -> None:
        """Wait until an attempt ends that had not ended at `mark`, for a while at most."""
        with self._news:
            self._news.wait_for(lambda: self._freed != mark, timeout_s)

    def knows(self, route: Route) -> bool:
        """Return whether this worker has a handler for the jobs of a route."""
        return (route.pipeline, route.stage) in self._handlers

    def first_due_at(
        self, route: Route, job_ids: Sequence[JobId], *, now: Instant
    ) -> Instant | None:
        """Return when the first of the given jobs that wait on that route will be due."""
        with self._turn:
            return self._store.due.first_due_at(job_ids, route=route, now=now)

    def take(self, route: Route, job_ids: Sequence[JobId], *, now: Instant) -> Taken:
        """Lease and start the first of the given jobs, as many as may run now."""
        with self._turn:
            if self.draining:
                return _NONE
            if not self._healthy():
                return NONE_YET
            self._catch_up(now)
            lane = self._lanes[self._handlers[route.pipeline, route.stage].lane]
            room = min(self._room(lane, now), BATCH, len(job_ids))
            if room <= 0:
                return NONE_YET
            upstream = self._upstream_of(route)
            allowance = self._breakers.allowances(now, places=lane.limit).get(upstream or "")
            if upstream is None or allowance is None:
                return self._lease(route, job_ids[:room], now)
            if allowance.by_permit:
                tried = self._try(upstream, route, job_ids[:room], now, rated=allowance.rated)
                if not allowance.and_the_rest:
                    return tried
                return self._lease(route, job_ids[tried.asked : room], now, before=tried)
            if allowance.limit <= 0:
                return _NONE
            most = min(room, allowance.limit - self._breakers.watches[upstream].in_flight)
            if most <= 0:
                return NONE_YET
            if allowance.rated:
                return self._lease_rated(upstream, route, job_ids[:most], now)
            return self._lease(route, job_ids[:most], now)

    def until_room_s(self, route: Route, *, now: Instant) -> float:
        """Return in how many seconds the rate of a route's upstream may have room; 0 without."""
        watch = self._breakers.watch_of(self._handlers[route.pipeline, route.stage])
        if watch is None or watch.room is None:
            return 0.0
        return max(watch.room.ask_at - now, 0) / SECOND_US

    def _try(
        self, upstream: str, route: Route, job_ids: Sequence[JobId], now: Instant, *, rated: bool
    ) -> Taken:
        """Lease a job for each trial call that this worker gets a permit for."""
        rates, calls = self._breakers.rates, len(job_ids)
        if rated:
            calls = rates.reserve(upstream, calls, store=self._store, now=now)
        permits = self._breakers.ask_permits(upstream, calls, store=self._store, now=now)
        leased = self._leased(route, job_ids[: len(permits)], now, permits) if permits else []
        self._breakers.give_back(upstream, permits[len(leased) :])
        if rated:
            rates.release(upstream, calls - len(leased), store=self._store, now=now)
        return Taken(len(permits), Rest.LEFT, len(leased))

    def _lease_rated(
        self, upstream: str, route: Route, job_ids: Sequence[JobId], now: Instant
    ) -> Taken:
        """Lease as many jobs as there are calls for; the others wait for their turn."""
        rates = self._breakers.rates
        calls = rates.reserve(upstream, len(job_ids), store=self._store, now=now)
        if not calls:
            return NONE_YET
        taken = self._lease(route, job_ids[:calls], now)
        rates.release(upstream, calls - taken.leased, store=self._store, now=now)
        return taken

    def _lease(
        self, route: Route, job_ids: Sequence[JobId], now: Instant, *, before: Taken = NONE_YET
    ) -> Taken:
        leased = self._leased(route, job_ids, now)
        return Taken(before.asked + len(job_ids), leased=before.leased + len(leased))

    def _leased(
        self, route: Route, job_ids: Sequence[JobId], now: Instant, permits: Sequence[Permit] = ()
    ) -> list[Job]:
        failpoint.reach("claim.before")
        self._claim_in_doubt = True
        jobs = self._store.due.claim(
            job_ids, route=route, holder=self._holder, lease_us=self._lease_us, now=now
        )
        failpoint.reach("claim.after")
        self._dispatch(jobs, permits)
        # A claim that was repeated after a lost reply comes back short, too.
        self._claim_in_doubt = len(jobs) < len(job_ids)
        return jobs
