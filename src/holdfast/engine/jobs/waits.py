"""Reads why jobs wait: what is around them, and what their upstreams did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from holdfast.core.delivery.delivery import Delivery
from holdfast.core.job.job import Job, JobState
from holdfast.core.job.plan import Route
from holdfast.core.upstream.breaker_policy import BreakerMode
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.engine.jobs.holding import Span, shut_spans, with_holds
from holdfast.engine.upstreams import SUBJECT, Upstreams
from holdfast.runtime.kernel.clock import Clock
from holdfast.runtime.kernel.plans import PlanCache
from holdfast.store.contract import Leases, PausedQueue, Store, WorkerRow
from holdfast.store.tables.audit import AuditEntry
from holdfast.views.explain.waiting import (
    Around,
    Reason,
    Waiting,
    has_lost_its_worker,
    holds,
    reasons,
    route_of,
    stop,
)
from holdfast.views.job import HistoryLine, JobView, WaitsFor

RECENT_US: Final = SECOND_US
MOVES: Final = 100
MAX_MOVES: Final = 1_000
"""So many moves of a breaker are read at most to work out when it held a job."""
HOLDING: Final = frozenset({Reason.UPSTREAM, Reason.RATE})
"""The reasons for which a due job is labelled `held`."""


class Fleet(NamedTuple):
    """The workers on record, and how many jobs each has leased."""

    workers: Sequence[WorkerRow]
    leases: Mapping[str, Leases]
    until: Instant
    """Until when this is recent."""


class Waits:
    """Reads why jobs wait."""

    def __init__(
        self,
        store: Callable[[], Store],
        *,
        plans: PlanCache,
        upstreams: Upstreams,
        clock: Clock,
    ) -> None:
        self._store = store
        self._plans = plans
        self._upstreams = upstreams
        self._clock = clock
        self._fleet: Fleet | None = None

    def around(self) -> Around:
        """Read what is around all jobs that wait."""
        fleet = self._read_fleet(recent=False)
        return Around(fleet.workers, fleet.leases, self._paused(), self._upstreams.known())

    def of(
        self, view: JobView, history: Sequence[HistoryLine] = (), *, recent: bool = False
    ) -> list[Waiting]:
        """Return what a job waits for, what decides first.

        With `recent` workers may have been looked at up to a second ago, for those who ask often.
        """
        job, now = view.job, view.read_at
        if job.state is JobState.WAITING:
            sent = self._deliveries_of(job)
            return reasons(job, Around(), upstream=None, now=now, deliveries=sent)
        if job.state is not JobState.QUEUED and not has_lost_its_worker(job, now):
            return []
        upstream = self.upstream_of(job)
        known = {} if upstream is None else self._upstreams.known()
        around = Around(paused=self._paused(), upstreams=known)
        if stop(route_of(job), around, upstream=upstream, now=now) is None:
            around = self._with_fleet(around, recent=recent)
        return reasons(job, around, upstream=upstream, now=now, history=history)

    def labelled(self, views: Sequence[JobView]) -> list[JobView]:
        """Return the same jobs with what each waits for; those are marked that an upstream holds.

        Workers may have been looked at up to a second ago.
        """
        around: Around | None = None
        found = []
        for view in views:
            job, now = view.job, view.read_at
            if job.state is JobState.WAITING:
                sent = self._deliveries_of(job)
                why = reasons(job, Around(), upstream=None, now=now, deliveries=sent)
            elif job.state is JobState.QUEUED or has_lost_its_worker(job, now):
                if around is None:
                    read = Around(paused=self._paused(), upstreams=self._upstreams.known())
                    around = self._with_fleet(read, recent=True)
                why = reasons(job, around, upstream=self.upstream_of(job), now=now)
            else:
                why = []
            found.append(_labelled(view, why[0]) if why else view)
        return found

    def held_routes(self) -> list[Route]:
        """Return where due jobs wait that an upstream holds."""
        closed = {name for name, view in self._upstreams.known().items() if holds(view)}
        if not closed:
            return []
        due = self._store().routes(now=self._clock.now())
        return [route for route, *_ in due if self.upstream_of_route(route) in closed]

    def with_holds(self, job: Job, lines: Sequence[HistoryLine]) -> list[HistoryLine]:
        """Return a job's history with when an upstream held it, and when it went on."""
        plan = self._plans.of(job)
        known: dict[str, Sequence[Span]] = {}

        def shut_of(stage_name: str) -> tuple[str, Sequence[Span]] | None:
            stage = None if plan is None else plan.stage(stage_name)
            upstream = None if stage is None else stage.upstream
            if upstream is None:
                return None
            if upstream not in known:
                known[upstream] = self._shut_since(upstream, job.created_at)
            return upstream, known[upstream]

        return with_holds(job, lines, shut_of, now=self._clock.now())

    def _shut_since(self, name: str, since: Instant) -> list[Span]:
        """Return when the breaker of an upstream held jobs since then; where they fail, never."""
        view = self._upstreams.known().get(name)
        breaker = None if view is None else view.breaker
        if breaker is not None and BreakerMode(breaker.mode) is not BreakerMode.HOLD:
            return []
        rows, moves = self._store().audit, list[AuditEntry]()
        while len(moves) < MAX_MOVES and (not moves or moves[-1].at >= since):
            before = moves[-1].id if moves else None
            page = rows.latest(subject_kind=SUBJECT, subject=name, before=before, limit=MOVES)
            moves.extend(page)
            if len(page) < MOVES:
                break
        return shut_spans(moves)

    def upstream_of(self, job: Job) -> str | None:
        """Return the upstream that a job's stage calls, None where it calls none."""
        plan = self._plans.of(job)
        stage = None if plan is None else plan.stage(job.stage)
        return None if stage is None else stage.upstream

    def upstream_of_route(self, route: Route) -> str | None:
        """Return the upstream that a stage calls by the newest plan of its pipeline."""
        plan = self._store().newest_plan(route.pipeline)
        stage = None if plan is None else plan.stage(route.stage)
        return None if stage is None else stage.upstream

    def _deliveries_of(self, job: Job) -> list[Delivery]:
        return self._store().deliveries.of_job(job.id)

    def _with_fleet(self, around: Around, *, recent: bool) -> Around:
        fleet = self._read_fleet(recent=recent)
        return around._replace(workers=fleet.workers, leases=fleet.leases)

    def _paused(self) -> dict[str, PausedQueue]:
        return {queue.name: queue for queue in self._store().paused_queues()}

    def _read_fleet(self, *, recent: bool) -> Fleet:
        kept, now = self._fleet, self._clock.now()
        if recent and kept is not None and now < kept.until:
            return kept
        store = self._store()
        fleet = self._fleet = Fleet(store.workers(), store.leased(now=now), later(now, RECENT_US))
        return fleet


def _labelled(view: JobView, why: Waiting) -> JobView:
    waits_for = WaitsFor(why.reason.value, why.brief)
    return replace(view, held=view.is_due and why.reason in HOLDING, waits_for=waits_for)
