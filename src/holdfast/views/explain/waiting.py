"""Why a job waits: the one place that says so, to the console, commands, the API and the doctor.

`obstacle` is about a route: everything that stands in the way of its due jobs. `reasons` is about
one job, and adds what its own times say. Both are pure; `engine.jobs.waits` reads what they go by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from holdfast.core.delivery.delivery import Delivery, DeliveryState
from holdfast.core.job.job import Job, JobState
from holdfast.core.job.plan import Route
from holdfast.core.upstream.breaker import Admits
from holdfast.core.upstream.breaker_policy import BreakerMode
from holdfast.core.upstream.upstream import Gate
from holdfast.core.values.instant import FAR_FUTURE, Instant, to_rfc3339
from holdfast.store.contract import Leases, PausedQueue, WorkerRow
from holdfast.views.durations import span
from holdfast.views.explain.advice import Mover
from holdfast.views.explain.retry import queued
from holdfast.views.explain.sentence import Sentence, number
from holdfast.views.job import HistoryLine
from holdfast.views.upstream import UpstreamView
from holdfast.views.worker import knows, serves

_NO_LEASES: Final = Leases(0)
_ON_THEIR_WAY: Final = frozenset({DeliveryState.INTENT, DeliveryState.SENDING})


class Reason(StrEnum):
    """What a job waits for."""

    ANSWER = "answer"
    """An answer from outside."""
    DELIVERIES = "deliveries"
    """Messages that its stage sends, and that are not sent yet."""
    SCHEDULED = "scheduled"
    """The time at which it is due."""
    RETRY = "retry"
    """The time of its next attempt."""
    QUEUE_PAUSED = "queue_paused"
    UPSTREAM = "upstream"
    """The upstream that its stage calls, by its breaker."""
    RATE = "rate"
    """The upstream that its stage calls: it asked to be called less, or its rate has no room."""
    NO_WORKER = "no_worker"
    """A worker that serves its queue."""
    NO_HANDLER = "no_handler"
    """A worker that knows its stage."""
    WORKERS_BUSY = "workers_busy"
    WORKER = "worker"
    """A worker that is about to take it, as far as can be seen."""
    TAKEOVER = "takeover"
    """A worker that takes it over: the lease of the one that ran it has ended."""


class Waiting(NamedTuple):
    """One reason why a job waits."""

    reason: Reason
    sentence: str
    brief: str
    """The same in a few words, for lists."""
    whose: Mover
    """Whose move it is; nobody's where it ends by itself."""
    until: Instant | None = None
    """When it ends by itself, as far as is known."""
    move: Sentence | None = None
    """What can be done about it; None where there is nothing to do."""

    @property
    def remedy(self) -> str | None:
        """What can be done about it, and with which command."""
        return None if self.move is None else self.move.with_command

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values; times are RFC 3339 in UTC."""
        until = None if self.until is None or self.until >= FAR_FUTURE else to_rfc3339(self.until)
        return {
            "reason": self.reason.value,
            "sentence": self.sentence,
            "brief": self.brief,
            "whose": self.whose.value,
            "until": until,
            "remedy": self.remedy,
        }


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
    deliveries: Sequence[Delivery] = (),
) -> list[Waiting]:
    """Return what a job waits for at `now`, its own times first; empty for one that does not.

    `upstream` is the one that its stage calls, `deliveries` are those of a stage that waits. With
    `history` the sentence of a retry is fuller.
    """
    if job.state is JobState.WAITING:
        return [_deliveries(job, deliveries, now) or _answer(job, now)]
    if job.state is JobState.PROCESSING:
        return [] if not has_lost_its_worker(job, now) else [_takeover(job, around, now)]
    if job.state is not JobState.QUEUED:
        return []
    found: list[Waiting] = []
    if job.run_at > now:
        found.append(_own_time(job, history, now))
    stopped = obstacle(route_of(job), around, upstream=upstream, now=now)
    if stopped is not None:
        found.append(stopped)
    elif not found:
        sentence = "It waits for a free worker that knows its pipeline."
        found.append(Waiting(Reason.WORKER, sentence, "for a free worker", Mover.NOBODY))
    return found


def obstacle(route: Route, around: Around, *, upstream: str | None, now: Instant) -> Waiting | None:
    """Return what keeps workers from the due jobs of a route, the first that would have to go."""
    stopped = stop(route, around, upstream=upstream, now=now)
    return stopped or _without_worker(route, around, now)


def stop(route: Route, around: Around, *, upstream: str | None, now: Instant) -> Waiting | None:
    """Return what would keep every worker from them: a pause, or their upstream."""
    paused = around.paused.get(route.queue)
    if paused is not None:
        why = f": {paused.reason.rstrip('.')}" if paused.reason else ""
        return Waiting(
            Reason.QUEUE_PAUSED,
            f"Queue {route.queue} was paused by {paused.paused_by}, "
            f"{span(now - paused.paused_at)} ago{why}.",
            f"queue {route.queue} is paused by {paused.paused_by}",
            Mover.OPERATOR,
            move=Sentence("To let it go on", f"holdfast queues resume {route.queue}"),
        )
    view = None if upstream is None else around.upstreams.get(upstream)
    return None if view is None or not holds(view) else _held(view, now)


def holds(view: UpstreamView) -> bool:
    """Return whether an upstream keeps due jobs in their queue."""
    if view.paused_until is not None or (view.rate is not None and view.rate.is_short):
        return True
    mode = BreakerMode.HOLD if view.breaker is None else BreakerMode(view.breaker.mode)
    return view.admission.admits is not Admits.ALL and mode is BreakerMode.HOLD


def has_lost_its_worker(job: Job, now: Instant) -> bool:
    """Return whether a job is on record as being run, and the lease of its worker has ended."""
    return (
        job.state is JobState.PROCESSING and job.lease_until is not None and job.lease_until < now
    )


def route_of(job: Job) -> Route:
    """Return where a job waits."""
    return Route(job.queue, job.pipeline, job.stage)


def _own_time(job: Job, history: Sequence[HistoryLine], now: Instant) -> Waiting:
    reason = Reason.RETRY if job.attempt else Reason.SCHEDULED
    what = f"attempt {job.attempt + 1}" if job.attempt else "starts"
    return Waiting(
        reason,
        queued(job, history, now),
        f"{what} in {span(job.run_at - now)}",
        Mover.NOBODY,
        job.run_at,
    )


def _held(view: UpstreamView, now: Instant) -> Waiting:
    name = view.name
    look = Sentence("To look at it", f"holdfast upstreams show {name}")
    if view.paused_until is not None:
        brief = (
            f"upstream {name} asked to be left alone for another {span(view.paused_until - now)}"
        )
        return Waiting(
            Reason.RATE, f"Held: {brief}.", brief, Mover.UPSTREAM, view.paused_until, look
        )
    if view.state.forced is not None:
        said = view.state.forced_reason
        why = f": {said.rstrip('.')}" if said else ""
        brief = f"the breaker of upstream {name} is held open by {view.state.forced_by}"
        reset = Sentence("To let it go on", f"holdfast upstreams reset {name}")
        return Waiting(Reason.UPSTREAM, f"Held: {brief}{why}.", brief, Mover.OPERATOR, None, reset)
    if view.gate is Gate.HALF_OPEN:
        brief = f"the breaker of upstream {name} is half open, and trial calls decide"
        return Waiting(Reason.UPSTREAM, f"Held: {brief}.", brief, Mover.UPSTREAM, None, look)
    if view.gate is Gate.CLOSED and view.rate is not None:
        brief = f"upstream {name} takes {view.rate.rate}, and others are before it"
        sentence = f"Held: {brief}. Waiting costs no attempt."
        return Waiting(Reason.RATE, sentence, brief, Mover.NOBODY, None, look)
    again = "" if view.until is None else f" It is tried again in {span(max(view.until - now, 0))}."
    brief = f"the breaker of upstream {name} is open"
    sentence = f"Held: {brief}.{again} Waiting costs no attempt."
    return Waiting(Reason.UPSTREAM, sentence, brief, Mover.UPSTREAM, view.until, look)


def _without_worker(route: Route, around: Around, now: Instant) -> Waiting | None:
    start = Sentence("To start one", f"holdfast -A module:app worker --queues {route.queue}")
    serving = [worker for worker in around.workers if serves(worker, route.queue, now)]
    if not serving:
        brief = f"no live worker serves queue {route.queue}"
        return _for_operator(Reason.NO_WORKER, brief, start)
    able = [worker for worker in serving if knows(worker, route.pipeline, route.stage)]
    if not able:
        brief = (
            f"no live worker of queue {route.queue} knows stage {route.stage} of pipeline "
            f"{route.pipeline}"
        )
        return _for_operator(Reason.NO_HANDLER, brief, start)
    running = [around.leases.get(worker.id, _NO_LEASES).held for worker in able]
    if all(count >= worker.concurrency for worker, count in zip(able, running, strict=True)):
        who = "The worker that may take it is" if len(able) == 1 else f"All {len(able)} workers are"
        sentence = (
            f"{who} busy, with {number(sum(running), 'job')}; it starts when a place is free."
        )
        return Waiting(Reason.WORKERS_BUSY, sentence, "workers are busy", Mover.NOBODY)
    return None


def _for_operator(reason: Reason, brief: str, move: Sentence) -> Waiting:
    sentence = f"{brief[0].upper()}{brief[1:]}."
    return Waiting(reason, sentence, brief, Mover.OPERATOR, move=move)


def _takeover(job: Job, around: Around, now: Instant) -> Waiting:
    """Return what a job waits for whose worker is gone: another one, if there is any."""
    ended = span(now - (job.lease_until or now))
    missing = _without_worker(route_of(job), around, now)
    if missing is not None and missing.whose is Mover.OPERATOR:
        return missing._replace(
            sentence=f"Its lease ended {ended} ago. {missing.sentence}",
            brief=f"its lease ended {ended} ago, {missing.brief}",
        )
    return Waiting(
        Reason.TAKEOVER,
        f"Its lease ended {ended} ago; a running worker takes it over.",
        f"its lease ended {ended} ago, and a running worker takes it over",
        Mover.NOBODY,
    )


def _answer(job: Job, now: Instant) -> Waiting:
    if job.run_at >= FAR_FUTURE:
        until, left, brief = None, "for as long as it takes", "for an answer"
    else:
        until = job.run_at
        left = f"for another {span(until - now)}" if until > now else "and its time is up"
        brief = f"for an answer, {span(until - now)} left" if until > now else "its time is up"
    sentence = f"Stage {job.stage} waits for an answer from outside, {left}."
    return Waiting(Reason.ANSWER, sentence, brief, Mover.UPSTREAM, until)


def _deliveries(job: Job, deliveries: Sequence[Delivery], now: Instant) -> Waiting | None:
    """Return what a stage waits for whose messages are on their way; None where there are none."""
    own = [each for each in deliveries if each.stage == job.stage]
    waited_for = [each for each in own if each.required and each.state in _ON_THEIR_WAY]
    if not waited_for:
        return None
    first = min(waited_for, key=lambda each: each.run_at)
    providers = ", ".join(sorted({each.provider for each in waited_for}))
    count = number(len(waited_for), "delivery", "deliveries")
    due = f", due in {span(first.run_at - now)}" if first.run_at > now else ""
    last = f" The last try failed with {first.error_class}." if first.error_class else ""
    return Waiting(
        Reason.DELIVERIES,
        f"Stage {job.stage} waits for {count} by {providers}{due}.{last}",
        f"for {count} by {providers}{due}",
        Mover.UPSTREAM if first.error_class else Mover.NOBODY,
        first.run_at if first.run_at > now else None,
        Sentence("To look at them", f"holdfast deliveries list --job {job.id}"),
    )
