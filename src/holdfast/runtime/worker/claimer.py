"""Fills the lanes with due jobs."""

from __future__ import annotations

import itertools
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from operator import attrgetter
from typing import Final, NamedTuple

from holdfast.core.job.job import MAX_URGENT, PRIORITIES, Job, WorkerId
from holdfast.core.job.plan import Plan, Route
from holdfast.core.values.instant import Instant, later
from holdfast.errors import UnavailableError
from holdfast.runtime.attempts.attempt import Attempt
from holdfast.runtime.attempts.in_flight import InFlight
from holdfast.runtime.attempts.job_secrets import NO_SECRETS, JobSecrets
from holdfast.runtime.breakers.breakers import Allowance, Breakers
from holdfast.runtime.breakers.watch import Permit, Watch
from holdfast.runtime.kernel import failpoint
from holdfast.runtime.kernel.clock import Chance
from holdfast.runtime.kernel.plans import PlanCache
from holdfast.runtime.kernel.stage import BoundStage, LaneKind
from holdfast.runtime.lanes.contract import Lane
from holdfast.runtime.worker.allowed_claims import BATCH, AllowedClaims
from holdfast.runtime.worker.pace import NEVER, Pace
from holdfast.runtime.worker.shares import Share, Shares, is_shared
from holdfast.store.contract import Store

LOGGER: Final = logging.getLogger("holdfast.worker")
AGAIN_US: Final = 20_000
MAX_UNAPPLIED: Final = 1_000
"""How many attempts may have ended and wait to be applied before they count as if they still ran:
a store that writes more slowly than handlers end must not have them pile up here."""
_LESS_URGENT: Final = [priority for priority in PRIORITIES if priority != MAX_URGENT]
FIRSTS: Final = [first for each in _LESS_URGENT for first in (*[MAX_URGENT] * 9, each)]
"""The priority that is looked at first, claim after claim: each gets its turn, so that a constant
feed of urgent jobs makes the others wait, but not forever."""

_alike: Final = attrgetter("pipeline", "plan", "stage")


class Leased(NamedTuple):
    """A job leased to this worker, with what its stage needs."""

    job: Job
    plan: Plan
    checkpoints: Mapping[str, str]
    permit: Permit | None = None


class Claimer:
    """Leases as many due jobs as the lanes can take, and a little more when they are fast."""

    name = "claimer"

    def __init__(
        self,
        store: Store,
        *,
        holder: WorkerId,
        lanes: Mapping[LaneKind, Lane],
        handlers: Mapping[tuple[str, str], BoundStage],
        queues: Sequence[str],
        plans: PlanCache,
        in_flight: InFlight,
        chance: Chance,
        lease_us: int,
        poll_us: int,
        healthy: Callable[[], bool],
        breakers: Breakers,
        callback_key: Callable[[], bytes],
        secrets: JobSecrets = NO_SECRETS,
        begun: Callable[[Iterable[Job]], None] = lambda _: None,
    ) -> None:
        self.wake = threading.Event()
        self.draining = False
        self._turn = threading.Lock()
        self._store = store
        self._holder = holder
        self._lanes = lanes
        self._handlers = handlers
        self._plans = plans
        self._in_flight = in_flight
        self._chance = chance
        self._lease_us = lease_us
        self._poll_us = poll_us
        self._healthy = healthy
        self._breakers = breakers
        self._callback_key = callback_key
        self._secrets = secrets
        self._begun = begun
        self._pace = Pace()
        self._short_of_room = False
        self._refill_at: dict[LaneKind, int] = {}
        """At which load a lane that had no room is to be looked at again."""
        self._allowed = AllowedClaims(store, breakers, claim=self._claim)
        self._crowded: set[Route] = set()
        """Routes that have their share of a lane at the moment."""
        self._claim_in_doubt = False
        self._routes = {
            kind: [
                Route(queue, bound.pipeline, bound.name)
                for queue in queues
                for bound in handlers.values()
                if bound.lane is kind
            ]
            for kind in lanes
        }
        self._shares = {
            kind: Shares(routes)
            for kind, routes in self._routes.items()
            if is_shared(routes, lanes[kind].limit)
        }
        self._firsts = {kind: itertools.cycle(FIRSTS) for kind in lanes}

    def ended(self, attempt: Attempt) -> None:
        """Claim for a lane that runs low, while what it has done is still being applied."""
        if self._refill_at:
            kind = attempt.bound.lane
            if self._lanes[kind].load() <= self._refill_at.get(kind, NEVER):
                self._refill_at.pop(kind, None)
                self.wake.set()

    def freed(self, count: int, *, requeued: bool) -> None:
        """Note that attempts were applied; there may be room now, or a job due again soon."""
        self._pace.note(count)
        if requeued or self._short_of_room or self._allowed.passed_over or self._crowded:
            self.wake.set()

    def tick(self, now: Instant) -> Instant:
        """Claim once for each lane with room."""
        with self._turn:
            if self.draining or not self._healthy():
                return later(now, self._poll_us)
            return self._fill_lanes(now)

    def drain(self, timeout_s: float) -> bool:
        """Claim no more; return True once no claim is under way, False when that takes too long."""
        self.draining = True
        ended = self._turn.acquire(timeout=timeout_s)
        if ended:
            self._turn.release()
        return ended

    def _fill_lanes(self, now: Instant) -> Instant:
        self._catch_up(now)
        self._short_of_room = False
        self._refill_at.clear()
        self._allowed.begin()
        self._crowded.clear()
        more = False
        for kind, lane in self._lanes.items():
            room = self._room(lane, now)
            routes: Sequence[Route] = self._routes[kind]
            allowances = self._breakers.allowances(now, places=lane.limit)
            if allowances and room > 0:
                room -= self._allowed.claim(
                    lambda name, kind=kind: self._routes_to(kind, name),  # type: ignore[misc]
                    allowances,
                    room=room,
                    now=now,
                )
                routes = [route for route in routes if self._is_free(route, allowances)]
            if room <= 0:
                self._short_of_room = True
                self._refill_at[kind] = self._pace.refill_at(places=lane.limit, now=now)
                continue
            more = self._claim_shares(kind, routes, room, now) or more
        look_at = self._allowed.look_at
        if more or look_at <= now:
            return now
        if self._short_of_room:
            return min(later(now, self._poll_us), look_at)
        return min(self._next_turn(now), look_at)

    def _claim_shares(
        self, kind: LaneKind, routes: Sequence[Route], room: int, now: Instant
    ) -> bool:
        """Claim what the crowds of a lane may have; tell whether there may be more of some."""
        lane = self._lanes[kind]
        first = next(self._firsts[kind])
        full, none_due = False, []
        for share in self._divided(kind, lane, routes, room=room, now=now):
            limit = min(share.limit, room, BATCH)
            if first != MAX_URGENT:
                # A turn, not the whole lane: what is urgent must not wait for slow handlers.
                limit = min(limit, max(lane.limit // 10, 1) + self._pace.prefetch(now))
            if limit <= 0:
                self._short_of_room = True
                break
            jobs = self._claim(share.routes, limit=limit, first=first, now=now)
            room -= len(jobs)
            full = full or len(jobs) == limit
            if not jobs:
                none_due.append(share)
        if full and none_due:
            self._shares[kind].let_rest(none_due, now)
        return full

    def runs(self, pipeline: str, stage: str, *, now: Instant) -> bool:
        """Return whether this worker has a handler for a stage and may call its upstream freely."""
        bound = self._handlers.get((pipeline, stage))
        return bound is not None and (
            bound.upstream is None or self._breakers.admits_all(bound, now)
        )

    def start(self, leased: Iterable[Leased]) -> None:
        """Hand leased jobs to their lanes, in one call per lane."""
        by_lane: dict[LaneKind, list[Attempt]] = {}
        watched: Counter[Watch] = Counter()
        for job, plan, checkpoints, permit in leased:
            bound = self._handlers[job.pipeline, job.stage]
            watch = None if bound.upstream is None else self._breakers.watch_of(bound)
            if watch is not None:
                watched[watch] += 1
            attempt = Attempt(
                job,
                plan=plan,
                bound=bound,
                checkpoints=checkpoints,
                watch=watch,
                permit=permit,
                callback_key=self._callback_key,
                secrets=self._secrets,
            )
            self._in_flight.add(attempt)
            by_lane.setdefault(bound.lane, []).append(attempt)
        for watch, attempts_of_it in watched.items():
            watch.add(attempts_of_it)
        for kind, attempts in by_lane.items():
            if kind in self._shares:
                self._shares[kind].note_starts(attempt.job for attempt in attempts)
            self._begun(attempt.job for attempt in attempts)
            self._lanes[kind].start(attempts)

    def _routes_to(self, kind: LaneKind, upstream: str) -> list[Route]:
        return [route for route in self._routes[kind] if self._upstream_of(route) == upstream]

    def _upstream_of(self, route: Route) -> str | None:
        upstream = self._handlers[route.pipeline, route.stage].upstream
        return None if upstream is None else upstream.name

    def _is_free(self, route: Route, allowances: Mapping[str, Allowance]) -> bool:
        name = self._upstream_of(route)
        return name is None or name not in allowances or allowances[name].and_the_rest

    def _room(self, lane: Lane, now: Instant) -> int:
        unapplied = len(self._in_flight) - sum(each.load() for each in self._lanes.values())
        load = lane.load() + max(unapplied - MAX_UNAPPLIED, 0)
        return self._pace.room(places=lane.limit, load=load, now=now)

    def _divided(
        self, kind: LaneKind, lane: Lane, routes: Sequence[Route], *, room: int, now: Instant
    ) -> Sequence[Share]:
        """Return the claims to make for a lane, without routes that have their share already."""
        shares = self._shares.get(kind)
        if shares is None:
            return (Share(routes, room),)
        held = (
            attempt.job
            for attempt in self._in_flight.all()
            if attempt.bound.lane is kind and not attempt.ended
        )
        awake = shares.awake(routes, now)
        divided = shares.divide(awake, held, places=lane.limit, room=room, now=now)
        self._crowded.update(set(awake).difference(*(share.routes for share in divided)))
        return divided

    def _claim(
        self,
        routes: Sequence[Route],
        *,
        limit: int,
        first: int,
        now: Instant,
        permits: Sequence[Permit] = (),
    ) -> list[Job]:
        if not routes:
            return []
        start = int(self._chance.roll() * len(routes))
        failpoint.reach("claim.before")
        # Until the jobs are in their lanes nobody but the store knows that they are leased.
        self._claim_in_doubt = True
        jobs = self._store.claim(
            [*routes[start:], *routes[:start]],
            limit=limit,
            holder=self._holder,
            lease_us=self._lease_us,
            now=now,
            first=first,
        )
        failpoint.reach("claim.after")
        self._dispatch(jobs, permits)
        self._claim_in_doubt = False
        return jobs

    def _catch_up(self, now: Instant) -> None:
        """Do what an outage of the store has left to be done before anything is claimed."""
        if self._claim_in_doubt:
            self._adopt(now)
        self._breakers.catch_up(now, store=self._store)

    def _adopt(self, now: Instant) -> None:
        """Run the jobs of a claim whose reply was lost: they are leased to this very worker.

        Not those in flight, which the reporter may be moving to their next stage and lease, nor
        those whose lease has ended, which may have been given up here.
        """
        known = {attempt.job.id for attempt in self._in_flight.all()}
        orphans = [
            job
            for job in self._store.held_by(self._holder)
            if job.id not in known and (job.lease_until or 0) > now
        ]
        if orphans:
            LOGGER.warning(
                "running %d jobs of a claim whose reply was lost",
                len(orphans),
                extra={"event": "adopted", "jobs": len(orphans)},
            )
            self._dispatch(orphans)
        self._claim_in_doubt = False

    def _dispatch(self, jobs: Sequence[Job], permits: Sequence[Permit] = ()) -> None:
        """Find the plans and checkpoints of claimed jobs, and start them."""
        if not jobs:
            return
        # Looked up and complained of once for all that are alike, which mostly are all of them.
        samples = {_alike(job): job for job in jobs}
        plans = {alike: self._plan_of(job) for alike, job in samples.items()}
        planned = [(job, plan) for job in jobs if (plan := plans[_alike(job)]) is not None]
        later_stages = [job.id for job, plan in planned if job.stage != plan.stages[0].name]
        checkpoints: dict[str, dict[str, str]] = {}
        if later_stages:
            for found in self._store.checkpoints(later_stages):
                checkpoints.setdefault(found.job_id, {})[found.stage] = found.result
        self.start(
            Leased(job, plan, checkpoints.get(job.id, {}), permit)
            for (job, plan), permit in zip_longest(planned, permits[: len(planned)])
        )

    def _plan_of(self, job: Job) -> Plan | None:
        """Return a job's plan, or None when it is missing or this code cannot read it."""
        why = "it is not stored"
        try:
            plan = self._plans.of(job)
        except UnavailableError:
            raise
        except Exception as error:  # noqa: BLE001 - one bad plan spares the jobs of others
            plan, why = None, str(error)
        if plan is not None and plan.stage(job.stage) is None:
            plan, why = None, f"it has no stage {job.stage!r}"
        if plan is None:
            LOGGER.error(
                "the job's plan cannot be used: %s",
                why,
                extra={"job_id": job.id, "pipeline": job.pipeline, "plan": job.plan},
            )
        return plan

    def _next_turn(self, now: Instant) -> Instant:
        """Return when to look again: at the next due time, and at every poll at the latest."""
        # Spread, so that a fleet that was woken together does not poll together.
        poll_at = later(now, int(self._poll_us * (0.75 + self._chance.roll() / 2)))
        passed_over = self._allowed.passed_over
        due_at = self._store.next_due(
            [
                route
                for routes in self._routes.values()
                for route in routes
                if route not in self._crowded
                and (not passed_over or self._upstream_of(route) not in passed_over)
            ]
        )
        if due_at is None:
            return poll_at
        # A job that is due and was not claimed is locked or past its deadline: not now, then.
        return min(poll_at, due_at if due_at > now else later(now, AGAIN_US))
