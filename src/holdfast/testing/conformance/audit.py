"""What a store promises about the record of who did what."""

from contextlib import suppress

from holdfast.core.job.event import CancelRequested, Done
from holdfast.core.job.job import WorkerId
from holdfast.store.contract import Store, WorkerRow
from holdfast.store.tables.audit import AuditEntry
from holdfast.testing.conformance.samples import (
    NOW,
    after,
    after_event,
    decided,
    entries,
    started,
)


class _Abandoned(Exception):
    """Ends a transaction that is to leave nothing behind."""


def _entry(subject: str) -> AuditEntry:
    return AuditEntry(NOW, "ada", "tried", "thing", subject, "it's % \\ odd", detail={"was": [1]})


def _worker(worker_id: str, state: str = "running") -> WorkerRow:
    return WorkerRow(
        id=WorkerId(worker_id),
        host="host",
        pid=1,
        started_at=NOW,
        seen_at=NOW,
        queues="[]",
        concurrency=1,
        state=state,
    )


class RecordConformance:
    """What `audit`, and whatever writes into it, promises."""

    def test_the_record_is_read_page_by_page(self, store: Store) -> None:
        for number in range(5):
            store.audit.add(_entry(f"s{number}"))

        first = store.audit.latest(limit=2)
        rest = store.audit.latest(before=first[-1].id, limit=9)
        assert [line.subject for line in (*first, *rest)] == ["s4", "s3", "s2", "s1", "s0"]
        assert store.audit.latest(before=rest[-1].id) == []

    def test_an_entry_belongs_to_the_callers_transaction(self, store: Store) -> None:
        with suppress(_Abandoned), store.transaction() as connection:
            store.audit.add(_entry("lost"), connection=connection)
            raise _Abandoned
        with store.transaction() as connection:
            store.audit.add(_entry("kept"), connection=connection)

        assert entries(store) == [_entry("kept")]

    def test_a_cancel_is_recorded_if_and_only_if_it_is_applied(self, store: Store) -> None:
        cancelled, done = started(store), started(store, stage="send")
        late = decided(done, CancelRequested("bob", "too late"), now=after(2))
        after_event(store, done, Done('"sent"'))
        wanted = CancelRequested("ada", "no longer needed")

        store.apply([decided(cancelled, wanted, now=after(1)), late])
        assert entries(store) == [
            AuditEntry(after(1), "ada", "cancelled", "job", cancelled.id, "no longer needed")
        ]

    def test_pausing_and_resuming_a_queue_are_recorded_once(self, store: Store) -> None:
        paused = AuditEntry(NOW, "ada", "paused", "queue", "default")
        resumed = AuditEntry(after(1), "bob", "resumed", "queue", "default")
        store.pause_queue("default", by="ada", now=NOW, audit=paused)
        store.pause_queue("default", by="eve", now=NOW, audit=paused)
        store.resume_queue("default", audit=resumed)
        store.resume_queue("default", audit=resumed)

        assert entries(store) == [resumed, paused]

    def test_a_worker_is_told_to_end_once_and_the_record_says_by_whom(self, store: Store) -> None:
        store.record_worker(_worker("a"))
        store.record_worker(_worker("b"))
        told = AuditEntry(after(1), "ada", "drained", "worker", "a", "new machine")
        assert store.drains.asked("a") is False

        assert store.drains.ask("a", audit=told) is True
        assert store.drains.ask("a", audit=told._replace(done_by="bob")) is False
        store.record_worker(_worker("a")._replace(seen_at=after(9)))

        assert store.drains.asked("a") is True
        assert store.drains.asked("b") is False
        assert store.workers()[0] == _worker("a")._replace(
            seen_at=after(9), drain_asked_at=after(1), drain_asked_by="ada"
        )
        assert entries(store) == [told]

    def test_a_worker_that_ended_or_never_was_is_told_nothing(self, store: Store) -> None:
        store.record_worker(_worker("a", "stopped"))
        told = AuditEntry(after(1), "ada", "drained", "worker", "a")

        assert store.drains.ask("a", audit=told) is False
        assert store.drains.ask("b", audit=told) is False
        assert (store.drains.asked("a"), store.drains.asked("b")) == (False, False)
        assert entries(store) == []
