"""Why a job waits: the one place that says so, to the console, commands, the API and the doctor.

`obstacle` is about a route: everything that stands in the way of its due jobs. `reasons` is about
one job, and adds what its own times say. Both are pure; `Waits` reads what they go by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from holdfast import sentences
from holdfast.core.breaker import Admits
from holdfast.core.breaker_policy import BreakerMode
from holdfast.core.instant import FAR_FUTURE, SECOND_US, Instant, later, to_rfc3339
from holdfast.core.job import Job, JobState
from holdfast.core.plan import Route
from holdfast.core.upstream import Gate
from holdfast.holding import Span, shut_spans, with_holds
from holdfast.liveness import knows, serves
from holdfast.runtime.clock import Clock
from holdfast.runtime.plans import PlanCache
from holdfast.spoken import span
from holdfast.store.audit import AuditEntry
from holdfast.store.contract import Leases, PausedQueue, Store, WorkerRow
from holdfast.upstreams import SUBJECT, Upstreams, UpstreamView
from holdfast.view import HistoryLine, JobView

RECENT_US: Final = SECOND_US
MOVES: Final = 100
MOST_MOVES: Final = 1_000
"""So many moves of a breaker are read at most to work out when it held a job."""
_NO_LEASES: Final = Leases(0)


class Reason(StrEnum):
    """What a job waits for."""

    ANSWER = "answer"
    """An answer from outside."""
    SCHEDULED = "scheduled"
    """The time at which it is due."""
    RETRY = "retry"
    """The time of its next attempt."""
    QUEUE_PAUSED = "queue_paused"
    UPSTREAM = "upstream"
    """The upstream that its stage calls: by its breaker, or because it asked to be left alone."""
    NO_WORKER = "no_worker"
    """A worker that serves its queue."""
    NO_HANDLER = "no_handler"
    """A worker that knows its stage."""
    WORKERS_BUSY = "workers_busy"
    WORKER = "worker"
    """A worker that is about to take it, as far as can be seen."""


class Waiting(NamedTuple):
    """One reason why a job waits."""

    reason: Reason
    sentence: str
    until: Instant | None = None
    """When it ends by itself, as far as is known."""
    remedy: str | None = None
    """What can be done about it, and with which command; None where there is nothing to do."""

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values; times are RFC 3339 in UTC."""
        until = None if self.until is None or self.until >= FAR_FUTURE else to_rfc3339(self.until)
        return {**self._asdict(), "reason": self.reason.value, "until": until}


class Around(NamedTuple):
    """What is around jobs that wait, as it was read."""

    workers: Sequence[WorkerRow] = ()
    leases: Mapping[str, Leases] = MappingProxyType({})
    """How many jobs each worker has leased."""
    paused: Mapping[str, PausedQueue] = MappingProxyType({})
    upstreams: Mapping[str, UpstreamView] = MappingProxyType({})


def reasons(
    job: Job,
    around: Around,
    *,
    upstream: str | None,
    now: Instant,
    history: Sequence[HistoryLine] = (),
) -> list[Waiting]:
    """Return what a job waits for at `now`, its own times first; empty for one that does not.

    `upstream` is the one that its stage calls. With `history` the sentence of a retry is fuller.
    """
    if job.state is JobState.WAITING:
        return [_answer(job, now)]
    if job.state is not JobState.QUEUED:
        return []
    found: list[Waiting] = []
    if job.run_at > now:
        reason = Reason.RETRY if job.attempt else Reason.SCHEDULED
        found.append(Waiting(reason, sentences.queued(job, history, now), job.run_at))
    stopped = obstacle(_route(job), around, upstream=upstream, now=now)
    if stopped is not None:
        found.append(stopped)
    elif not found:
        sentence = "It waits for a free worker that knows its pipeline."
        found.append(Waiting(Reason.WORKER, sentence))
    return found


def obstacle(route: Route, around: Around, *, upstream: str | None, now: Instant) -> Waiting | None:
    """Return what keeps workers from the due jobs of a route, the first that would have to go."""
    return _stop(route, around, upstream, now) or _without_worker(route, around, now)


def _stop(route: Route, around: Around, upstream: str | None, now: Instant) -> Waiting | None:
    """Return what would keep every worker from them: a pause, or their upstream."""
    paused = around.paused.get(route.queue)
    if paused is not None:
        why = f": {paused.reason.rstrip('.')}" if paused.reason else ""
        return Waiting(
            Reason.QUEUE_PAUSED,
            f"Queue {route.queue} was paused by {paused.paused_by}, "
            f"{span(now - paused.paused_at)} ago{why}.",
            remedy=f"To let it go on: holdfast queues resume {route.queue}",
        )
    view = None if upstream is None else around.upstreams.get(upstream)
    return None if view is None or not holds(view) else _held(view, now)


def holds(view: UpstreamView) -> bool:
    """Return whether an upstream keeps due jobs in their queue."""
    if view.paused_until is not None:
        return True
    mode = BreakerMode.HOLD if view.breaker is None else BreakerMode(view.breaker.mode)
    return view.admission.admits is not Admits.ALL and mode is BreakerMode.HOLD


def _held(view: UpstreamView, now: Instant) -> Waiting:
    name = view.name
    look = f"To look at it: holdfast upstreams show {name}"
    if view.paused_until is not None:
        left = span(view.paused_until - now)
        sentence = f"Held: upstream {name} asked to be left alone for another {left}."
        return Waiting(Reason.UPSTREAM, sentence, view.paused_until, look)
    if view.state.forced is not None:
        said = view.state.forced_reason
        why = f": {said.rstrip('.')}" if said else ""
        who = view.state.forced_by
        sentence = f"Held: the breaker of upstream {name} is held open by {who}{why}."
        remedy = f"To let it go on: holdfast upstreams reset {name}"
        return Waiting(Reason.UPSTREAM, sentence, None, remedy)
    if view.gate is Gate.HALF_OPEN:
        sentence = f"Held: the breaker of upstream {name} is half open, and trial calls decide."
        return Waiting(Reason.UPSTREAM, sentence, None, look)
    again = "" if view.until is None else f" It is tried again in {span(max(view.until - now, 0))}."
    sentence = f"Held: the breaker of upstream {name} is open.{again} Waiting costs no attempt."
    return Waiting(Reason.UPSTREAM, sentence, view.until, look)


def _without_worker(route: Route, around: Around, now: Instant) -> Waiting | None:
    start = f"To start one: holdfast -A module:app worker --queues {route.queue}"
    serving = [worker for worker in around.workers if serves(worker, route.queue, now)]
    if not serving:
        sentence = f"No live worker serves queue {route.queue}."
        return Waiting(Reason.NO_WORKER, sentence, remedy=start)
    able = [worker for worker in serving if knows(worker, route.pipeline, route.stage)]
    if not able:
        sentence = (
            f"No live worker of queue {route.queue} knows stage {route.stage} of pipeline "
            f"{route.pipeline}."
        )
        return Waiting(Reason.NO_HANDLER, sentence, remedy=start)
    running = [around.leases.get(worker.id, _NO_LEASES).held for worker in able]
    if all(count >= worker.concurrency for worker, count in zip(able, running, strict=True)):
        who = "The worker that may take it is" if len(able) == 1 else f"All {len(able)} workers are"
        sentence = f"{who} busy, with {_jobs(sum(running))}; it starts when a place is free."
        return Waiting(Reason.WORKERS_BUSY, sentence)
    return None


def _answer(job: Job, now: Instant) -> Waiting:
    if job.run_at >= FAR_FUTURE:
        until, left = None, "for as long as it takes"
    else:
        until = job.run_at
        left = f"for another {span(until - now)}" if until > now else "and its time is up"
    sentence = f"Stage {job.stage} waits for an answer from outside, {left}."
    return Waiting(Reason.ANSWER, sentence, until)


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"


def _route(job: Job) -> Route:
    return Route(job.queue, job.pipeline, job.stage)


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
        if job.state is not JobState.QUEUED:
            return reasons(job, Around(), upstream=None, now=now)
        upstream = self.upstream_of(job)
        known = {} if upstream is None else self._upstreams.known()
        around = Around(paused=self._paused(), upstreams=known)
        if _stop(_route(job), around, upstream, now) is None:
            fleet = self._read_fleet(recent=recent)
            around = around._replace(workers=fleet.workers, leases=fleet.leases)
        return reasons(job, around, upstream=upstream, now=now, history=history)

    def labelled(self, views: Sequence[JobView]) -> list[JobView]:
        """Return the same jobs, those marked that their upstream holds."""
        calls = {view.id: self.upstream_of(view.job) for view in views if view.is_due}
        if not any(calls.values()):
            return list(views)
        closed = {name for name, view in self._upstreams.known().items() if holds(view)}
        return [replace(view, held=calls.get(view.id) in closed) for view in views]

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
        while len(moves) < MOST_MOVES and (not moves or moves[-1].at >= since):
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

    def _paused(self) -> dict[str, PausedQueue]:
        return {queue.name: queue for queue in self._store().paused_queues()}

    def _read_fleet(self, *, recent: bool) -> Fleet:
        kept, now = self._fleet, self._clock.now()
        if recent and kept is not None and now < kept.until:
            return kept
        store = self._store()
        fleet = self._fleet = Fleet(store.workers(), store.leased(now=now), later(now, RECENT_US))
        return fleet
