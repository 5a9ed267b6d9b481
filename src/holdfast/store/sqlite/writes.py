"""What the store does inside its write transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from holdfast.core.job.decision import Decision, Kind
from holdfast.core.job.job import MAX_URGENT, priorities_from
from holdfast.core.job.plan import Route
from holdfast.core.values.ids import JobId
from holdfast.errors import UnknownJob
from holdfast.store.contract import ExistingJob, NewJob
from holdfast.store.dead_letter_writes import (
    burials,
    closings,
    is_more_than_a_row,
    records,
    returns,
)
from holdfast.store.rows import twin_from_row
from holdfast.store.sqlite.rows import (
    apply_values,
    checkpoint_values,
    complete_values,
    ledger_values,
    retry_values,
)
from holdfast.store.sqlite.statements import SQL
from holdfast.store.tables.outbox import any_publishes, messages_of

_COMPLETE: Final = SQL["complete"]
_RETRY: Final = SQL["retry"]
_APPLY: Final = SQL["apply"]
_ANY_VERSION: Final = 0
"""Whatever version of a key is kept, a plain submission makes no job of it."""


def lanes(
    cursor: sqlite3.Cursor, routes: Sequence[Route], *, first: int = MAX_URGENT
) -> list[dict[str, Any]]:
    """Return where to look for due jobs, in order: one index range each."""
    paused = {row[0] for row in cursor.execute(SQL["paused"])}
    return [
        {**route._asdict(), "priority": priority}
        for priority in priorities_from(first)
        for route in routes
        if route.queue not in paused
    ]


def claim(
    cursor: sqlite3.Cursor,
    routes: Sequence[Route],
    *,
    limit: int,
    first: int,
    terms: dict[str, Any],
) -> list[tuple[Any, ...]]:
    """Lease due jobs on these terms, lane by lane, and return their rows."""
    rows: list[tuple[Any, ...]] = []
    for lane in lanes(cursor, routes, first=first):
        if len(rows) >= limit:
            break
        cursor.execute(SQL["claim"], {**terms, **lane, "limit": limit - len(rows)})
        rows += cursor.fetchall()
    return rows


def insert(cursor: sqlite3.Cursor, jobs: Sequence[NewJob]) -> list[ExistingJob | None]:
    """Store what is new; per job None, or the twin that already holds its key."""
    cursor.executemany(SQL["insert_one"], [(*job, _ANY_VERSION) for job in jobs])
    if cursor.rowcount == len(jobs):
        return [None] * len(jobs)
    return [_twin_of(cursor, job) for job in jobs]


def _twin_of(cursor: sqlite3.Cursor, job: NewJob) -> ExistingJob | None:
    if cursor.execute(SQL["present"], (job.id,)).fetchone() is not None:
        return None
    row = cursor.execute(SQL["twin"], (job.owner, job.pipeline, job.key)).fetchone()
    return twin_from_row(row)


def insert_rerun(cursor: sqlite3.Cursor, job: NewJob) -> ExistingJob | None:
    """Store a rerun unless one with its version or a higher is there, or was."""
    if job.rerun_of is None:
        return _insert_anew(cursor, job)
    family = cursor.execute(SQL["reruns"], {"first": job.rerun_of}).fetchall()
    if not family:
        raise UnknownJob(str(job.rerun_of))
    twins = [twin_from_row(row) for row in family]
    if any(twin.job_id == job.id for twin in twins):
        return None
    if job.version <= twins[-1].version:
        return twins[-1]
    return insert(cursor, [job])[0]


def _insert_anew(cursor: sqlite3.Cursor, job: NewJob) -> ExistingJob | None:
    """Store the first job of a key of which nothing but the key is left."""
    if cursor.execute(SQL["insert_one"], (*job, job.version)).rowcount == 1:
        return None
    if cursor.execute(SQL["present"], (job.id,)).fetchone() is not None:
        return None
    values = {"owner": job.owner, "pipeline": job.pipeline, "key": job.key}
    return twin_from_row(cursor.execute(SQL["twins"], values).fetchall()[-1])


def apply(cursor: sqlite3.Cursor, decisions: Sequence[Decision]) -> set[JobId]:
    """Write what still fits its row, then the history and checkpoints of just that."""
    applied = [
        decision for decision in decisions if cursor.execute(*_change(decision)).rowcount == 1
    ]
    cursor.executemany(SQL["apply_ledger"], [ledger_values(decision) for decision in applied])
    cursor.executemany(
        SQL["apply_checkpoint"],
        [checkpoint_values(decision) for decision in applied if decision.checkpoint is not None],
    )
    _move_letters(cursor, [decision for decision in applied if is_more_than_a_row(decision)])
    if any_publishes(applied):
        cursor.execute(SQL["outbox_insert"], messages_of(applied)).fetchall()
    return {decision.job_id for decision in applied}


def _change(decision: Decision) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that changes the job's row, and what it binds."""
    kind = decision.entry.kind
    if kind is Kind.COMPLETED:
        return _COMPLETE, complete_values(decision)
    if kind is Kind.RETRIED:
        return _RETRY, retry_values(decision)
    return _APPLY, apply_values(decision)


def _move_letters(cursor: sqlite3.Cursor, applied: Sequence[Decision]) -> None:
    """Write the dead letters of jobs that ended for good or were sent back, and who asked."""
    if not applied:
        return
    cursor.executemany(SQL["bury"], burials(applied))
    cursor.executemany(SQL["unbury"], returns(applied))
    cursor.executemany(SQL["close_letter"], closings(applied))
    cursor.executemany(SQL["audit_record"], records(applied))
