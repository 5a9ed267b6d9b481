"""Decisions become rows, all of them or nothing, and only from the revision they were made."""

import json
from contextlib import suppress

import pytest

from holdfast.core.job.decision import Kind
from holdfast.core.job.event import (
    CancelRequested,
    DeadlinePassed,
    Done,
    Event,
    Failed,
    Interrupted,
    LeaseExpired,
    ResultRemoved,
    RetryRequested,
    Snoozed,
    Suspended,
)
from holdfast.core.job.job import JobState
from holdfast.core.job.lifecycle import evolve
from holdfast.store.contract import Checkpoint, LedgerEntry, Store
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    NOW,
    PASSING_FAILURE,
    WORKER,
    after,
    after_event,
    claim,
    decided,
    next_id,
    read,
    started,
    submitted,
)


class ApplyConformance:
    """What `apply`, `ledger` and `checkpoints` promise."""

    def test_in_a_transaction_a_decision_stands_or_falls_with_the_rest_of_it(
        self, store: Store
    ) -> None:
        job = started(store)
        done = decided(job, Done('"drafted"'), now=after(1))
        cancelled = decided(job, CancelRequested("ada"), now=after(1))

        with suppress(LookupError), store.transaction() as connection:
            assert store.apply([done], connection=connection) == {job.id}
            raise LookupError
        assert read(store, job.id) == job
        assert store.checkpoints([job.id]) == []
        with store.transaction() as connection:
            assert store.apply([done], connection=connection) == {job.id}
            assert store.apply([cancelled], connection=connection) == set()
            assert store.apply([], connection=connection) == set()

        assert read(store, job.id) == evolve(job, done)
        assert store.checkpoints([job.id]) == [Checkpoint(job.id, job.stage, '"drafted"')]

    @pytest.mark.parametrize(
        "event",
        [
            Done('{"drafted":true}'),
            Done('{"drafted":true}', lease_until=after(99)),
            Done('{"drafted":true}', http_status=200),
            Failed(PASSING_FAILURE),
            Failed(LASTING_FAILURE),
            LeaseExpired(),
            Snoozed(7_000_000, "not yet"),
            Interrupted(),
            Suspended(),
            Suspended(until=after(40)),
            CancelRequested("ada", "no longer needed"),
            DeadlinePassed(),
        ],
        ids=lambda event: type(event).__name__,
    )
    def test_a_decision_does_exactly_what_the_model_says(self, store: Store, event: Event) -> None:
        job = started(store, deadline_at=after(100))
        happens_at = {DeadlinePassed: after(101), LeaseExpired: after(61)}
        decision = decided(job, event, now=happens_at.get(type(event), after(2)))

        assert store.apply([decision]) == {job.id}

        expected = evolve(job, decision)
        assert read(store, job.id) == expected
        assert store.ledger(job.id) == [
            LedgerEntry(job.id, expected.revision, expected.state, decision.entry)
        ]
        kept = [] if decision.checkpoint is None else [decision.checkpoint]
        assert [checkpoint.result for checkpoint in store.checkpoints([job.id])] == kept

    def test_a_job_that_ends_well_keeps_its_result(self, store: Store) -> None:
        job = started(store, stage="send")

        done = after_event(store, job, Done('{"id":1}'), now=after(3))

        assert read(store, job.id) == done
        assert (done.state, done.result) == (JobState.COMPLETE, '{"id":1}')

    def test_a_job_that_ends_well_keeps_what_its_upstream_answered(self, store: Store) -> None:
        jobs = [started(store, stage="send") for _ in range(3)]
        statuses = [201, None, 204]
        decisions = [
            decided(job, Done('"sent"', http_status=status), now=after(3))
            for job, status in zip(jobs, statuses, strict=True)
        ]

        assert store.apply(decisions) == {job.id for job in jobs}

        for job, decision in zip(jobs, decisions, strict=True):
            assert read(store, job.id) == evolve(job, decision)
            assert [line.entry for line in store.ledger(job.id)] == [decision.entry]

    def test_it_is_known_when_jobs_were_last_sent_back(self, store: Store) -> None:
        again, once, never = (started(store) for _ in range(3))
        for job, at in ((again, 5), (once, 7)):
            failed = after_event(store, job, Failed(LASTING_FAILURE), now=after(at - 1))
            after_event(store, failed, RetryRequested("ada"), now=after(at))
        (leased, _) = claim(store, now=after(8))
        assert leased.id == again.id
        failed = after_event(store, leased, Failed(LASTING_FAILURE), now=after(8))
        after_event(store, failed, RetryRequested("ada"), now=after(9))

        ids = [again.id, once.id, never.id]

        assert store.sent_back_at(ids) == {again.id: after(9), once.id: after(7)}
        assert store.sent_back_at([never.id]) == {}

    def test_that_a_result_was_removed_is_written_beside_it(self, store: Store) -> None:
        complete = after_event(store, started(store, stage="send"), Done('"sent"'), now=after(3))

        noted = after_event(store, complete, ResultRemoved("retention"), now=after(4))

        assert read(store, complete.id) == noted
        assert (noted.state, noted.result) == (JobState.COMPLETE, '"sent"')
        kinds = [line.entry.kind for line in store.ledger(complete.id)]
        assert kinds == [Kind.COMPLETED, Kind.RESULT_REMOVED]

    def test_a_decision_from_an_old_revision_changes_nothing(self, store: Store) -> None:
        job = started(store)
        stale = decided(job, Done('"too late"'), now=after(2))
        cancelled = after_event(store, job, CancelRequested("ada"), now=after(1))
        history = store.ledger(job.id)

        assert store.apply([stale]) == set()

        assert read(store, job.id) == cancelled
        assert store.ledger(job.id) == history
        assert store.checkpoints([job.id]) == []

    def test_a_decision_is_applied_once(self, store: Store) -> None:
        job = started(store)
        decision = decided(job, Done('"drafted"'))

        assert store.apply([decision]) == {job.id}
        assert store.apply([decision]) == set()
        assert len(store.ledger(job.id)) == 1

    def test_a_completion_from_an_old_revision_changes_nothing(self, store: Store) -> None:
        job = started(store, stage="send")
        stale = decided(job, Done('"too late"'), now=after(2))
        retried = after_event(store, job, Failed(PASSING_FAILURE), now=after(1))

        assert store.apply([stale]) == set()

        assert read(store, job.id) == retried
        assert len(store.ledger(job.id)) == 1

    def test_a_decision_from_a_future_revision_changes_nothing(self, store: Store) -> None:
        job = started(store)

        assert store.apply([decided(job, Done('"x"'))._replace(expected=job.revision + 1)]) == set()
        assert read(store, job.id) == job

    def test_one_stale_decision_does_not_hold_up_the_others(self, store: Store) -> None:
        submitted(store, 20)
        jobs = claim(store, limit=20)
        decisions = [
            decided(job, (Done('"drafted"'), Failed(LASTING_FAILURE), Interrupted())[number % 3])
            for number, job in enumerate(jobs)
        ]
        moved_on = jobs[::4]
        for job in moved_on:
            after_event(store, job, CancelRequested("ada"))

        applied = store.apply(decisions)

        assert applied == {job.id for job in jobs} - {job.id for job in moved_on}
        for job, decision in zip(jobs, decisions, strict=True):
            expected = evolve(job, decision) if job.id in applied else None
            assert (read(store, job.id) == expected) == (job.id in applied)

    def test_a_decision_about_no_known_job_is_left_out(self, store: Store) -> None:
        job = started(store)
        stray = decided(job, Done('"x"'))._replace(job_id=next_id())

        assert store.apply([stray, decided(job, Done('"y"'))]) == {job.id}
        assert store.ledger(stray.job_id) == []
        assert store.checkpoints([stray.job_id]) == []

    def test_no_decisions_change_nothing(self, store: Store) -> None:
        assert store.apply([]) == set()

    def test_a_large_batch_of_every_kind_is_applied_whole(self, store: Store) -> None:
        submitted(store, 300)
        submitted(store, 300, stage="send")
        events: list[Event] = [
            Done('"done"'),
            Failed(PASSING_FAILURE),
            Failed(LASTING_FAILURE),
            Snoozed(1_000_000),
            Suspended(),
            CancelRequested("ada"),
        ]
        jobs = claim(store, limit=600)
        decisions = [decided(job, events[number % len(events)]) for number, job in enumerate(jobs)]

        assert store.apply(decisions) == {job.id for job in jobs}
        assert store.get([job.id for job in jobs]) == {
            job.id: evolve(job, decision) for job, decision in zip(jobs, decisions, strict=True)
        }

    def test_completions_and_retries_of_one_batch_are_told_apart(self, store: Store) -> None:
        submitted(store, 3, stage="send")
        finished, retried, moved_on = claim(store)
        after_event(store, moved_on, Interrupted(), now=after(1))
        decisions = {
            finished: decided(finished, Done('"sent"'), now=after(2)),
            retried: decided(retried, Failed(PASSING_FAILURE), now=after(3)),
            moved_on: decided(moved_on, Failed(PASSING_FAILURE), now=after(4)),
        }

        assert store.apply([*decisions.values()]) == {finished.id, retried.id}

        assert [line.entry.kind for line in store.ledger(moved_on.id)] == [Kind.INTERRUPTED]
        for job in (finished, retried):
            assert read(store, job.id) == evolve(job, decisions[job])
            (line,) = store.ledger(job.id)
            assert line.entry == decisions[job].entry
            assert (line.revision, line.state) == (job.revision + 1, decisions[job].change.state)

    def test_many_completions_and_retries_do_exactly_what_the_model_says(
        self, store: Store
    ) -> None:
        submitted(store, 90, stage="send")
        texts = ["007", "3.0", "null", "naïve 🙂 \u2028", 'a "quoted" \\u0041', "", "x" * 5_000]
        decisions = {
            job: decided(
                job,
                Done(json.dumps(texts[number % len(texts)], ensure_ascii=False))
                if number % 3
                else Failed(PASSING_FAILURE._replace(message=texts[number % len(texts)])),
                now=after(number),
            )
            for number, job in enumerate(claim(store, limit=90))
        }

        assert store.apply([*decisions.values()]) == {job.id for job in decisions}

        assert store.get([job.id for job in decisions]) == {
            job.id: evolve(job, decision) for job, decision in decisions.items()
        }
        for job, decision in decisions.items():
            (line,) = store.ledger(job.id)
            assert line.entry == decision.entry
            assert (line.revision, line.state) == (job.revision + 1, decision.change.state)

    @pytest.mark.parametrize("stale", [[0], [20], [49], [3, 40]])
    def test_one_stale_among_many_does_not_hold_up_the_others(
        self, store: Store, stale: list[int]
    ) -> None:
        submitted(store, 50, stage="send")
        jobs = claim(store, limit=50)
        decisions = [
            decided(job, Done('"sent"') if number < 35 else Failed(PASSING_FAILURE), now=after(2))
            for number, job in enumerate(jobs)
        ]
        moved_on = {jobs[number].id for number in stale}
        for number in stale:
            after_event(store, jobs[number], Interrupted(), now=after(1))

        assert store.apply(decisions) == {job.id for job in jobs} - moved_on

        for job, decision in zip(jobs, decisions, strict=True):
            (line,) = store.ledger(job.id)
            assert (line.entry == decision.entry) == (job.id not in moved_on)
            assert (read(store, job.id) == evolve(job, decision)) == (job.id not in moved_on)

    def test_two_decisions_about_one_job_of_a_large_batch_are_applied_in_their_order(
        self, store: Store
    ) -> None:
        submitted(store, 40, stage="send")
        jobs = claim(store, limit=40)
        first = decided(jobs[0], Failed(PASSING_FAILURE), now=after(1))
        second = decided(evolve(jobs[0], first), CancelRequested("ada"), now=after(2))
        others = [decided(job, Done('"sent"'), now=after(1)) for job in jobs[1:]]

        assert store.apply([first, *others, second]) == {job.id for job in jobs}

        assert read(store, jobs[0].id).state is JobState.CANCELLED
        kinds = [line.entry.kind for line in store.ledger(jobs[0].id)]
        assert kinds == [Kind.RETRIED, Kind.CANCELLED]

    def test_a_failure_that_spends_no_attempt_gives_it_back(self, store: Store) -> None:
        submitted(store, 2, stage="send")
        jobs = claim(store, limit=2)
        kept = PASSING_FAILURE._replace(spends_attempt=False)
        decisions = [decided(jobs[0], Failed(kept)), decided(jobs[1], Failed(PASSING_FAILURE))]

        assert store.apply(decisions) == {job.id for job in jobs}

        assert [read(store, job.id).attempt for job in jobs] == [0, 1]
        assert read(store, jobs[0].id) == evolve(jobs[0], decisions[0])

    def test_the_ledger_tells_the_whole_story_in_order(self, store: Store) -> None:
        job = started(store)
        job = after_event(store, job, Failed(PASSING_FAILURE), now=after(1))
        (job,) = claim(store, now=after(20))
        job = after_event(store, job, Done('"drafted"'), now=after(21))
        (job,) = claim(store, now=after(22))
        job = after_event(store, job, Failed(LASTING_FAILURE), now=after(23))

        history = store.ledger(job.id)

        assert [line.entry.kind for line in history] == [
            Kind.RETRIED,
            Kind.ADVANCED,
            Kind.FAILED,
        ]
        assert [line.revision for line in history] == [2, 4, 6]
        assert [line.state for line in history] == [
            JobState.QUEUED,
            JobState.QUEUED,
            JobState.FAILED,
        ]
        last = history[-1].entry
        assert (last.stage, last.attempt, last.holder) == ("send", 1, WORKER)
        assert (last.started_at, last.at) == (after(22), after(23))
        assert last.error_class == "INVALID"

    def test_a_job_sent_back_keeps_the_checkpoints_before_the_failed_stage(
        self, store: Store
    ) -> None:
        job = started(store)
        after_event(store, job, Done('"drafted"'))
        (job,) = claim(store)
        failed = after_event(store, job, Failed(LASTING_FAILURE))

        revived = after_event(store, failed, RetryRequested("ada"), now=after(5))

        assert read(store, job.id) == revived
        assert revived.stage == "send"
        assert store.checkpoints([job.id]) == [Checkpoint(job.id, "draft", '"drafted"')]

    def test_a_job_that_starts_over_leaves_its_checkpoints_behind(self, store: Store) -> None:
        job = started(store)
        after_event(store, job, Done('"first draft"'))
        (job,) = claim(store)
        failed = after_event(store, job, Failed(LASTING_FAILURE))
        after_event(store, failed, RetryRequested("ada", from_start=True), now=after(5))

        assert store.checkpoints([job.id]) == []

        (job,) = claim(store, now=after(6))
        after_event(store, job, Done('"second draft"'), now=after(7))
        assert store.checkpoints([job.id]) == [Checkpoint(job.id, "draft", '"second draft"')]

    def test_a_result_after_the_deadline_is_kept_as_late(self, store: Store) -> None:
        job = started(store, deadline_at=after(10))
        expired = after_event(store, job, DeadlinePassed(), now=after(11))

        late = after_event(store, expired, Done('"at last"'), now=after(12))

        assert read(store, job.id) == late
        assert (late.state, late.late_result) == (JobState.FAILED, '"at last"')

    def test_checkpoints_of_many_jobs_come_together(self, store: Store) -> None:
        submitted(store, 3)
        jobs = claim(store)
        for number, job in enumerate(jobs):
            after_event(store, job, Done(str(number)))

        found = store.checkpoints([job.id for job in jobs[:2]])

        assert set(found) == {
            Checkpoint(jobs[0].id, "draft", "0"),
            Checkpoint(jobs[1].id, "draft", "1"),
        }
        assert store.checkpoints([]) == []

    def test_a_job_nobody_touched_has_no_history(self, store: Store) -> None:
        (job_id,) = submitted(store)

        assert store.ledger(job_id) == []
        assert read(store, job_id).updated_at == NOW
