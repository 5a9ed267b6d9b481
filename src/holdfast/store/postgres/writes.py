"""Writes decisions: many in one statement, each fenced by the revision it was decided from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from holdfast.core.job.decision import Change, Decision, Entry, Kind
from holdfast.core.values.ids import JobId
from holdfast.store.dead_letter_writes import (
    burials,
    closings,
    concerns_letter,
    is_more_than_a_row,
    records,
    returns,
)
from holdfast.store.postgres.connection import Connection
from holdfast.store.postgres.rows import arrays, plain_array, text_array, text_column
from holdfast.store.postgres.statements import fetch, text
from holdfast.store.tables.outbox import any_publishes, messages_of

_PLAIN: Final = frozenset({Kind.COMPLETED, Kind.RETRIED})
"""What nearly all attempts end with; few columns change, and one statement writes them all."""

_ENTRY_COLUMNS: Final = [f"entry_{name}" for name in Entry._fields]


class Written(NamedTuple):
    """The ids whose revision still matched, and the rows of new messages."""

    applied: set[JobId]
    messages: Sequence[tuple[Any, ...]] = ()


def write(connection: Connection, decisions: Sequence[Decision]) -> Written:
    """Write decisions, and return what was written."""
    kinds = {item.entry.kind for item in decisions}
    plain, other = decisions, []
    if not kinds <= _PLAIN:
        plain = [item for item in decisions if item.entry.kind in _PLAIN]
        other = [item for item in decisions if item.entry.kind not in _PLAIN]
    applied: set[JobId] = set()
    if plain:
        wide = Kind.RETRIED in kinds or any(item.entry.http_status for item in plain)
        applied = _write_plain(connection, plain, wide=wide)
    if other:
        applied.update(_apply(connection, other))
        _move_letters(connection, [item for item in other if item.job_id in applied])
    if any_publishes(decisions):
        published = messages_of(item for item in decisions if item.job_id in applied)
        return Written(applied, fetch(connection, "outbox_insert", published))
    return Written(applied)


def write_unlocked(connection: Connection, decisions: Sequence[Decision]) -> Written:
    """Write those decisions whose rows nobody else has locked."""
    ids = plain_array(decision.job_id for decision in decisions)
    free = {row[0] for row in fetch(connection, "lock_free", {"ids": ids})}
    letters = [item.job_id for item in decisions if concerns_letter(item)]
    if letters:
        values = {"ids": plain_array(letters)}
        free.difference_update(row[0] for row in fetch(connection, "locked_letters", values))
    return write(connection, [item for item in decisions if item.job_id in free])


def is_atomic(decisions: Sequence[Decision]) -> bool:
    """Return whether writing the decisions takes more than one statement."""
    kinds = {decision.entry.kind for decision in decisions}
    if kinds <= _PLAIN:
        return any_publishes(decisions)
    return (
        not kinds.isdisjoint(_PLAIN)
        or any(is_more_than_a_row(decision) for decision in decisions)
        or any_publishes(decisions)
    )


def _move_letters(connection: Connection, applied: Sequence[Decision]) -> None:
    """Write the dead letters of jobs that ended for good or were sent back, and who asked."""
    for statement, rows in (
        ("bury", burials(applied)),
        ("unbury", returns(applied)),
        ("close_letter", closings(applied)),
    ):
        if rows:
            columns = {name: [row[name] for row in rows] for name in rows[0]}
            connection.execute(text(statement), arrays(columns))
    entries = records(applied)
    if entries:
        connection.cursor().executemany(text("audit_record"), entries)


def _write_plain(
    connection: Connection, decisions: Sequence[Decision], *, wide: bool
) -> set[JobId]:
    """Write completions and retries; `wide` where there is more to say than of a completion."""
    values = _plain_values(decisions)
    if wide:
        values.update(_retry_values(decisions))
    [(applied,)] = fetch(connection, "retry" if wide else "complete", values)
    # The ids are sent only when some are missing: to send and read them takes as long as the rest.
    return {decision.job_id for decision in decisions} if applied is None else set(applied)


def _retry_values(decisions: Sequence[Decision]) -> dict[str, str]:
    entries = [decision.entry for decision in decisions]
    return {
        "kind": text_array(entry.kind for entry in entries),
        "attempts": plain_array(decision.change.attempt for decision in decisions),
        "run_at": plain_array(decision.change.run_at for decision in decisions),
        "error_class": text_array(entry.error_class for entry in entries),
        "http_status": plain_array(entry.http_status for entry in entries),
        "detail": text_array(entry.detail for entry in entries),
    }


def _plain_values(decisions: Sequence[Decision]) -> dict[str, str]:
    entries = [decision.entry for decision in decisions]
    return {
        "job_id": plain_array([decision.job_id for decision in decisions]),
        "expected": plain_array([decision.expected for decision in decisions]),
        "result": text_column([decision.change.result for decision in decisions]),
        "at": plain_array([entry.at for entry in entries]),
        "stage": text_column([entry.stage for entry in entries]),
        "attempt": plain_array([entry.attempt for entry in entries]),
        "holder": text_column([entry.holder for entry in entries]),
        "started_at": plain_array([entry.started_at for entry in entries]),
    }


def _apply(connection: Connection, decisions: Sequence[Decision]) -> list[JobId]:
    changes = zip(*(decision.change for decision in decisions), strict=True)
    entries = zip(*(decision.entry for decision in decisions), strict=True)
    columns: dict[str, Sequence[Any]] = {
        "job_id": [decision.job_id for decision in decisions],
        "expected": [decision.expected for decision in decisions],
        **dict(zip(Change._fields, changes, strict=True)),
        **dict(zip(_ENTRY_COLUMNS, entries, strict=True)),
        "checkpoint": [decision.checkpoint for decision in decisions],
    }
    return [row[0] for row in fetch(connection, "apply", arrays(columns))]
