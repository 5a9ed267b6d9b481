"""Who gets which job, and when."""

from collections.abc import Sequence

import pytest

from holdfast.core.job.event import Done, Failed, Interrupted
from holdfast.core.job.job import Job, WorkerId
from holdfast.core.job.lease import claimed
from holdfast.core.job.plan import Route
from holdfast.core.values.instant import FAR_FUTURE
from holdfast.store.contract import Store
from holdfast.store.rows import as_stored
from holdfast.testing.conformance.samples import (
    DRAFT,
    LEASE_US,
    NOW,
    PASSING_FAILURE,
    SEND,
    WORKER,
    after,
    after_event,
    claim,
    new_job,
    read,
    started,
    submitted,
)


def _ids(jobs: Sequence[Job]) -> list[str]:
    return [job.id for job in jobs]


class ClaimConformance:
    """What `claim`, `next_due` and `held_by` promise."""

    def test_a_claim_does_exactly_what_the_model_says(self, store: Store) -> None:
        new = new_job(key="k", owner="ada", trace="t", deadline_at=after(100))
        store.insert([new])

        (job,) = claim(store, now=after(1))

        expected = claimed(as_stored(new), holder=WORKER, lease_us=LEASE_US, now=after(1))
        assert job == expected
        assert read(store, new.id) == expected

    def test_a_later_attempt_is_counted_and_keeps_the_first_start(self, store: Store) -> None:
        job = started(store)
        waiting = after_event(store, job, Failed(PASSING_FAILURE), now=after(1))

        (again,) = claim(store, now=waiting.run_at)

        assert again == claimed(waiting, holder=WORKER, lease_us=LEASE_US, now=waiting.run_at)
        assert (again.attempt, again.token, again.started_at) == (2, 2, NOW)

    def test_a_lease_that_would_outlast_the_calendar_is_cut(self, store: Store) -> None:
        submitted(store)

        (job,) = claim(store, lease_us=FAR_FUTURE)

        assert job.lease_until == FAR_FUTURE
        assert read(store, job.id) == job

    def test_the_most_urgent_comes_first_then_the_longest_due(self, store: Store) -> None:
        late = new_job(priority=1, run_at=after(-5))
        last = new_job(priority=3, run_at=after(-9))
        urgent = new_job(priority=0, run_at=after(-1))
        early = new_job(priority=1, run_at=after(-7))
        low = new_job(priority=2, run_at=after(-8))
        store.insert([late, last, urgent, early, low])

        order = _ids(claim(store))

        assert order == [urgent.id, early.id, late.id, low.id, last.id]

    def test_what_is_longest_due_is_claimed_before_what_was_made_earlier(
        self, store: Store
    ) -> None:
        late, early = new_job(run_at=after(-5)), new_job(run_at=after(-7))
        store.insert([late, early])

        assert _ids(claim(store, limit=1)) == [early.id]
        assert _ids(claim(store, limit=1)) == [late.id]

    @pytest.mark.parametrize("first", [0, 1, 2, 3])
    def test_the_priority_asked_for_comes_before_the_others(self, store: Store, first: int) -> None:
        jobs = [new_job(priority=priority, run_at=after(-priority)) for priority in (0, 1, 2, 3)]
        store.insert(jobs)

        order = [
            job.priority for _ in jobs for job in claim(store, limit=1, first=first, now=after(1))
        ]

        assert order == [first, *(other for other in (0, 1, 2, 3) if other != first)]

    def test_jobs_due_at_one_instant_come_in_the_order_of_their_ids(self, store: Store) -> None:
        jobs = [new_job() for _ in range(20)]
        store.insert(jobs[::-1])

        assert _ids(claim(store, limit=7)) == [job.id for job in jobs[:7]]
        assert _ids(claim(store, limit=100)) == [job.id for job in jobs[7:]]

    def test_routes_come_in_the_order_given_within_a_priority(self, store: Store) -> None:
        send = new_job(stage="send", run_at=after(-1))
        draft = new_job(stage="draft", run_at=after(-9))
        urgent = new_job(stage="draft", priority=0)
        store.insert([send, draft, urgent])

        first, second = claim(store, limit=2, routes=[SEND, DRAFT])

        assert {first.id, second.id} == {urgent.id, send.id}
        assert _ids(claim(store, limit=2, routes=[SEND, DRAFT])) == [draft.id]

    @pytest.mark.parametrize(
        "route",
        [
            Route("other", "letters", "draft"),
            Route("default", "parcels", "draft"),
            Route("default", "letters", "send"),
        ],
    )
    def test_only_what_the_routes_name_is_claimed(self, store: Store, route: Route) -> None:
        submitted(store)

        assert claim(store, routes=[route]) == []
        assert len(claim(store, routes=[route, DRAFT])) == 1

    def test_without_routes_or_room_nothing_is_claimed(self, store: Store) -> None:
        submitted(store)

        assert claim(store, routes=[]) == []
        assert claim(store, limit=0) == []

    def test_the_limit_holds_over_all_priorities_and_routes(self, store: Store) -> None:
        for priority in (0, 1, 2, 3):
            submitted(store, 3, priority=priority)
            submitted(store, 3, priority=priority, stage="send")

        assert len(claim(store, limit=10)) == 10
        assert len(claim(store, limit=100)) == 14

    def test_a_job_is_claimed_at_its_due_time_and_not_before(self, store: Store) -> None:
        submitted(store, run_at=after(5))

        assert claim(store, now=after(4.999999)) == []
        assert len(claim(store, now=after(5))) == 1

    def test_jobs_of_the_future_hide_nothing(self, store: Store) -> None:
        submitted(store, 30, run_at=after(100), priority=0)
        (due,) = submitted(store, run_at=NOW, priority=3)

        assert _ids(claim(store, limit=1)) == [due]

    def test_a_job_past_its_deadline_is_passed_over(self, store: Store) -> None:
        submitted(store, deadline_at=after(10))

        assert claim(store, now=after(10)) == []
        assert len(claim(store, now=after(9.999999))) == 1

    def test_an_overdue_job_does_not_block_the_next(self, store: Store) -> None:
        submitted(store, 5, deadline_at=after(1))
        (sound,) = submitted(store)

        assert _ids(claim(store, limit=1, now=after(2))) == [sound]

    def test_a_lease_is_never_given_twice(self, store: Store) -> None:
        submitted(store)

        assert len(claim(store)) == 1
        assert claim(store, now=after(3600)) == []

    def test_a_job_that_ended_is_never_claimed(self, store: Store) -> None:
        job = started(store, stage="send")
        after_event(store, job, Done('"sent"'))

        assert claim(store, now=after(1)) == []

    def test_a_paused_queue_gives_nothing_until_it_is_resumed(self, store: Store) -> None:
        other = Route("other", "letters", "draft")
        submitted(store)
        (elsewhere,) = submitted(store, queue="other")
        store.pause_queue("default", by="ada", now=NOW)

        assert _ids(claim(store, routes=[DRAFT, other])) == [elsewhere]
        store.resume_queue("default")
        assert len(claim(store, routes=[DRAFT, other])) == 1

    def test_a_job_handed_back_is_claimed_again_at_once(self, store: Store) -> None:
        job = started(store)
        back = after_event(store, job, Interrupted(), now=after(1))

        (again,) = claim(store, now=after(1))

        assert again == claimed(back, holder=WORKER, lease_us=LEASE_US, now=after(1))
        assert (again.attempt, again.token) == (1, 2)

    def test_the_next_due_time_is_the_earliest_of_the_routes(self, store: Store) -> None:
        submitted(store, run_at=after(50), priority=0)
        submitted(store, run_at=after(20), priority=3)
        submitted(store, run_at=after(30), stage="send")
        submitted(store, run_at=after(1), queue="other")

        assert store.next_due([DRAFT, SEND]) == after(20)
        assert store.next_due([SEND]) == after(30)
        assert store.next_due([Route("default", "parcels", "draft")]) is None
        assert store.next_due([]) is None

    def test_what_cannot_be_claimed_is_not_next(self, store: Store) -> None:
        started(store)
        submitted(store, run_at=after(9))
        store.pause_queue("default", by="ada", now=NOW)

        assert store.next_due([DRAFT]) is None
        store.resume_queue("default")
        assert store.next_due([DRAFT]) == after(9)

    def test_a_worker_finds_what_it_holds(self, store: Store) -> None:
        mine = started(store)
        submitted(store, 2)
        theirs = claim(store, holder=WorkerId("worker-2"))

        assert store.held_by(WORKER) == [mine]
        assert {job.id for job in store.held_by(WorkerId("worker-2"))} == set(_ids(theirs))
        after_event(store, mine, Interrupted())
        assert store.held_by(WORKER) == []
