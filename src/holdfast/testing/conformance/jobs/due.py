"""Which due job may be handed to whom, and what a claim of just those leases."""

from holdfast.core.job.event import Done
from holdfast.core.job.job import Job, WorkerId
from holdfast.core.job.lease import claimed
from holdfast.core.job.plan import Route
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import Instant
from holdfast.store.contract import Store
from holdfast.store.rows import as_stored
from holdfast.testing.conformance.samples import (
    DRAFT,
    LEASE_US,
    NOW,
    ROUTES,
    SEND,
    WORKER,
    after,
    after_event,
    claim,
    new_job,
    next_id,
    read,
    started,
    submitted,
)

OTHER = WorkerId("worker-2")


def take(
    store: Store,
    job_ids: list[JobId],
    *,
    route: Route = DRAFT,
    now: Instant = NOW,
    holder: WorkerId = WORKER,
) -> list[Job]:
    """A claim by ids of what is usual in these tests."""
    return store.due.claim(job_ids, route=route, holder=holder, lease_us=LEASE_US, now=now)


def told(store: Store, *, limit: int = 10, now: Instant = NOW) -> list[JobId]:
    """Return the ids of the jobs that may be handed out."""
    return [job.id for job in store.due.waiting(ROUTES, limit=limit, now=now)]


class DueConformance:
    """What `due.waiting`, `due.claim` and `due.first_due_at` promise."""

    def test_a_claim_by_id_does_exactly_what_the_model_says(self, store: Store) -> None:
        new = new_job(key="k", owner="ada", trace="t", deadline_at=after(100))
        store.insert([new])

        (job,) = take(store, [new.id], now=after(1))

        expected = claimed(as_stored(new), holder=WORKER, lease_us=LEASE_US, now=after(1))
        assert job == expected
        assert read(store, new.id) == expected

    def test_a_claim_by_id_takes_the_jobs_given_and_no_others(self, store: Store) -> None:
        first, second, third = submitted(store, 3)

        jobs = take(store, [third, first])

        assert {job.id for job in jobs} == {first, third}
        assert read(store, second).holder is None

    def test_no_job_is_leased_twice_by_its_id(self, store: Store) -> None:
        ids = submitted(store, 2)
        claim(store, limit=1)

        later = take(store, ids, holder=OTHER)
        again = take(store, ids, holder=OTHER)

        assert [job.id for job in later] == [ids[1]]
        assert again == []

    def test_a_claim_by_id_passes_over_what_a_claim_passes_over(self, store: Store) -> None:
        future = new_job(run_at=after(1))
        overdue = new_job(deadline_at=NOW)
        paused = new_job(queue="slow")
        moved = started(store)
        after_event(store, moved, Done("1"))
        store.insert([future, overdue, paused])
        store.pause_queue("slow", by="ada", now=NOW)

        ids = [future.id, overdue.id, paused.id, moved.id, next_id()]

        assert take(store, ids) == []
        assert take(store, ids, route=DRAFT._replace(queue="slow")) == []
        assert [job.id for job in take(store, ids, route=SEND)] == [moved.id]
        assert [job.id for job in take(store, ids, now=after(1))] == [future.id]

    def test_nothing_is_leased_when_nothing_is_asked_for(self, store: Store) -> None:
        submitted(store)

        assert take(store, []) == []
        assert store.due.waiting([], limit=10, now=NOW) == []

    def test_it_tells_when_the_first_of_some_waiting_jobs_is_due(self, store: Store) -> None:
        due, soon, late, others = (new_job(run_at=after(span)) for span in (0, 2, 5, 1))
        moved = started(store)
        after_event(store, moved, Done("1"))
        store.insert([due, soon, late, others])
        ids = [due.id, late.id, soon.id, moved.id, next_id()]

        assert store.due.first_due_at(ids, route=DRAFT, now=NOW) == after(2)
        assert store.due.first_due_at(ids, route=DRAFT, now=after(2)) == after(5)
        assert store.due.first_due_at(ids, route=DRAFT, now=after(5)) is None
        assert store.due.first_due_at(ids, route=SEND, now=NOW) is None
        assert store.due.first_due_at([], route=DRAFT, now=NOW) is None

    def test_who_may_be_told_of_is_who_may_be_claimed(self, store: Store) -> None:
        submitted(store, 3, run_at=after(-1))
        submitted(store, queue="slow")
        store.insert([new_job(run_at=after(1)), new_job(deadline_at=NOW), new_job(priority=0)])
        store.pause_queue("slow", by="ada", now=NOW)

        waiting = told(store)

        assert len(waiting) == 4
        assert waiting == [job.id for job in claim(store)]
        assert told(store) == []

    def test_looking_at_due_jobs_changes_none(self, store: Store) -> None:
        new = new_job()
        store.insert([new])

        (job,) = store.due.waiting(ROUTES, limit=10, now=NOW)

        assert job == (new.id, DRAFT, 0)
        assert read(store, new.id) == as_stored(new)

    def test_a_look_is_limited_for_each_route_and_priority(self, store: Store) -> None:
        same_instant = submitted(store, 5)
        urgent = submitted(store, 3, priority=0, run_at=after(-1))
        other = submitted(store, 3, stage="send")

        assert told(store, limit=2) == [*urgent[:2], *same_instant[:2], *other[:2]]

    def test_paused_queues_are_not_looked_at_until_they_go_on(self, store: Store) -> None:
        (job,) = submitted(store)
        store.pause_queue("default", by="ada", now=NOW)
        assert told(store) == []

        store.resume_queue("default")

        assert told(store) == [job]
