"""What both stores have in common: the parts, and what is the same statement on either."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, Final

from holdfast.core.job.job import Job, PlanDigest, WorkerId
from holdfast.core.job.plan import Plan, Route
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import Instant
from holdfast.store.contract import (
    Leases,
    LedgerEntry,
    PausedQueue,
    Position,
    QueueCounts,
    WorkerRow,
)
from holdfast.store.credentials.secrets import SecretRows
from holdfast.store.credentials.sessions import SessionRows
from holdfast.store.credentials.tokens import TokenRows
from holdfast.store.rows import job_from_row, ledger_entry_from_row
from holdfast.store.schema.system_tables import SystemTables
from holdfast.store.statements.sql import Sql
from holdfast.store.tables.activity import ActivityCounts
from holdfast.store.tables.audit import AuditEntry, AuditRows, done_and_recorded
from holdfast.store.tables.dead_letters import LetterRows
from holdfast.store.tables.deliveries import DeliveryRows
from holdfast.store.tables.drains import DrainRows
from holdfast.store.tables.due import DueRows
from holdfast.store.tables.erasure import ErasureRows
from holdfast.store.tables.inbox import InboxRows
from holdfast.store.tables.outbox import MessagesAdded, OutboxRows
from holdfast.store.tables.replays import ReplayRows
from holdfast.store.tables.retention import RetentionRows
from holdfast.store.tables.tail import TailRows
from holdfast.store.tables.upstreams import UpstreamRows

_BEFORE_ALL: Final = Position(Instant(-1), JobId("00000000-0000-0000-0000-000000000000"))


class Parts(ABC):
    """What both stores are made of, on statements of their own dialect."""

    tables: tuple[SystemTables, ...] = ()

    def _make_parts(self, sql: Sql, *, messages_added: MessagesAdded) -> None:
        """Make them; `messages_added` wakes relays."""
        self._sql = sql
        self.upstreams = UpstreamRows(sql)
        self.audit = AuditRows(sql)
        self.secrets = SecretRows(sql)
        self.retention = RetentionRows(sql)
        self.erasure = ErasureRows(sql)
        self.letters = LetterRows(sql, messages_added=messages_added)
        self.replays = ReplayRows(sql)
        self.outbox = OutboxRows(sql, messages_added=messages_added)
        self.inbox = InboxRows(sql)
        self.deliveries = DeliveryRows(sql)
        self.due = DueRows(sql)
        self.tail = TailRows(sql)
        self.tokens = TokenRows(sql)
        self.sessions = SessionRows(sql)
        self.activity = ActivityCounts(sql)
        self.drains = DrainRows(sql)

    @abstractmethod
    def announce_due(self) -> None:
        """Wake the workers that listen."""

    def held_by(self, holder: WorkerId) -> list[Job]:
        """Return the jobs leased to `holder`."""
        return self._jobs("held_by", {"holder": holder})

    def expired(self, *, now: Instant, after: Position | None, limit: int) -> list[Job]:
        """Return processing jobs whose lease ended before `now`, by lease end and id."""
        return self._sweep("expired", now=now, after=after, limit=limit)

    def overdue(self, *, now: Instant, after: Position | None, limit: int) -> list[Job]:
        """Return active jobs whose deadline lies before `now`, by deadline and id."""
        return self._sweep("overdue", now=now, after=after, limit=limit)

    def unanswered(self, *, now: Instant, after: Position | None, limit: int) -> list[Job]:
        """Return waiting jobs whose wait is over at `now`, by end of the wait and id."""
        return self._sweep("unanswered", now=now, after=after, limit=limit)

    def _sweep(
        self, statement: str, *, now: Instant, after: Position | None, limit: int
    ) -> list[Job]:
        instant, job_id = after or _BEFORE_ALL
        return self._jobs(
            statement,
            {"now": now, "after_instant": instant, "after_id": job_id, "limit": limit},
        )

    def ledger(self, job_id: JobId) -> list[LedgerEntry]:
        """Return a job's history, oldest first."""
        rows = self._sql.rows("ledger", {"job_id": job_id})
        return [ledger_entry_from_row(job_id, row) for row in rows]

    def sent_back_at(self, job_ids: Collection[JobId]) -> dict[JobId, Instant]:
        """Return when each of these jobs was last sent back after it had failed, if it was."""
        return dict(self._sql.rows("sent_back", {"ids": json.dumps(list(job_ids))}))

    def save_plan(self, plan: Plan, *, now: Instant, connection: object = None) -> None:
        """Store a plan; one that is there already stays as it is."""
        values = {
            "pipeline": plan.pipeline,
            "digest": plan.digest,
            "body": json.dumps(plan.to_document(), separators=(",", ":")),
            "created_at": now,
        }
        if connection is None:
            self._sql.count("save_plan", values)
            return
        self._sql.transact(lambda steps: steps.count("save_plan", values), connection=connection)

    def load_plan(self, pipeline: str, digest: PlanDigest) -> Plan | None:
        """Return a stored plan."""
        rows = self._sql.rows("load_plan", {"pipeline": pipeline, "digest": digest})
        return Plan.from_document(json.loads(rows[0][0])) if rows else None

    def newest_plan(self, pipeline: str) -> Plan | None:
        """Return the plan of a pipeline that was asked for last."""
        rows = self._sql.rows("newest_plan", {"pipeline": pipeline})
        return Plan.from_document(json.loads(rows[0][0])) if rows else None

    def pause_queue(
        self,
        queue: str,
        *,
        by: str,
        now: Instant,
        reason: str | None = None,
        audit: AuditEntry | None = None,
    ) -> bool:
        """Stop claims from a queue; False when it was paused already."""
        values = {"queue": queue, "by": by, "now": now, "reason": reason}
        return done_and_recorded(self._sql, "pause_queue", values, audit)

    def resume_queue(self, queue: str, *, audit: AuditEntry | None = None) -> bool:
        """Let claims from a queue go on; False when it was not paused."""
        resumed = done_and_recorded(self._sql, "resume_queue", {"queue": queue}, audit)
        self.announce_due()
        return resumed

    def paused_queues(self) -> list[PausedQueue]:
        """Return the queues that are paused, by name."""
        return [PausedQueue._make(row) for row in self._sql.rows("paused_queues", {})]

    def leased(self, *, now: Instant) -> dict[str, Leases]:
        """Return how many jobs each worker has leased, by its id."""
        rows = self._sql.rows("leased", {"now": now})
        return {holder: Leases(*counts) for holder, *counts in rows}

    def queued(self, queue: str, *, limit: int) -> int:
        """Return how many jobs of a queue are queued; at most `limit` are counted."""
        return int(self._sql.rows("queued", {"queue": queue, "limit": limit})[0][0])

    def queues(self, *, now: Instant) -> list[QueueCounts]:
        """Return every queue that has active jobs or is paused, by name."""
        return [QueueCounts._make(row) for row in self._sql.rows("queues", {"now": now})]

    def routes(self, *, now: Instant) -> list[tuple[Route, int, Instant]]:
        """Return each route with due jobs, how many, and since when the oldest is due."""
        rows = self._sql.rows("routes", {"now": now})
        return [(Route(*row[:3]), row[3], Instant(row[4])) for row in rows]

    def record_worker(self, worker: WorkerRow) -> None:
        """Store how a worker stands."""
        self._sql.count("record_worker", worker._asdict())

    def workers(self) -> list[WorkerRow]:
        """Return the workers on record, the latest seen first."""
        return [WorkerRow._make(row) for row in self._sql.rows("workers", {})]

    def forget_workers(self, *, seen_before: Instant) -> int:
        """Remove workers not seen since then and return how many."""
        return self._sql.count("forget_workers", {"seen_before": seen_before})

    def _jobs(self, statement: str, values: Mapping[str, Any]) -> list[Job]:
        """Return the jobs that a statement finds."""
        return [job_from_row(row) for row in self._sql.rows(statement, values)]
