"""What time has overtaken, found in order and in pages."""

from collections.abc import Callable, Sequence
from typing import Protocol

from holdfast.core.job.event import Done, Suspended
from holdfast.core.job.job import Job
from holdfast.core.job.lease import lease_of
from holdfast.core.values.instant import Instant
from holdfast.store.contract import Position, Store
from holdfast.testing.conformance.samples import (
    LEASE_US,
    WORKER,
    after,
    after_event,
    claim,
    started,
    submitted,
)


class _Sweep(Protocol):
    def __call__(self, *, now: Instant, after: Position | None, limit: int) -> list[Job]: ...


def _pages(
    sweep: _Sweep, instant_of: Callable[[Job], Instant | None], *, now: Instant, limit: int
) -> list[Job]:
    """Everything a sweep finds, page by page."""
    found: list[Job] = []
    position: Position | None = None
    while page := sweep(now=now, after=position, limit=limit):
        assert len(page) <= limit
        found += page
        instant = instant_of(page[-1])
        assert instant is not None
        position = Position(instant, page[-1].id)
    return found


def _in_order(jobs: Sequence[Job], instant_of: Callable[[Job], Instant | None]) -> list[Job]:
    return sorted(jobs, key=lambda job: (instant_of(job) or 0, job.id))


class SweepConformance:
    """What `expired`, `overdue` and `unanswered` promise."""

    def test_a_lease_is_expired_once_its_end_lies_in_the_past(self, store: Store) -> None:
        job = started(store)

        assert store.expired(now=after(60), after=None, limit=10) == []
        assert store.expired(now=after(60.000001), after=None, limit=10) == [job]

    def test_a_job_that_is_not_processing_has_no_lease_to_expire(self, store: Store) -> None:
        submitted(store, run_at=after(1))
        after_event(store, started(store), Done('"drafted"'))
        after_event(store, started(store, stage="send"), Done('"sent"'))

        assert store.expired(now=after(1000), after=None, limit=10) == []

    def test_expired_leases_come_in_pages_without_gap_or_repeat(self, store: Store) -> None:
        submitted(store, 25)
        jobs = []
        for lease_s in (30, 10, 10, 20, 10):
            jobs += claim(store, limit=5, lease_us=lease_s * 1_000_000)

        found = _pages(store.expired, lambda job: job.lease_until, now=after(100), limit=4)

        assert found == _in_order(jobs, lambda job: job.lease_until)

    def test_a_deadline_is_passed_after_its_very_instant(self, store: Store) -> None:
        (job_id,) = submitted(store, deadline_at=after(10))

        assert store.overdue(now=after(10), after=None, limit=10) == []
        (job,) = store.overdue(now=after(10.000001), after=None, limit=10)
        assert job.id == job_id

    def test_only_active_jobs_are_overdue(self, store: Store) -> None:
        ended = started(store, stage="send", deadline_at=after(10))
        after_event(store, ended, Done('"sent"'))
        waiting = started(store, deadline_at=after(12))
        waiting = after_event(store, waiting, Suspended())
        running = started(store, deadline_at=after(11))
        submitted(store, deadline_at=None)
        (queued,) = submitted(store, deadline_at=after(13))

        found = store.overdue(now=after(20), after=None, limit=10)

        assert [job.id for job in found] == [running.id, waiting.id, queued]

    def test_overdue_jobs_come_in_pages_without_gap_or_repeat(self, store: Store) -> None:
        for seconds in (3, 1, 1, 2):
            submitted(store, 5, deadline_at=after(seconds))

        found = _pages(store.overdue, lambda job: job.deadline_at, now=after(10), limit=3)

        assert len(found) == 20
        assert found == _in_order(found, lambda job: job.deadline_at)
        assert len({job.id for job in found}) == 20

    def test_a_wait_is_over_at_its_very_end(self, store: Store) -> None:
        job = after_event(store, started(store), Suspended(until=after(10)))

        assert store.unanswered(now=after(9.999999), after=None, limit=10) == []
        assert store.unanswered(now=after(10), after=None, limit=10) == [job]

    def test_a_wait_without_end_is_never_over(self, store: Store) -> None:
        after_event(store, started(store), Suspended())
        submitted(store)

        assert store.unanswered(now=after(10**6), after=None, limit=10) == []

    def test_unanswered_jobs_come_in_pages_without_gap_or_repeat(self, store: Store) -> None:
        submitted(store, 12)
        jobs = [
            after_event(store, job, Suspended(until=after(5 + number % 3)))
            for number, job in enumerate(claim(store, limit=12))
        ]

        found = _pages(store.unanswered, lambda job: job.run_at, now=after(10), limit=5)

        assert found == _in_order(jobs, lambda job: job.run_at)

    def test_a_renewed_lease_leaves_the_sweep(self, store: Store) -> None:
        submitted(store, 3)
        first, second, third = claim(store)
        store.renew([lease_of(second)], holder=WORKER, lease_us=LEASE_US, now=after(59))

        assert store.expired(now=after(61), after=None, limit=10) == [first, third]
