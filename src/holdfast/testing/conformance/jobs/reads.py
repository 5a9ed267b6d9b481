"""What people and workers ask for."""

from typing import Any

import pytest

from holdfast.core.job.event import CancelRequested, Done, Failed, Suspended
from holdfast.core.job.job import JobState
from holdfast.core.job.plan import Route
from holdfast.core.values.ids import JobId
from holdfast.store.contract import JobFilter, QueueCounts, Store
from holdfast.testing.conformance.samples import (
    DRAFT,
    LASTING_FAILURE,
    NOW,
    SEND,
    after,
    after_event,
    claim,
    new_job,
    next_id,
    started,
    submitted,
)


def _found(store: Store, wanted: JobFilter) -> set[JobId]:
    return {job.id for job in store.find(wanted, before=None, limit=100)}


class ReadConformance:
    """What `get`, `find`, `queues` and `routes` promise."""

    def test_jobs_that_do_not_exist_are_left_out(self, store: Store) -> None:
        (job_id,) = submitted(store)

        assert set(store.get([job_id, next_id()])) == {job_id}
        assert store.get([]) == {}
        assert store.get([next_id()]) == {}

    def test_a_list_is_newest_first_and_continues_where_it_ended(self, store: Store) -> None:
        ids = submitted(store, 7)

        first = store.find(JobFilter(), before=None, limit=3)
        second = store.find(JobFilter(), before=first[-1].id, limit=3)
        third = store.find(JobFilter(), before=second[-1].id, limit=3)

        assert [job.id for job in (*first, *second, *third)] == ids[::-1]

    @pytest.mark.parametrize(
        ("changes", "wanted"),
        [
            ({"pipeline": "parcels"}, JobFilter(pipeline="parcels")),
            ({"stage": "send"}, JobFilter(stage="send")),
            ({"queue": "slow"}, JobFilter(queue="slow")),
            ({"owner": "ada"}, JobFilter(owner="ada")),
            ({"key": "k"}, JobFilter(key="k")),
            ({"created_at": after(5)}, JobFilter(created_since=after(5))),
            ({"created_at": after(-5)}, JobFilter(created_until=NOW)),
            (
                {"created_at": after(5)},
                JobFilter(created_since=after(5), created_until=after(5.000001)),
            ),
            ({"queue": "slow", "owner": "ada"}, JobFilter(queue="slow", owner="ada")),
        ],
    )
    def test_a_filter_finds_what_it_names(
        self, store: Store, changes: dict[str, Any], wanted: JobFilter
    ) -> None:
        submitted(store, 3)
        ids = submitted(store, **changes)

        assert _found(store, wanted) == set(ids)
        assert len(_found(store, JobFilter())) == 4

    def test_an_empty_owner_is_an_owner_like_any_other(self, store: Store) -> None:
        (nobody,) = submitted(store)
        submitted(store, owner="ada")

        assert _found(store, JobFilter(owner="")) == {nobody}

    def test_jobs_are_found_by_state_and_error_class(self, store: Store) -> None:
        failed = after_event(store, started(store), Failed(LASTING_FAILURE))
        cancelled = after_event(store, started(store), CancelRequested("ada"))
        complete = after_event(store, started(store, stage="send"), Done('"sent"'))
        waiting = after_event(store, started(store), Suspended())
        processing = started(store)
        (queued,) = submitted(store)

        by_state = {
            JobState.FAILED: failed.id,
            JobState.CANCELLED: cancelled.id,
            JobState.COMPLETE: complete.id,
            JobState.WAITING: waiting.id,
            JobState.PROCESSING: processing.id,
            JobState.QUEUED: queued,
        }
        for state, job_id in by_state.items():
            assert _found(store, JobFilter(states=(state,))) == {job_id}
        assert _found(store, JobFilter(states=(JobState.FAILED, JobState.QUEUED))) == {
            failed.id,
            queued,
        }
        assert _found(store, JobFilter(error_class="INVALID")) == {failed.id}
        assert _found(store, JobFilter(error_class="NETWORK")) == set()

    def test_a_list_of_failed_jobs_continues_too(self, store: Store) -> None:
        submitted(store, 5)
        failed = [after_event(store, job, Failed(LASTING_FAILURE)) for job in claim(store)]
        submitted(store, 3)

        wanted = JobFilter(states=(JobState.FAILED,))
        first = store.find(wanted, before=None, limit=2)
        rest = store.find(wanted, before=first[-1].id, limit=10)

        assert [*first, *rest] == failed[::-1]

    def test_what_is_queued_is_counted_up_to_a_limit(self, store: Store) -> None:
        started(store)
        submitted(store, 3, run_at=after(100))
        submitted(store, 2)
        submitted(store, 4, queue="other")

        assert store.queued("default", limit=100) == 5
        assert store.queued("default", limit=4) == 4
        assert store.queued("other", limit=4) == 4
        assert store.queued("none", limit=4) == 0

    def test_queues_are_counted_by_what_can_happen_next(self, store: Store) -> None:
        submitted(store, 2, run_at=after(-3))
        submitted(store, 1, run_at=after(-9), priority=3)
        submitted(store, 3, run_at=after(50))
        started(store, queue="default", priority=0)
        after_event(store, started(store, priority=0), Suspended())
        after_event(store, started(store, priority=0, stage="send"), Done('"sent"'))
        submitted(store, queue="slow", run_at=after(5))
        store.pause_queue("slow", by="ada", now=after(-1))
        store.pause_queue("unused", by="bob", now=after(-2))

        assert store.queues(now=NOW) == [
            QueueCounts(
                queue="default",
                paused_at=None,
                paused_by=None,
                due=3,
                scheduled=3,
                processing=1,
                waiting=1,
                oldest_due_at=after(-9),
            ),
            QueueCounts(
                queue="slow",
                paused_at=after(-1),
                paused_by="ada",
                due=0,
                scheduled=1,
                processing=0,
                waiting=0,
                oldest_due_at=None,
            ),
            QueueCounts(
                queue="unused",
                paused_at=after(-2),
                paused_by="bob",
                due=0,
                scheduled=0,
                processing=0,
                waiting=0,
                oldest_due_at=None,
            ),
        ]

    def test_a_queue_whose_jobs_have_all_ended_is_not_listed(self, store: Store) -> None:
        after_event(store, started(store), CancelRequested("ada"))

        assert store.queues(now=NOW) == []

    def test_routes_with_due_jobs_are_listed_with_their_oldest(self, store: Store) -> None:
        submitted(store, 2, run_at=after(-3))
        submitted(store, run_at=after(-8), priority=2)
        submitted(store, stage="send", run_at=after(-1))
        submitted(store, queue="slow", run_at=after(1))
        store.insert([new_job(pipeline="parcels", stage="weigh", run_at=after(0))])

        assert store.routes(now=NOW) == [
            (DRAFT, 3, after(-8)),
            (SEND, 1, after(-1)),
            (Route("default", "parcels", "weigh"), 1, NOW),
        ]
