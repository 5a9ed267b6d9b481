"""Work that stands still: due jobs, paused queues, shut upstreams, silent workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from holdfast.core.job.plan import Route
from holdfast.core.upstream.upstream import Gate
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.engine.attention.entry import (
    Action,
    Attention,
    Kind,
    Urgency,
    are,
    in_url,
    jobs_of,
    number_of,
)
from holdfast.engine.attention.read import Read
from holdfast.store.contract import Leases, WorkerRow
from holdfast.views.durations import span
from holdfast.views.explain.advice import Mover
from holdfast.views.explain.waiting import Reason, Waiting, obstacle
from holdfast.views.upstream import UpstreamView
from holdfast.views.worker import queues_of, serves, standing

BEHIND_US: Final = 600 * SECOND_US
"""Jobs that are due for longer than this are late, also those that workers serve."""
LONG_PAUSE_US: Final = 60 * SECOND_US
"""A pause that an upstream asked for is looked at where jobs are due for longer than this."""
_NAMED: Final = 3


def due_jobs(read: Read) -> Iterator[Attention]:
    """Yield due jobs that no worker can take, and those that wait for too long."""
    behind: dict[str, tuple[int, Instant, str]] = {}
    for route, due, since, upstream in read.due:
        why = obstacle(route, read.around, upstream=upstream, now=read.now)
        reason = None if why is None else why.reason
        if why is not None and reason in (Reason.NO_WORKER, Reason.NO_HANDLER):
            yield _neglected(route, due, since, why.sentence, no_worker=reason is Reason.NO_WORKER)
        elif _is_behind(why) and read.now - since > BEHIND_US:
            says = "Workers that may take them have room." if why is None else why.sentence
            count, first, said = behind.get(route.queue, (0, since, says))
            behind[route.queue] = (count + due, min(first, since), said)
    for queue, (count, since, says) in behind.items():
        late = span(read.now - since)
        yield Attention(
            kind=Kind.QUEUE_BEHIND,
            urgency=Urgency.WARNING,
            subject=queue,
            sentence=f"{jobs_of(count)} of queue {queue} {are(count)} due, "
            f"the first for {late}. {says}",
            whose=Mover.OPERATOR,
            advice="If that lasts, start more workers or give them more places; if they have room, "
            "look at their logs. Where a rate holds them back, have it raised.",
            action=Action("Look at the queue", "/queues", "holdfast queues list"),
            page="/queues",
            count=count,
            since=since,
        )


def _is_behind(why: Waiting | None) -> bool:
    """Return whether jobs go on, and only too slowly: nobody has to act for the first of them."""
    if why is None or why.reason is Reason.WORKERS_BUSY:
        return True
    return why.reason is Reason.RATE and why.whose is Mover.NOBODY


def _neglected(
    route: Route, due: int, since: Instant, sentence: str, *, no_worker: bool
) -> Attention:
    kind = Kind.NO_WORKER if no_worker else Kind.NO_HANDLER
    advice = (
        "Start a worker that serves it."
        if no_worker
        else "Start a worker with the code that has that stage: was an older version deployed?"
    )
    return Attention(
        kind=kind,
        urgency=Urgency.CRITICAL,
        subject=f"{route.queue}/{route.pipeline}/{route.stage}",
        sentence=f"{jobs_of(due)} of pipeline {route.pipeline}, stage {route.stage}, "
        f"queue {route.queue}, {are(due)} due, and nobody runs {'it' if due == 1 else 'them'}. "
        f"{sentence}",
        whose=Mover.OPERATOR,
        advice=advice,
        action=Action(
            "Look at workers",
            "/workers",
            f"holdfast -A module:app worker --queues {route.queue}",
        ),
        page=f"/jobs?state=queued&queue={in_url(route.queue)}",
        count=due,
        since=since,
    )


def breakers(read: Read) -> Iterator[Attention]:
    """Yield upstreams that let nothing pass."""
    held: dict[str, tuple[int, Instant]] = {}
    for _, due, since, upstream in read.due:
        if upstream is not None:
            count, first = held.get(upstream, (0, since))
            held[upstream] = (count + due, min(first, since))
    for name, view in sorted(read.around.upstreams.items()):
        due, first = held.get(name, (0, read.now))
        paused = view.paused_until is not None and view.gate is Gate.CLOSED
        # An upstream that asked for a pause gets it; a person is needed where it lasts.
        if view.gate is not Gate.CLOSED or (paused and read.now - first > LONG_PAUSE_US):
            yield _shut(view, due, read.now)


def _shut(view: UpstreamView, due: int, now: Instant) -> Attention:
    state, path = view.state, f"/upstreams/{in_url(view.name)}"
    waits = f" {jobs_of(due)} {'waits' if due == 1 else 'wait'} for it." if due else ""
    whose, look = Mover.UPSTREAM, Action("Look at it", path, f"holdfast upstreams show {view.name}")
    if state.forced is Gate.OPEN:
        why = f": {state.forced_reason}" if state.forced_reason else ""
        said = f"The breaker of {view.name} is held open by {state.forced_by}{why}."
        whose, advice = Mover.OPERATOR, "Reset it once calls may go through again."
        command = f"holdfast upstreams reset {view.name}"
        look = Action("Reset…", f"{path}/reset", command, asks=True)
    elif view.gate is Gate.CLOSED:
        left = span((view.paused_until or now) - now)
        said = f"{view.name} asked to be left alone for another {left}."
        advice = "Nothing is lost. If that lasts, raise its limit, or send it less."
    elif view.gate is Gate.HALF_OPEN:
        said = f"The breaker of {view.name} is half open: trial calls decide."
        advice = "Wait for the trials; look at it if they fail again."
    else:
        again = "" if view.until is None else f", tried again in {span(max(view.until - now, 0))}"
        why = (view.reason or "too many of its calls failed").rstrip(".")
        said = f"The breaker of {view.name} is open{again}: {why}{_last_failure(view)}."
        advice = "See whether it is down, and tell those who run it; jobs go on by themselves."
    return Attention(
        kind=Kind.BREAKER_OPEN,
        urgency=Urgency.WARNING,
        subject=view.name,
        sentence=f"{said}{waits}",
        whose=whose,
        advice=advice,
        action=look,
        page=path,
        count=due,
        since=view.since,
    )


def _last_failure(view: UpstreamView) -> str:
    """Return the last of the failures that opened a breaker, after a comma."""
    if not view.state.failures:
        return ""
    last = view.state.failures[-1]
    return f", the last with {last.error_class}: {last.message.rstrip('.')}"


def pauses(read: Read) -> Iterator[Attention]:
    """Yield paused queues in which jobs are due."""
    waiting = Counter[str]()
    for route, due, *_ in read.due:
        waiting[route.queue] += due
    for name, paused in sorted(read.around.paused.items()):
        count = waiting[name]
        if not count:
            continue
        why = f": {paused.reason}" if paused.reason else ""
        ago = span(read.now - paused.paused_at)
        yield Attention(
            kind=Kind.QUEUE_PAUSED,
            urgency=Urgency.WARNING,
            subject=name,
            sentence=f"Queue {name} is paused with {jobs_of(count)} due: by {paused.paused_by}, "
            f"{ago} ago{why.rstrip('.')}.",
            whose=Mover.OPERATOR,
            advice="Resume it once its reason is gone.",
            action=Action(
                "Resume…",
                f"/queues/{in_url(name)}/resume",
                f"holdfast queues resume {name}",
                asks=True,
            ),
            page=f"/jobs?state=queued&queue={in_url(name)}",
            count=count,
            since=paused.paused_at,
        )


def workers(read: Read) -> Iterator[Attention]:
    """Yield the workers that ended without a word."""
    silent = [row for row in read.around.workers if _is_missed(row, read)]
    if not silent:
        return
    names = ", ".join(row.id for row in silent[:_NAMED])
    more = f" and {len(silent) - _NAMED} more" if len(silent) > _NAMED else ""
    leases = [read.around.leases.get(row.id, Leases(0)) for row in silent]
    left = sum(each.held + each.ended for each in leases)
    verb = "was" if left == 1 else "were"
    whom = "it" if len(silent) == 1 else "them"
    leased = f" {jobs_of(left)} {verb} leased by {whom}." if left else ""
    alone = [queue for queue in _left_alone(silent, read) if left]
    if alone:
        leased += f" No live worker serves {', '.join(alone)}: nobody takes over."
    yield Attention(
        kind=Kind.WORKER_SILENT,
        urgency=Urgency.CRITICAL if alone else Urgency.WARNING,
        subject=silent[0].id,
        sentence=f"{number_of(len(silent), 'worker')} ended without a word: {names}{more}.{leased}",
        whose=Mover.OPERATOR,
        advice=f"Start a worker that serves {', '.join(alone)}, "
        "and see in the log why this one ended."
        if alone
        else "See in its log why, and start another; a running worker takes its jobs over when "
        "their leases have ended.",
        action=Action("Look at workers", "/workers", "holdfast workers list"),
        page="/workers",
        count=len(silent),
        since=max(row.seen_at for row in silent),
    )


def _left_alone(silent: Sequence[WorkerRow], read: Read) -> list[str]:
    """Return the queues of these workers that no live one serves."""
    served = {queue for row in silent for queue in queues_of(row)}
    workers = read.around.workers
    return sorted(
        queue for queue in served if not any(serves(each, queue, read.now) for each in workers)
    )


def _is_missed(row: WorkerRow, read: Read) -> bool:
    """Return whether a worker ended without a word, and neither left nothing nor was replaced."""
    if standing(row, read.now) != "silent":
        return False
    leases = read.around.leases.get(row.id)
    if leases is not None and any(leases):
        return True
    return not all(
        any(
            serves(other, queue, read.now) and other.started_at >= row.seen_at
            for other in read.around.workers
        )
        for queue in queues_of(row)
    )
