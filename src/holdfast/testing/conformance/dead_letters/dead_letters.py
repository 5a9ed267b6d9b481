"""Dead letters: written with the decision that ends a job, and moved by who saw them last."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from holdfast.core.dead_letter.dead_letter import Cause, DeadLetter, LetterState
from holdfast.core.job.decision import Kind, Tries
from holdfast.core.job.event import (
    CancelRequested,
    DeadlinePassed,
    Done,
    Failed,
    Refused,
    RetryRequested,
)
from holdfast.core.job.job import Job, JobState
from holdfast.core.values.failure import Category, Failure, Severity
from holdfast.store.contract import Store
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.dead_letters import SUBJECT, LetterFilter, LetterStanding
from holdfast.testing.conformance.samples import (
    LASTING_FAILURE,
    NOW,
    PASSING_FAILURE,
    after,
    after_decision,
    after_event,
    claim,
    decided,
    entries,
    next_id,
    read,
    started,
    submitted,
)

ODD_FAILURE = Failure(
    error_class="UPSTREAM_5XX",
    message="it's {odd}, 'really' \\ \"so\" % …",
    category=Category.CRITICAL,
    retryable=False,
    severity=Severity.CRITICAL,
    outcome_known=False,
    http_status=503,
    exception_type="some.Error",
    stack='some.Error: no\n  /app/x.py:7:call\n  "quoted", {braced} %s',
)


USER_ERROR = Failure(
    error_class="PDF_BROKEN",
    message="no page can be read",
    category=Category.PERMANENT,
    retryable=False,
    user_error=True,
)


def buried(store: Store, **changes: Any) -> Job:
    """A job that has failed for good."""
    return after_event(store, started(store, **changes), Failed(LASTING_FAILURE))


def letter_of(store: Store, job: Job) -> DeadLetter:
    """Return the letter of a job that has one."""
    letter = store.letters.get(job.id)
    assert letter is not None
    return letter


def noted(letter: DeadLetter, by: str = "ada") -> AuditEntry:
    """What the record says of a letter's triage."""
    return AuditEntry(NOW, by, "triaged", SUBJECT, letter.id, "why", detail={"cause": "data"})


def triaged(letter: DeadLetter) -> DeadLetter:
    """Return the letter once a person has looked at it."""
    return letter._replace(
        state=LetterState.TRIAGED, cause=Cause.DATA, note="no amount", updated_at=after(9)
    )


class BuryConformance:
    """What `apply` writes of dead letters, and what `Store.letters` promises."""

    def test_a_job_that_is_refused_has_failed_and_leaves_no_letter(self, store: Store) -> None:
        (job_id,) = submitted(store)

        refused = after_event(store, read(store, job_id), Refused(LASTING_FAILURE), now=after(2))

        assert read(store, job_id) == refused
        assert (refused.state, refused.error_class) == (JobState.FAILED, "INVALID")
        assert [line.entry.kind for line in store.ledger(job_id)] == [Kind.REFUSED]
        assert store.letters.get(job_id) is None
        assert claim(store, now=after(10**6)) == []

    def test_a_refused_job_that_was_sent_back_leaves_a_letter_when_it_fails(
        self, store: Store
    ) -> None:
        (job_id,) = submitted(store)
        refused = after_event(store, read(store, job_id), Refused(LASTING_FAILURE), now=after(2))
        after_event(store, refused, RetryRequested("ada"), now=after(3))
        (running,) = claim(store, now=after(4))

        failed = after_event(store, running, Failed(PASSING_FAILURE), now=after(5))
        while failed.state is JobState.QUEUED:
            (running,) = claim(store, now=failed.run_at)
            failed = after_event(store, running, Failed(PASSING_FAILURE), now=failed.run_at)

        letter = letter_of(store, failed)
        assert (letter.error_class, letter.deaths, letter.attempts) == ("NETWORK", 1, 3)
        assert letter.first_failure_at == after(5)

    def test_a_job_that_fails_by_its_senders_mistake_leaves_no_letter(self, store: Store) -> None:
        job = started(store)

        failed = after_event(store, job, Failed(USER_ERROR), now=after(2))

        assert read(store, job.id) == failed
        assert (failed.state, failed.error_class) == (JobState.FAILED, "PDF_BROKEN")
        assert [line.entry.kind for line in store.ledger(job.id)] == [Kind.REFUSED]
        assert store.letters.get(job.id) is None

    def test_a_senders_mistake_closes_the_letter_from_before_it_was_sent_back(
        self, store: Store
    ) -> None:
        failed, other = buried(store), buried(store)
        before = letter_of(store, failed)
        after_event(store, failed, RetryRequested("ada"), now=after(3))
        (running,) = claim(store, now=after(4))
        after_event(store, running, Failed(USER_ERROR), now=after(5))

        closed = letter_of(store, failed)
        assert (closed.state, closed.error_class) == (LetterState.RESOLVED, before.error_class)
        assert letter_of(store, other).state is LetterState.OPEN

    @pytest.mark.parametrize("failure", [LASTING_FAILURE, ODD_FAILURE], ids=["plain", "odd"])
    def test_a_job_that_fails_for_good_leaves_a_letter(
        self, store: Store, failure: Failure
    ) -> None:
        job = started(store, owner="ada", queue="default", key="k")

        after_event(store, job, Failed(failure), now=after(2))

        letter = letter_of(store, job)
        assert (letter.error_class, letter.state) == (failure.error_class, LetterState.OPEN)

    def test_a_letter_counts_the_sends_of_deliveries_where_those_failed(self, store: Store) -> None:
        job = started(store)
        failed = decided(job, Failed(LASTING_FAILURE), now=after(7))

        after_decision(store, job, failed._replace(tries=Tries(5, after(3))))

        letter = letter_of(store, job)
        assert (letter.attempts, letter.first_failure_at) == (5, after(3))

    def test_a_job_whose_deadline_passes_leaves_a_letter(self, store: Store) -> None:
        job = started(store, deadline_at=after(10))
        expired = after_event(store, job, DeadlinePassed(), now=after(11))

        letter = letter_of(store, expired)

        assert (letter.error_class, letter.state) == ("TIMEOUT", LetterState.OPEN)
        assert (letter.first_failure_at, letter.last_failure_at) == (after(11), after(11))

    def test_a_late_result_leaves_the_letter_alone(self, store: Store) -> None:
        job = started(store, deadline_at=after(10))
        expired = after_event(store, job, DeadlinePassed(), now=after(11))
        letter = letter_of(store, expired)

        after_event(store, expired, Done('"at last"'), now=after(12))

        assert letter_of(store, expired) == letter

    def test_what_goes_on_or_ends_otherwise_leaves_no_letter(self, store: Store) -> None:
        retried = after_event(store, started(store), Failed(PASSING_FAILURE))
        cancelled = after_event(store, started(store), CancelRequested("ada"))
        complete = after_event(store, started(store, stage="send"), Done("1"))

        for job in (retried, cancelled, complete):
            assert store.letters.get(job.id) is None

    def test_a_letter_tells_since_when_the_stage_has_failed(self, store: Store) -> None:
        job = started(store)
        job = after_event(store, job, Failed(PASSING_FAILURE), now=after(1))
        (job,) = claim(store, now=after(20))
        job = after_event(store, job, Failed(PASSING_FAILURE), now=after(21))
        (job,) = claim(store, now=after(40))
        job = after_event(store, job, Failed(LASTING_FAILURE), now=after(41))

        letter = letter_of(store, job)

        assert (letter.first_failure_at, letter.last_failure_at) == (after(1), after(41))
        assert letter.attempts == 3

    def test_failures_of_an_earlier_stage_are_no_failures_of_this_one(self, store: Store) -> None:
        job = started(store)
        after_event(store, job, Failed(PASSING_FAILURE), now=after(1))
        (job,) = claim(store, now=after(20))
        after_event(store, job, Done('"drafted"'), now=after(21))
        (job,) = claim(store, now=after(22))
        job = after_event(store, job, Failed(LASTING_FAILURE), now=after(23))

        assert letter_of(store, job).first_failure_at == after(23)

    def test_a_stale_failure_leaves_no_letter(self, store: Store) -> None:
        job = started(store)
        stale = decided(job, Failed(LASTING_FAILURE), now=after(2))
        after_event(store, job, CancelRequested("ada"), now=after(1))

        assert store.apply([stale]) == set()

        assert store.letters.get(job.id) is None

    def test_a_failure_that_is_applied_twice_is_one_death(self, store: Store) -> None:
        job = started(store)
        decision = decided(job, Failed(LASTING_FAILURE))
        store.apply([decision])

        assert store.apply([decision]) == set()

        assert letter_of(store, job).deaths == 1

    def test_sending_a_job_back_moves_its_letter_and_is_on_record(self, store: Store) -> None:
        job = buried(store)
        letter = letter_of(store, job)
        asked = RetryRequested("ada", "it is back", from_start=True)

        after_event(store, job, asked, now=after(5))

        assert letter_of(store, job) == letter._replace(
            state=LetterState.REPLAYED, revision=1, updated_at=after(5), replayed_at=after(5)
        )
        assert entries(store, subject_kind=SUBJECT, subject=job.id) == [
            AuditEntry(
                after(5),
                "ada",
                "replayed",
                SUBJECT,
                job.id,
                "it is back",
                detail={"from_start": True, "stage": "draft"},
            )
        ]

    def test_a_job_that_dies_again_opens_its_letter_again(self, store: Store) -> None:
        job = buried(store)
        seen = triaged(letter_of(store, job))
        store.letters.save(seen._replace(state=LetterState.REMEDIATED, evidence="mended"))
        after_event(store, job, RetryRequested("ada"), now=after(10))
        (job,) = claim(store, now=after(11))
        again = decided(job, Failed(ODD_FAILURE), now=after(12))

        after_decision(store, job, again._replace(tries=Tries(4, after(12))))

        letter = letter_of(store, job)
        assert (letter.deaths, letter.previous_class) == (2, "INVALID")
        assert letter.first_failure_at == after(12)
        assert (letter.cause, letter.note, letter.replayed_at) == (None, None, None)

    def test_a_letter_that_was_closed_moves_when_its_job_is_sent_back(self, store: Store) -> None:
        job = buried(store)
        closed = letter_of(store, job)._replace(
            state=LetterState.RESOLVED, note="not needed", resolved_at=after(3)
        )
        store.letters.save(closed)

        after_event(store, job, RetryRequested("ada"), now=after(5))

        letter = letter_of(store, job)
        assert (letter.state, letter.resolved_at) == (LetterState.REPLAYED, None)

    def test_letters_of_a_large_batch_are_all_written(self, store: Store) -> None:
        submitted(store, 200)
        submitted(store, 100, stage="send")
        jobs = claim(store, limit=300)
        decisions = [
            decided(job, Failed(LASTING_FAILURE) if number % 2 else Done("1"))
            for number, job in enumerate(jobs)
        ]

        store.apply(decisions)

        found = store.letters.find(LetterFilter(), before=None, limit=1000)
        assert {letter.id for letter in found} == {job.id for job in jobs[1::2]}

    def test_what_a_person_does_is_written_with_its_record(self, store: Store) -> None:
        job = buried(store)
        letter = triaged(letter_of(store, job))

        saved = store.letters.save(letter, audit=[noted(letter)])

        assert saved == letter._replace(revision=1)
        assert store.letters.get(job.id) == saved
        assert entries(store, subject_kind=SUBJECT, subject=job.id) == [noted(letter)]

    def test_who_comes_second_changes_nothing(self, store: Store) -> None:
        job = buried(store)
        letter = letter_of(store, job)
        first = store.letters.save(triaged(letter), audit=[noted(letter)])

        second = store.letters.save(
            letter._replace(state=LetterState.RESOLVED, note="mine"), audit=[noted(letter, "bob")]
        )

        assert second is None
        assert store.letters.get(job.id) == first
        assert len(store.audit.latest(subject_kind=SUBJECT, subject=job.id)) == 1

    def test_a_letter_that_was_sent_back_meanwhile_is_not_overwritten(self, store: Store) -> None:
        job = buried(store)
        letter = letter_of(store, job)
        after_event(store, job, RetryRequested("ada"), now=after(5))

        assert store.letters.save(triaged(letter)) is None

        assert letter_of(store, job).state is LetterState.REPLAYED

    def test_of_many_at_once_one_moves_the_letter(self, store: Store, other_store: Store) -> None:
        job = buried(store)
        letter = letter_of(store, job)

        def move(number: int) -> bool:
            chosen = (store, other_store)[number % 2]
            entry = noted(letter, f"person {number}")
            return chosen.letters.save(triaged(letter), audit=[entry]) is not None

        with ThreadPoolExecutor(6) as people:
            moved = list(people.map(move, range(12)))

        assert moved.count(True) == 1
        assert letter_of(store, job).revision == 1
        assert len(store.audit.latest(subject_kind=SUBJECT, subject=job.id)) == 1

    def test_letters_are_found_by_what_they_say(self, store: Store) -> None:
        plain = buried(store)
        odd = after_event(
            store, started(store, owner="ada", stage="send"), Failed(ODD_FAILURE), now=after(8)
        )
        ids = {plain.id: "plain", odd.id: "odd"}

        def found(**wanted: Any) -> list[str]:
            page = store.letters.find(LetterFilter(**wanted), before=None, limit=10)
            return [ids[letter.id] for letter in page]  # type: ignore[index]

        assert found() == ["odd", "plain"]
        assert found(states=(LetterState.OPEN, LetterState.TRIAGED)) == ["odd", "plain"]
        assert found(states=(LetterState.TRIAGED,)) == []
        assert found(pipeline="letters") == ["odd", "plain"]
        assert found(pipeline="letter") == []
        assert found(stage="send") == ["odd"]
        assert found(queue="default", owner="ada") == ["odd"]
        assert found(error_class="INVALID") == ["plain"]
        assert found(fingerprint=letter_of(store, plain).fingerprint) == ["plain"]
        assert found(failed_since=after(8)) == ["odd"]
        assert found(failed_until=after(8)) == ["plain"]
        assert found(escalated=True) == []
        assert found(escalated=False) == ["odd", "plain"]

    def test_letters_come_in_pages_newest_job_first(self, store: Store) -> None:
        jobs = [buried(store) for _ in range(5)]

        first = store.letters.find(LetterFilter(), before=None, limit=3)
        second = store.letters.find(LetterFilter(), before=first[-1].id, limit=3)

        assert [letter.id for letter in (*first, *second)] == [job.id for job in jobs[::-1]]

    def test_the_standing_counts_what_waits_for_a_person(self, store: Store) -> None:
        waiting, again, resolved = (buried(store) for _ in range(3))
        after_event(store, again, RetryRequested("ada"))
        (claimed,) = claim(store)
        after_event(store, claimed, Failed(LASTING_FAILURE), now=after(2))
        letter = letter_of(store, resolved)
        done = letter._replace(state=LetterState.RESOLVED, resolved_at=NOW, note="done")
        store.letters.save(done, audit=[noted(letter)])

        assert letter_of(store, waiting).state is LetterState.OPEN
        assert store.letters.standing() == LetterStanding(waiting=2, escalated=1)

    def test_letters_of_one_cause_are_one_group(self, store: Store) -> None:
        jobs = [buried(store) for _ in range(2)]
        last = after_event(store, started(store), Failed(LASTING_FAILURE), now=after(9))
        odd = after_event(store, started(store), Failed(ODD_FAILURE), now=after(3))
        gone = buried(store)
        after_event(store, gone, RetryRequested("ada"))

        groups = store.letters.groups(limit=10)

        assert [(group.error_class, group.letters) for group in groups] == [
            ("INVALID", 3),
            ("UPSTREAM_5XX", 1),
        ]
        many, one = groups
        assert (many.first_failure_at, many.last_failure_at) == (NOW, after(9))
        assert (many.sample_id, many.message) == (last.id, "never")
        assert (many.pipelines, many.stage, many.escalated) == (("letters",), "draft", 0)
        assert many.fingerprint == letter_of(store, jobs[0]).fingerprint
        assert one.sample_id == odd.id
        assert len(store.letters.groups(limit=1)) == 1
        assert store.letters.groups(limit=9, fingerprint=one.fingerprint) == [one]
        assert store.letters.groups(limit=9, fingerprint="nothing") == []

    def test_a_replay_that_fails_for_the_same_reason_is_escalated(self, store: Store) -> None:
        jobs = [buried(store) for _ in range(3)]
        failures = [LASTING_FAILURE, ODD_FAILURE]
        for job, failure in zip(jobs, failures, strict=False):
            after_event(store, job, RetryRequested("ada"))
            (again,) = claim(store)
            after_event(store, again, Failed(failure), now=after(2))
        ids = [job.id for job in jobs]

        escalated = store.letters.escalated([*ids, next_id()])

        assert [letter.id for letter in escalated] == ids[:1]
        wanted = LetterFilter(escalated=True)
        assert [item.id for item in store.letters.find(wanted, before=None, limit=9)] == ids[:1]
        assert sum(group.escalated for group in store.letters.groups(limit=9)) == 1

    def test_a_letter_nobody_has_is_none(self, store: Store) -> None:
        assert store.letters.get(next_id()) is None
        assert store.letters.groups(limit=10) == []

    def test_job_and_letter_agree_however_they_race(self, store: Store, other_store: Store) -> None:
        """Two writers end and send back the same jobs; what one sees, both rows say."""
        jobs = [buried(store) for _ in range(6)]

        def send_back(number: int) -> None:
            chosen = (store, other_store)[number % 2]
            chosen.apply([decided(job, RetryRequested(f"p{number}"), now=after(5)) for job in jobs])

        with ThreadPoolExecutor(4) as people:
            list(people.map(send_back, range(8)))

        for job in jobs:
            assert read(store, job.id).state is JobState.QUEUED
            letter = letter_of(store, job)
            assert (letter.state, letter.revision) == (LetterState.REPLAYED, 1)
            assert len(store.audit.latest(subject_kind=SUBJECT, subject=job.id)) == 1
