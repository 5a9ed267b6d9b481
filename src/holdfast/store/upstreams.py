"""Upstreams as the whole fleet sees them: one row each, guarded by its revision."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from holdfast.core.instant import Instant
from holdfast.core.upstream import UpstreamState
from holdfast.store.audit import AuditEntry, record
from holdfast.store.sql import Sql, Steps


class UpstreamRows:
    """Reads and writes upstreams."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def all(self) -> list[UpstreamState]:
        """Return every upstream that anything is known about, by name."""
        return [_from_row(row) for row in self._sql.rows("upstreams", {})]

    def get(self, name: str) -> UpstreamState:
        """Return an upstream; one that nothing is known about is as new."""
        rows = self._sql.rows("upstream", {"name": name})
        return _from_row(rows[0]) if rows else UpstreamState(name)

    def callers(self) -> dict[tuple[str, str], str]:
        """Return the upstreams that stages of stored plans call, by pipeline and stage."""
        plans = [json.loads(body) for (body,) in self._sql.rows("plan_bodies", {})]
        return {
            (plan["pipeline"], stage["name"]): stage["upstream"]
            for plan in plans
            for stage in plan["stages"]
            if stage.get("upstream") is not None
        }

    def called(self) -> set[str]:
        """Return the names of the upstreams that stages of stored plans call."""
        return set(self.callers().values())

    def save(
        self, upstream: UpstreamState, *, now: Instant, audit: Sequence[AuditEntry] = ()
    ) -> UpstreamState | None:
        """Write an upstream as decided from its `revision`, with what the record should say.

        Returns it with its new revision, or None when somebody else was first.
        """
        body = json.dumps(upstream.to_document(), separators=(",", ":"))
        values = {
            "name": upstream.name,
            "revision": upstream.revision,
            "body": body,
            "updated_at": now,
        }

        def write(steps: Steps) -> bool:
            statement = "upstream_update" if upstream.revision else "upstream_insert"
            if steps.count(statement, values) != 1:
                return False
            for entry in audit:
                record(steps, entry)
            return True

        written = self._sql.transact(write)
        return upstream._replace(revision=upstream.revision + 1) if written else None


def _from_row(row: tuple[Any, ...]) -> UpstreamState:
    name, revision, body = row
    return UpstreamState.from_document(name, revision, json.loads(body))
