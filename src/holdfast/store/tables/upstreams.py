"""Upstreams as the whole fleet sees them: one row each, guarded by its revision."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from holdfast.core.upstream.rate import Bucket
from holdfast.core.upstream.upstream import UpstreamState
from holdfast.core.values.instant import Instant
from holdfast.store.statements.sql import Sql, Steps
from holdfast.store.tables.audit import AuditEntry, record


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

        Returns it with its new revision, or None when another was first.
        """
        values = {
            "name": upstream.name,
            "revision": upstream.revision,
            "body": _text(upstream.to_document()),
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

    def bucket(self, name: str) -> Bucket:
        """Return how much of its rate an upstream has left; one that was never called has all."""
        rows = self._sql.rows("bucket", {"name": name})
        return _bucket_from_row(rows[0]) if rows else Bucket(name)

    def buckets(self) -> dict[str, Bucket]:
        """Return the upstreams with a rate that were called, by name."""
        found = [_bucket_from_row(row) for row in self._sql.rows("buckets", {})]
        return {bucket.name: bucket for bucket in found}

    def save_bucket(self, bucket: Bucket, *, now: Instant) -> Bucket | None:
        """Write how much is left of a rate, as decided from its `revision`.

        Returns it with its new revision, or None when another was first.
        """
        values = {
            "name": bucket.name,
            "revision": bucket.revision,
            "bucket": _text(bucket.to_document()),
        }
        new = {"body": _text(UpstreamState(bucket.name).to_document()), "updated_at": now}

        def write(steps: Steps) -> bool:
            if steps.count("bucket_update", values) == 1:
                return True
            if bucket.revision:
                return False
            inserted = {key: values[key] for key in ("name", "bucket")}
            return steps.count("bucket_insert", {**inserted, **new}) == 1

        written = self._sql.transact(write)
        return bucket._replace(revision=bucket.revision + 1) if written else None


def _from_row(row: tuple[Any, ...]) -> UpstreamState:
    name, revision, body = row
    return UpstreamState.from_document(name, revision, json.loads(body))


def _bucket_from_row(row: tuple[Any, ...]) -> Bucket:
    name, revision, body = row
    return Bucket.from_document(name, revision, json.loads(body))


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"))
