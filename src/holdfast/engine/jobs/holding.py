"""When an upstream held a job, and when the job went on: worked out from what is stored.

A breaker that moves writes one entry of the audit log, however many jobs it holds. Which of them it
held is shown by their histories: jobs that were queued and due while the breaker was not closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from holdfast.core.job.job import Job, JobState
from holdfast.core.values.instant import FAR_FUTURE, Instant
from holdfast.runtime.events.presentation import QUEUED
from holdfast.store.tables.audit import AuditEntry
from holdfast.views.job import HistoryLine

HELD: Final = "held"
RELEASED: Final = "released"
_SHUTS: Final = frozenset({"opened", "half-opened", "forced open"})
_OPENS: Final = frozenset({"closed", "forced closed", "reset"})


class Span(NamedTuple):
    """A length of time, from one instant to another."""

    begin: Instant
    end: Instant


class Queued(NamedTuple):
    """A length of time in which a job was queued and due for a stage."""

    stage: str
    attempt: int
    span: Span
    began_held: bool
    """Whether the ledger has a line of its own that it was held then."""


def with_holds(
    job: Job,
    lines: Sequence[HistoryLine],
    shut_of: Callable[[str], tuple[str, Sequence[Span]] | None],
    *,
    now: Instant,
) -> list[HistoryLine]:
    """Return a history with the lines that say when the job was held, and when it went on.

    `shut_of` returns the upstream that a stage calls, and when it let nothing pass; None for a
    stage that is never held.
    """
    added: list[HistoryLine] = []
    for queued in queued_spans(job, lines, now=now):
        found = shut_of(queued.stage)
        if found is not None:
            added.extend(_held(queued, *found, now=now))
    return sorted([*lines, *added], key=_order) if added else list(lines)


def queued_spans(job: Job, lines: Sequence[HistoryLine], *, now: Instant) -> Iterator[Queued]:
    """Yield when a job was queued and due, with the stage that was to run."""
    for line, following in zip(lines, [*lines[1:], None], strict=True):
        if line.event != QUEUED and line.meta.get("state") != JobState.QUEUED:
            continue
        if following is None and job.state is not JobState.QUEUED:
            continue
        stage = job.stage if following is None else following.stage
        end = now if following is None else following.at
        due = job.run_at if following is None else Instant(line.at + line.meta.get("delay_us", 0))
        if due < end:
            held = line.event == HELD
            yield Queued(stage, line.attempt, Span(line.at if held else due, end), held)


def shut_spans(moves: Iterable[AuditEntry]) -> list[Span]:
    """Return when a breaker was not closed, by its moves in the audit log, newest first."""
    spans: list[Span] = []
    shut_at: Instant | None = None
    known = False
    for move in sorted(moves, key=lambda entry: entry.id or 0):
        if move.action in _SHUTS:
            shut_at = move.at if shut_at is None else shut_at
        elif move.action in _OPENS:
            # What shut it may be older than the part of the audit log that was read.
            begin = shut_at if shut_at is not None or known else Instant(0)
            if begin is not None:
                spans.append(Span(begin, move.at))
            shut_at = None
        known = True
    if shut_at is not None:
        spans.append(Span(shut_at, FAR_FUTURE))
    return spans


def _held(
    queued: Queued, upstream: str, shut: Sequence[Span], *, now: Instant
) -> Iterator[HistoryLine]:
    began_held = queued.began_held
    for span in shut:
        begin, end = max(span.begin, queued.span.begin), min(span.end, queued.span.end)
        if begin >= end:
            continue
        meta = {"state": JobState.QUEUED.value, "upstream": upstream}
        if not began_held:
            yield HistoryLine(begin, HELD, queued.stage, queued.attempt, meta)
        began_held = False
        if end < now:
            yield HistoryLine(end, RELEASED, queued.stage, queued.attempt, meta)


def _order(line: HistoryLine) -> tuple[Instant, bool]:
    """Sort by time; a job goes on before its attempt begins."""
    return line.at, line.event != RELEASED
