"""What workers are to do by a request from outside: end, once what they run is done."""

from __future__ import annotations

from holdfast.store.statements.sql import Sql
from holdfast.store.tables.audit import AuditEntry, done_and_recorded


class DrainRows:
    """Tells workers to end, and tells them so when they ask."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def ask(self, worker_id: str, *, audit: AuditEntry) -> bool:
        """Tell a worker to end, and write down who did; False where that changes nothing.

        That is: it has ended, is to end already, or is not on record.
        """
        values = {"id": worker_id, "at": audit.at, "by": audit.done_by}
        return done_and_recorded(self._sql, "drain_ask", values, audit)

    def asked(self, worker_id: str) -> bool:
        """Return whether a worker is to end."""
        return bool(self._sql.rows("drain_asked", {"id": worker_id}))
