"""Claims jobs whose upstream does not let everything through: by permit, by rate, by share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from holdfast.core.job.job import MAX_URGENT, Job
from holdfast.core.job.plan import Route
from holdfast.core.values.instant import FAR_FUTURE, Instant
from holdfast.runtime.breakers.breakers import Allowance, Breakers
from holdfast.runtime.breakers.watch import Permit
from holdfast.store.contract import Store

BATCH: Final = 500
"""Enough that what every claim costs, waiting for its turn above all, is shared by many jobs; few
enough that a lane gets its next jobs while it still has some."""


class Claim(Protocol):
    """Leases due jobs of some routes and starts them."""

    def __call__(
        self,
        routes: Sequence[Route],
        *,
        limit: int,
        first: int,
        now: Instant,
        permits: Sequence[Permit] = (),
    ) -> Sequence[Job]:
        """Return the jobs that were leased."""
        ...


class AllowedClaims:
    """Asks the breakers what may be claimed, and claims that."""

    def __init__(self, store: Store, breakers: Breakers, *, claim: Claim) -> None:
        self.passed_over: set[str] = set()
        """Upstreams of which nothing more may be claimed at the moment."""
        self.look_at = FAR_FUTURE
        """When there may be room for more calls of an upstream with a rate."""
        self._store = store
        self._breakers = breakers
        self._claim = claim

    def begin(self) -> None:
        """Forget what the turn before came to."""
        self.passed_over.clear()
        self.look_at = FAR_FUTURE

    def claim(
        self,
        routes_of: Callable[[str], Sequence[Route]],
        allowances: Mapping[str, Allowance],
        *,
        room: int,
        now: Instant,
    ) -> int:
        """Claim of each upstream that does not let everything through; return how many."""
        taken = 0
        for name, allowance in allowances.items():
            routes = routes_of(name)
            if routes:
                limit = min(allowance.limit, room - taken, BATCH)
                taken += self._claim_of(name, routes, allowance, limit, now)
        return taken

    def _claim_of(
        self, name: str, routes: Sequence[Route], allowance: Allowance, limit: int, now: Instant
    ) -> int:
        if allowance.by_permit:
            self.passed_over.add(name)
            return self._claim_trials(name, routes, limit, now, rated=allowance.rated)
        limit = min(limit, allowance.limit - self._breakers.watches[name].in_flight)
        if limit > 0 and allowance.rated:
            return self._claim_rated(name, routes, limit, now)
        jobs = self._claim(routes, limit=limit, first=MAX_URGENT, now=now) if limit > 0 else ()
        if len(jobs) == max(limit, 0):
            self.passed_over.add(name)
        return len(jobs)

    def _claim_rated(self, name: str, routes: Sequence[Route], limit: int, now: Instant) -> int:
        """Claim as many jobs as there are calls for; the others stay in their queue."""
        calls = self._reserve(name, routes, limit, now)
        if calls is None:
            return 0
        jobs = self._claim(routes, limit=calls, first=MAX_URGENT, now=now) if calls else ()
        self._breakers.rates.release(name, calls - len(jobs), store=self._store, now=now)
        if len(jobs) == calls:
            self.passed_over.add(name)
            if calls < limit or limit == BATCH:
                ask_at = self._breakers.rates.ask_at(name, now)
                self.look_at = min(self.look_at, ask_at)
        return len(jobs)

    def _claim_trials(
        self, name: str, routes: Sequence[Route], limit: int, now: Instant, *, rated: bool
    ) -> int:
        """Claim a job for each trial call that this worker gets a permit for."""
        if limit <= 0 or not self._is_due(routes, now):
            return 0
        calls = limit
        if rated:
            calls = self._breakers.rates.reserve(name, limit, store=self._store, now=now)
        permits = self._permits(name, calls, now)
        jobs = (
            self._claim(routes, limit=len(permits), first=MAX_URGENT, now=now, permits=permits)
            if permits
            else ()
        )
        self._breakers.give_back(name, permits[len(jobs) :])
        if rated:
            self._breakers.rates.release(name, calls - len(jobs), store=self._store, now=now)
        return len(jobs)

    def _permits(self, name: str, wanted: int, now: Instant) -> list[Permit]:
        if wanted <= 0:
            return []
        return self._breakers.ask_permits(name, wanted, store=self._store, now=now)

    def _reserve(self, name: str, routes: Sequence[Route], limit: int, now: Instant) -> int | None:
        """Return how many calls there are for due jobs; None when no job is due."""
        room = self._breakers.watches[name].room
        if room is not None and room.is_waiting(now):
            return 0
        if room is not None and not room.free(now) and not self._is_due(routes, now):
            # Who has jobs needs the calls more.
            return None
        return self._breakers.rates.reserve(name, limit, store=self._store, now=now)

    def _is_due(self, routes: Sequence[Route], now: Instant) -> bool:
        due_at = self._store.next_due(routes)
        return due_at is not None and due_at <= now
