"""Who did what to what, when and why: the record of operators' actions and of breakers' moves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from holdfast.core.values.instant import Instant
from holdfast.store.statements.sql import Sql, Steps

ENGINE: Final = "holdfast"
"""Who acted when no person did."""
PAGE: Final = 100


class AuditEntry(NamedTuple):
    """One action; a person's name in `done_by`, or `holdfast` where the engine acted by itself."""

    at: Instant
    done_by: str
    action: str
    subject_kind: str
    subject: str
    reason: str | None = None
    detail: Mapping[str, Any] | None = None
    id: int | None = None
    """Its place in the audit log, of an entry that was read: later ones have higher ids."""


def record(steps: Steps, entry: AuditEntry) -> None:
    """Write an entry as a step of the transaction that does what it says."""
    steps.count("audit_record", values_of(entry))


def values_of(entry: AuditEntry) -> dict[str, Any]:
    """Return what `audit_record` takes."""
    detail = None if entry.detail is None else json.dumps(entry.detail, ensure_ascii=False)
    values = {**entry._asdict(), "detail": detail}
    del values["id"]
    return values


def done_and_recorded(
    sql: Sql, statement: str, values: Mapping[str, Any], entry: AuditEntry | None
) -> bool:
    """Run a statement and, where it changes its one row, write the entry: both or neither.

    False when it changed nothing.
    """

    def write(steps: Steps) -> bool:
        if steps.count(statement, values) != 1:
            return False
        if entry is not None:
            record(steps, entry)
        return True

    return sql.transact(write)


class AuditRows:
    """Reads the record; nothing ever changes it."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def latest(
        self,
        *,
        subject_kind: str | None = None,
        subject: str | None = None,
        before: int | None = None,
        limit: int = PAGE,
    ) -> list[AuditEntry]:
        """Return the latest entries, newest first, of one kind or of one subject.

        With `before` those below that id.
        """
        values = {
            "subject_kind": subject_kind,
            "subject": subject,
            "before": before,
            "limit": limit,
        }
        return [
            AuditEntry._make((*facts, None if detail is None else json.loads(detail), entry_id))
            for *facts, detail, entry_id in self._sql.rows("audit_latest", values)
        ]

    def add(self, entry: AuditEntry, *, connection: object = None) -> None:
        """Write an entry; with `connection` as part of the caller's own transaction."""
        self._sql.transact(lambda steps: record(steps, entry), connection=connection)
