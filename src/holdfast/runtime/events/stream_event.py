"""Events as those who look on hear of them: every transition of a job, moves of breakers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from holdfast.core.job.job import JobState
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.runtime.events.presentation import (
    NAMES,
    PROCESSING,
    QUEUED,
    Presentation,
    PresentationOf,
    meta_of,
    plain,
    whole_meta,
)
from holdfast.store.contract import LedgerEntry
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.tail import Begun, NewlySeen, Whose

BREAKER: Final = "breaker"
QUEUE: Final = "queue"
_OF_SUBJECT: Final = {"upstream": BREAKER, "queue": QUEUE}
_AT_FIRST: Final = 1
"""The revision of a job whose first attempt has begun: until then its stage is the first."""


class StreamEvent(NamedTuple):
    """Something that happened; who goes on from its `cursor` loses nothing after it."""

    cursor: str
    name: str
    at: Instant
    job_id: JobId | None
    owner: str | None
    """Whose job it is about; None of what concerns everybody's."""
    data: dict[str, Any]
    rank: float = 0.0
    """Where it stands among the events of its job."""

    begins: bool = False
    """Whether it is the beginning of an attempt."""

    @classmethod
    def of_begun(cls, begun: Begun, shown: Presentation) -> StreamEvent:
        """Return that an attempt, which is under way, has begun."""
        facts = _facts(begun.stage, begun.attempt, JobState.PROCESSING, {"worker": begun.holder})
        job = (begun.job_id, begun.whose)
        return _beginning(begun.at, job, facts, begun.revision + 0.25, shown)


def job_events(
    jobs: Iterable[NewlySeen],
    lines: Sequence[LedgerEntry],
    whose: Mapping[JobId, Whose],
    *,
    begun_since: Instant | None = None,
    shown_as: PresentationOf = plain,
) -> list[StreamEvent]:
    """Return what new jobs and entries tell: also that attempts began which ended meanwhile.

    Of attempts that began before `begun_since` that was sent while they were under way.
    """
    first_stages = {
        line.job_id: line.entry.stage for line in lines if line.revision <= _AT_FIRST + 1
    }
    events: list[StreamEvent] = []
    for job in jobs:
        stage = job.stage if job.revision <= _AT_FIRST else first_stages.get(job.job_id)
        facts = _facts(stage, 0, JobState.QUEUED, {})
        name = shown_as(job.whose.pipeline).words.get(QUEUED, QUEUED)
        events.append(_event(name, job.created_at, (job.job_id, job.whose), facts, -1))
    for line in lines:
        belongs = whose.get(line.job_id)
        if belongs is not None:  # else removed since, with all there was of it
            events += _of_line(line, belongs, begun_since, shown_as(belongs.pipeline))
    return events


def _of_line(
    line: LedgerEntry, whose: Whose, begun_since: Instant | None, shown: Presentation
) -> Iterator[StreamEvent]:
    entry, job, rank = line.entry, (line.job_id, whose), float(line.revision)
    started_at = None if entry.holder is None else entry.started_at
    if started_at is not None and begun_since is not None and started_at >= begun_since:
        worker = {"worker": entry.holder}
        facts = _facts(entry.stage, entry.attempt, JobState.PROCESSING, worker)
        yield _beginning(started_at, job, facts, rank - 0.5, shown)
    facts = _facts(entry.stage, entry.attempt, line.state, meta_of(entry, shown))
    name = shown.words.get(entry.kind, NAMES[entry.kind])
    yield _event(name, entry.at, job, facts, rank)


def event_of_action(action: AuditEntry) -> StreamEvent | None:
    """Return how a breaker or a queue was moved, or None of what moves neither."""
    name = _OF_SUBJECT.get(action.subject_kind)
    if name is None:
        return None
    data = {
        action.subject_kind: action.subject,
        "action": action.action,
        "by": action.done_by,
        "reason": action.reason,
        "at": to_rfc3339(action.at),
        "meta": dict(action.detail or {}),
    }
    return StreamEvent("", name, action.at, None, None, data)


def in_order(events: Iterable[StreamEvent]) -> list[StreamEvent]:
    """Return events by time, those of one job always as one followed from the other."""
    latest: dict[JobId | None, Instant] = {}
    placed: list[tuple[Instant, float, StreamEvent]] = []
    for event in sorted(events, key=lambda event: event.rank):
        at = event.at
        if event.job_id is not None:
            # Workers' clocks differ a little; what follows is not earlier than what it follows.
            at = latest[event.job_id] = max(at, latest.get(event.job_id, at))
        placed.append((at, event.rank, event))
    placed.sort(key=lambda item: item[:2])
    return [event for _, _, event in placed]


def _event(
    name: str, at: Instant, job: tuple[JobId, Whose], facts: dict[str, Any], rank: float
) -> StreamEvent:
    job_id, whose = job
    data = {"job_id": job_id, **whose._asdict(), **facts, "at": to_rfc3339(at)}
    return StreamEvent("", name, at, job_id, whose.owner, data, rank=rank)


def _beginning(
    at: Instant,
    job: tuple[JobId, Whose],
    facts: dict[str, Any],
    rank: float,
    shown: Presentation,
) -> StreamEvent:
    name = shown.words.get(PROCESSING, PROCESSING)
    return _event(name, at, job, facts, rank)._replace(begins=True)


def _facts(
    stage: str | None, attempt: int, state: JobState, meta: dict[str, Any]
) -> dict[str, Any]:
    whole = whole_meta(attempt, meta)
    return {"state": state.value, "stage": stage, "attempt": attempt, "meta": whole}
