"""New jobs, their keys, and reruns."""

import pytest

from holdfast.core.job.event import Done
from holdfast.core.job.job import JobState
from holdfast.errors import UnknownJob
from holdfast.store.contract import Store
from holdfast.store.rows import as_stored
from holdfast.testing.conformance.samples import (
    NOW,
    PLAN,
    a_twin,
    after,
    after_event,
    claim,
    new_job,
    read,
    started,
    submitted,
)


class _ChangeOfMindError(Exception):
    """Ends a caller's transaction without success."""


class InsertConformance:
    """What `insert`, `insert_rerun`, `twins` and `transaction` promise."""

    def test_a_new_job_is_queued_and_nothing_has_begun(self, store: Store) -> None:
        new = new_job(
            priority=0,
            owner="ada",
            key="k-1",
            fingerprint="f00d",
            trace="00-trace-01",
            run_at=after(5),
            deadline_at=after(90),
        )

        assert store.insert([new]) == [None]
        assert read(store, new.id) == as_stored(new)

    def test_a_batch_is_stored_in_full(self, store: Store) -> None:
        jobs = [new_job(key=f"k-{number}") for number in range(50)]

        assert store.insert(jobs) == [None] * 50
        assert store.get([job.id for job in jobs]) == {job.id: as_stored(job) for job in jobs}

    def test_an_empty_batch_stores_nothing(self, store: Store) -> None:
        assert store.insert([]) == []

    def test_a_key_that_is_taken_is_answered_with_the_job_that_holds_it(self, store: Store) -> None:
        first = new_job(key="k", owner="ada", fingerprint="one")
        store.insert([first])

        second = new_job(key="k", owner="ada", fingerprint="two")

        assert store.insert([second]) == [a_twin(first.id, 1, "one", JobState.QUEUED)]
        assert store.get([second.id]) == {}

    def test_a_twin_is_reported_as_it_stands_now(self, store: Store) -> None:
        job = started(store, key="k")
        after_event(store, job, Done('"drafted"'))

        (twin,) = store.insert([new_job(key="k")])

        assert twin == a_twin(job.id, 1, None, JobState.QUEUED)
        (advanced,) = claim(store)
        after_event(store, advanced, Done('"sent"'))
        assert store.insert([new_job(key="k")]) == [
            a_twin(job.id, 1, None, JobState.COMPLETE, finished_at=NOW)
        ]

    def test_a_key_belongs_to_an_owner_and_a_pipeline(self, store: Store) -> None:
        jobs = [
            new_job(key="k"),
            new_job(key="k", owner="ada"),
            new_job(key="k", pipeline="parcels"),
            new_job(key="K"),
            new_job(key=""),
        ]

        assert store.insert(jobs) == [None] * 5

    def test_jobs_without_keys_are_never_twins(self, store: Store) -> None:
        assert store.insert([new_job(), new_job()]) == [None, None]

    def test_the_first_of_a_batch_wins_its_key(self, store: Store) -> None:
        first, second, other = new_job(key="k"), new_job(key="k"), new_job(key="other")

        answers = store.insert([first, second, other])

        assert answers == [None, a_twin(first.id, 1, None, JobState.QUEUED), None]
        assert set(store.get([first.id, second.id, other.id])) == {first.id, other.id}

    def test_an_insert_may_be_repeated_because_ids_are_known(self, store: Store) -> None:
        taken = new_job(key="taken")
        store.insert([taken])
        batch = [new_job(key="free"), new_job(key="taken"), new_job()]
        answers = store.insert(batch)

        assert store.insert(batch) == answers
        assert answers[1] == a_twin(taken.id, 1, None, JobState.QUEUED)

    def test_a_repeated_insert_leaves_a_job_that_moved_on_alone(self, store: Store) -> None:
        new = new_job(key="k")
        store.insert([new])
        (job,) = claim(store)

        assert store.insert([new]) == [None]
        assert read(store, new.id) == job

    def test_a_batch_with_one_impossible_row_stores_nothing(self, store: Store) -> None:
        good, bad = new_job(key="good"), new_job(payload=None)

        with pytest.raises(Exception, match="payload"):
            store.insert([good, bad])

        assert store.get([good.id, bad.id]) == {}

    def test_rows_of_a_transaction_appear_when_it_ends(
        self, store: Store, other_store: Store
    ) -> None:
        new = new_job(key="k")

        with store.transaction() as connection:
            assert store.insert([new], connection=connection) == [None]

        assert read(other_store, new.id) == as_stored(new)

    def test_rows_of_a_transaction_that_fails_never_were(self, store: Store) -> None:
        first = new_job(key="first")
        store.insert([first])
        new, rerun = new_job(key="k"), new_job(key="first", version=2, rerun_of=first.id)

        def change_half() -> None:
            with store.transaction() as connection:
                store.save_plan(PLAN, now=NOW, connection=connection)
                store.insert([new], connection=connection)
                store.insert_rerun(rerun, connection=connection)
                raise _ChangeOfMindError

        with pytest.raises(_ChangeOfMindError):
            change_half()

        assert store.get([new.id, rerun.id]) == {}
        assert store.load_plan("letters", PLAN.digest) is None
        assert store.insert([new_job(key="k")]) == [None]

    def test_a_taken_key_is_noticed_inside_a_transaction(self, store: Store) -> None:
        (first,) = submitted(store, key="k")

        with store.transaction() as connection:
            answers = store.insert([new_job(key="k"), new_job()], connection=connection)

        assert answers == [a_twin(first, 1, None, JobState.QUEUED), None]

    def test_a_transaction_sees_the_jobs_and_plans_it_stored(self, store: Store) -> None:
        new = new_job(key="k")

        with store.transaction() as connection:
            store.save_plan(PLAN, now=NOW, connection=connection)
            store.insert([new], connection=connection)
            found = store.twins(owner="", pipeline="letters", key="k", connection=connection)

        assert found == [a_twin(new.id, 1, None, JobState.QUEUED)]
        assert store.load_plan("letters", PLAN.digest) == PLAN

    def test_every_job_of_a_key_is_found_lowest_version_first(self, store: Store) -> None:
        first = new_job(key="k", owner="ada", fingerprint="one")
        third = new_job(key="k", owner="ada", version=3, rerun_of=first.id)
        seventh = new_job(key="k", owner="ada", version=7, rerun_of=first.id)
        store.insert([first, new_job(key="k"), new_job(key="other", owner="ada")])
        assert store.insert_rerun(third) is None
        assert store.insert_rerun(seventh) is None

        assert store.twins(owner="ada", pipeline="letters", key="k") == [
            a_twin(first.id, 1, "one", JobState.QUEUED),
            a_twin(third.id, 3, None, JobState.QUEUED),
            a_twin(seventh.id, 7, None, JobState.QUEUED),
        ]
        assert store.twins(owner="ada", pipeline="letters", key="unknown") == []

    @pytest.mark.parametrize("version", [1, 2, 3])
    def test_a_rerun_needs_a_strictly_higher_version(self, store: Store, version: int) -> None:
        first = new_job(key="k")
        store.insert([first])
        third = new_job(key="k", version=3, rerun_of=first.id)
        store.insert_rerun(third)

        rerun = new_job(key="k", version=version, rerun_of=first.id)

        assert store.insert_rerun(rerun) == a_twin(third.id, 3, None, JobState.QUEUED)
        assert store.get([rerun.id]) == {}

    def test_a_rerun_may_be_repeated_even_after_a_later_one(self, store: Store) -> None:
        first = new_job(key="k")
        store.insert([first])
        second = new_job(key="k", version=2, rerun_of=first.id)
        store.insert_rerun(second)
        store.insert_rerun(new_job(key="k", version=3, rerun_of=first.id))

        assert store.insert_rerun(second) is None
        assert len(store.twins(owner="", pipeline="letters", key="k")) == 3

    def test_a_job_without_a_key_may_be_run_again_too(self, store: Store) -> None:
        (first,) = submitted(store)
        second = new_job(version=2, rerun_of=first)

        assert store.insert_rerun(second) is None
        assert store.insert_rerun(new_job(version=2, rerun_of=first)) == a_twin(
            second.id, 2, None, JobState.QUEUED
        )

    def test_a_rerun_of_nothing_is_refused(self, store: Store) -> None:
        absent, rerun = new_job(), new_job(version=2)

        with pytest.raises(UnknownJob):
            store.insert_rerun(rerun._replace(rerun_of=absent.id))

        assert store.get([rerun.id]) == {}
