"""What operators do to queues and workers, and to a store as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from holdfast.core.values.instant import Instant
from holdfast.core.values.retention import Retention
from holdfast.engine.arguments import PAGE, asked, checked_limit, instant_since
from holdfast.engine.recording import OwnActivity
from holdfast.engine.submit.submission import checked_text
from holdfast.errors import ConflictError, InvalidValue, UnknownWorker
from holdfast.pipeline.declaration import Pipeline
from holdfast.pipeline.names import checked_name
from holdfast.runtime.events.presentation import PresentationOf
from holdfast.runtime.events.tail import Tail
from holdfast.runtime.events.tail_cursor import Cursor
from holdfast.runtime.kernel.clock import Clock
from holdfast.runtime.maintenance.janitor import Walk, purge
from holdfast.store.contract import QueueCounts, Store, Violation, WorkerRow
from holdfast.store.tables.activity import MINUTE_US
from holdfast.store.tables.audit import ENGINE, AuditEntry
from holdfast.store.tables.retention import Batch
from holdfast.views.activity import ActivityRow, activity_row
from holdfast.views.worker import queues_of, standing

QUEUE: Final = "queue"
WORKER: Final = "worker"
"""The kinds of subject under which the audit record keeps what is done to queues and workers."""
MAX_ACTIVITY: Final = 100_000
"""How many counters are read at most: those of the latest minutes."""
LAST_ID: Final = 2**63 - 1
_LIVE: Final = ("running", "draining")


class Operations:
    """Pauses queues, looks after workers, verifies and purges."""

    def __init__(
        self,
        store: Callable[[], Store],
        *,
        clock: Clock,
        retention: Callable[[], Retention],
        pipelines: Mapping[str, Pipeline],
        shown_as: PresentationOf,
        activity: OwnActivity,
    ) -> None:
        self._store = store
        self._clock = clock
        self._retention = retention
        self._pipelines = pipelines
        self._shown_as = shown_as
        self._own_activity = activity

    def pause_queue(self, queue: str, *, by: str, reason: str | None = None) -> bool:
        """Stop workers from taking jobs of a queue; False when it was paused already."""
        checked_name(queue, what="queue")
        who, why = asked("pause", by, reason)
        now = self._clock.now()
        entry = AuditEntry(now, who, "paused", QUEUE, queue, why)
        return self._store().pause_queue(queue, by=who, now=now, reason=why, audit=entry)

    def resume_queue(self, queue: str, *, by: str = ENGINE, reason: str | None = None) -> bool:
        """Let workers take jobs of a queue again; False when it was not paused."""
        checked_name(queue, what="queue")
        who, why = asked("resume", by, reason)
        entry = AuditEntry(self._clock.now(), who, "resumed", QUEUE, queue, why)
        return self._store().resume_queue(queue, audit=entry)

    def queues(self) -> list[QueueCounts]:
        """Return how every queue stands: with active jobs, paused, declared, or served."""
        now = self._clock.now()
        counted = {counts.queue: counts for counts in self._store().queues(now=now)}
        return [
            counted.get(name)
            or QueueCounts(
                queue=name,
                paused_at=None,
                paused_by=None,
                due=0,
                scheduled=0,
                processing=0,
                waiting=0,
                oldest_due_at=None,
            )
            for name in sorted({*counted, *self._declared_queues(now)})
        ]

    def knows_queue(self, queue: str) -> bool:
        """Return whether a queue has jobs, is declared by a pipeline, or is served by a worker."""
        now = self._clock.now()
        if queue in self._declared_queues(now):
            return True
        return any(
            counts.queue == queue and counts.active for counts in self._store().queues(now=now)
        )

    def _declared_queues(self, now: Instant) -> set[str]:
        """Return the queues that pipelines of this process name, or that live workers serve."""
        live = (row for row in self._store().workers() if standing(row, now) in _LIVE)
        served = {queue for worker in live for queue in queues_of(worker)}
        return served | {pipeline.queue for pipeline in self._pipelines.values()}

    def workers(self) -> list[WorkerRow]:
        """Return the workers on record."""
        return self._store().workers()

    def drain_worker(self, worker_id: str, *, by: str, reason: str | None = None) -> WorkerRow:
        """Have a worker take no more jobs, finish those it runs, and end.

        It learns of it when it next reports itself, within seconds. One that was asked before stays
        so; one that has stopped raises `ConflictError`.
        """
        who, why = asked("drain", by, reason)
        found = self._worker(worker_id)
        entry = AuditEntry(self._clock.now(), who, "drained", WORKER, found.id, why)
        changed = self._store().drains.ask(found.id, audit=entry)
        found = self._worker(worker_id)
        if not changed and found.drain_asked_at is None:
            raise ConflictError(f"worker {found.id} has stopped; nothing is left to drain")
        return found

    def _worker(self, worker_id: str) -> WorkerRow:
        found = next((row for row in self._store().workers() if row.id == worker_id), None)
        if found is None:
            raise UnknownWorker(worker_id)
        return found

    def activity(self, *, since: datetime | timedelta | float) -> list[ActivityRow]:
        """Return how much happened in each minute since then, the latest minute first.

        Workers add what they did every two seconds, so that of the last few may be missing.
        """
        store = self._store()
        # What this process did outside a worker, such as cancels, is added here.
        self._own_activity.flush()
        first = instant_since(since, now=self._clock.now())
        rows = store.activity.since(Instant(first - first % MINUTE_US), limit=MAX_ACTIVITY)
        return [activity_row(row) for row in rows]

    def counted_since(self) -> Instant | None:
        """Return the first minute of which there is activity, None where there are none."""
        return self._store().activity.first_minute()

    def audit(
        self,
        *,
        subject_kind: str | None = None,
        subject: str | None = None,
        before: int | None = None,
        limit: int = PAGE,
    ) -> list[AuditEntry]:
        """Return who recently did what, newest first; the last id is `before` of the next page."""
        for field, text in (("subject_kind", subject_kind), ("subject", subject)):
            if text is not None:
                checked_text("audit", field=field, text=text)
        if before is not None and not 0 <= before <= LAST_ID:
            raise InvalidValue("audit", field="before", value=before, limit="an id of an entry")
        return self._store().audit.latest(
            subject_kind=subject_kind,
            subject=subject,
            before=before,
            limit=checked_limit("audit", limit),
        )

    def tail(self, since: str | Cursor | None = None) -> Tail:
        """Return a tail of what happens in all jobs from now on, or since the cursor of an event.

        Raises `InvalidValue` for a cursor that was not made for a tail.
        """
        return Tail(self._store(), clock=self._clock, since=since, shown_as=self._shown_as)

    def verify(self) -> list[Violation]:
        """Check the store's invariants; an empty list means that all hold."""
        return self._store().verify(now=self._clock.now())

    def purge(
        self, *, dry_run: bool = False, told: Callable[[Batch], object] | None = None
    ) -> dict[str, int]:
        """Remove now what `retention` lets go, and return how many of each; workers do so anyway.

        With `dry_run` they are only counted. `told` is called with every batch.
        """
        cutoffs = self._retention().cutoffs(self._clock.now())
        return purge(Walk(self._store(), cutoffs, dry_run=dry_run), told=told)
