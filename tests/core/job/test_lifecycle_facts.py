"""What a decision writes besides the state: due times, deadlines, checkpoints, the ledger."""

import json

import pytest

from holdfast.core.job.decision import Decision, Entry, Kind
from holdfast.core.job.event import (
    Answered,
    AnsweredFailure,
    CancelRequested,
    DeadlinePassed,
    Done,
    Failed,
    Held,
    Interrupted,
    LeaseExpired,
    ProgressNoted,
    RetryRequested,
    Snoozed,
    Suspended,
    WaitExpired,
)
from holdfast.core.job.job import JobState, WorkerId
from holdfast.core.job.lifecycle import decide, evolve
from holdfast.core.job.plan import Plan, StagePlan
from holdfast.core.values.failure import Category, Failure
from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, Instant
from holdfast.core.values.retry import Retry
from tests.core.job.lifecycle_table import NOW, PLAN, UNREACHABLE, a_job

QUEUED, PROCESSING = JobState.QUEUED, JobState.PROCESSING
FAILED, WAITING = JobState.FAILED, JobState.WAITING


def decided(job, event, *, roll=0.5, now=NOW) -> Decision:
    decision = decide(job, event, PLAN, now, roll)
    assert isinstance(decision, Decision)
    return decision


def test_a_retry_waits_for_the_backoff():
    decision = decided(a_job(PROCESSING), Failed(UNREACHABLE))

    assert decision.change.run_at == NOW + 8 * SECOND_US
    assert json.loads(decision.entry.detail) == {
        "message": "no route",
        "delay_us": 8 * SECOND_US,
    }


def test_the_backoff_grows_with_the_attempts_of_the_stage():
    plan = Plan("p", (StagePlan("two", Retry(attempts=9, base=1, jitter="none")),))

    delays_us = [
        decide(a_job(PROCESSING, attempt=n), Failed(UNREACHABLE), plan, NOW, 0.5).change.run_at
        - NOW
        for n in (1, 2, 3)
    ]

    assert delays_us == [1 * SECOND_US, 2 * SECOND_US, 4 * SECOND_US]


def test_a_retry_waits_as_long_as_the_upstream_asked():
    asked = Failure(
        error_class="RATE_LIMITED",
        message="slow down",
        category=Category.TRANSIENT,
        retryable=True,
        http_status=429,
        retry_after_us=30 * SECOND_US,
    )

    decision = decided(a_job(PROCESSING), Failed(asked))

    assert decision.change.run_at == NOW + 30 * SECOND_US
    assert (decision.entry.error_class, decision.entry.http_status) == ("RATE_LIMITED", 429)
    told = json.loads(decision.entry.detail)
    assert (told["delay_us"], told["asked_us"]) == (30 * SECOND_US, 30 * SECOND_US)


@pytest.mark.parametrize(
    ("time_left_us", "kind"),
    [(8_000_001, Kind.RETRIED), (8_000_000, Kind.FAILED), (1, Kind.FAILED)],
)
def test_a_retry_that_would_come_too_late_is_not_scheduled(time_left_us, kind):
    deadline_at = Instant(NOW + time_left_us)

    decision = decided(a_job(PROCESSING, deadline_at=deadline_at), Failed(UNREACHABLE))

    assert decision.entry.kind is kind
    if kind is Kind.FAILED:
        assert decision.change.error_class == "NETWORK"
        assert json.loads(decision.entry.detail)["no_time_left_for"] == "another attempt"


def test_an_attempt_that_failed_after_the_deadline_is_named_with_the_timeout():
    job = a_job(PROCESSING, deadline_at=Instant(NOW - 1))

    decision = decided(job, Failed(UNREACHABLE))

    assert decision.change.error_class == "TIMEOUT"
    assert json.loads(decision.entry.detail)["last_failure"] == "NETWORK"


def test_a_failed_job_keeps_the_facts_of_its_failure():
    job = a_job(PROCESSING, attempt=3)

    after = evolve(job, decided(job, Failed(UNREACHABLE)))

    assert Failure.from_document(json.loads(after.error)) == UNREACHABLE
    assert after.finished_at == NOW


def test_a_checkpoint_holds_what_the_stage_returned():
    decision = decided(a_job(PROCESSING), Done('{"pages":3}'))

    assert decision.checkpoint == '{"pages":3}'
    assert decision.entry.stage == "two"
    assert decision.change.run_at == NOW


def test_the_last_stage_leaves_its_result_on_the_job_and_no_checkpoint():
    decision = decided(a_job(PROCESSING, stage="three"), Done("1"))

    assert (decision.checkpoint, decision.change.result) == (None, "1")
    assert decision.change.finished_at == NOW


def test_a_worker_that_goes_on_holds_the_next_stage_under_a_new_lease():
    job = a_job(PROCESSING, snoozes=4)

    after = evolve(job, decided(job, Done("1", lease_until=Instant(NOW + 30))))

    assert (after.holder, after.lease_until, after.attempt_at) == (WorkerId("w"), NOW + 30, NOW)
    assert (after.attempt, after.token) == (1, job.token + 1)


@pytest.mark.parametrize("lease_until", [None, Instant(NOW + 30)])
def test_every_stage_may_postpone_itself_as_often_as_it_is_allowed(lease_until):
    job = a_job(PROCESSING, snoozes=5)

    assert evolve(job, decided(job, Done("1", lease_until=lease_until))).snoozes == 0


def test_postponing_costs_no_attempt_and_is_counted():
    job = a_job(PROCESSING, attempt=2, snoozes=1)
    decision = decided(job, Snoozed(7, "busy"))

    after = evolve(job, decision)

    assert (after.attempt, after.snoozes, after.run_at) == (1, 2, NOW + 7)
    assert json.loads(decision.entry.detail) == {"delay_us": 7, "reason": "busy"}


def test_postponing_into_the_past_means_now():
    assert decided(a_job(PROCESSING), Snoozed(-5)).change.run_at == NOW


def test_handing_back_costs_no_attempt_and_is_counted():
    job = a_job(PROCESSING, attempt=2, interruptions=1)

    after = evolve(job, decided(job, Interrupted()))

    assert (after.attempt, after.interruptions, after.run_at) == (1, 2, NOW)


def test_what_is_held_keeps_its_place_in_the_queue_unless_it_is_put_off():
    job = a_job(PROCESSING)._replace(run_at=Instant(NOW - 9 * SECOND_US))

    assert decided(job, Held("gateway", "CIRCUIT_OPEN")).change.run_at == job.run_at
    later = Instant(NOW + SECOND_US)
    assert decided(job, Held("gateway", "CIRCUIT_OPEN", later)).change.run_at == later


def test_a_wait_ends_when_it_says_or_never():
    assert decided(a_job(PROCESSING), Suspended()).change.run_at == FAR_FUTURE
    assert decided(a_job(PROCESSING), Suspended(Instant(NOW + 5))).change.run_at == NOW + 5


def test_a_cancel_says_who_and_why():
    decision = decided(a_job(QUEUED), CancelRequested("ada", "wrong file"))

    assert json.loads(decision.entry.detail) == {"by": "ada", "reason": "wrong file"}
    assert decision.change.finished_at == NOW


def test_an_answer_at_the_very_deadline_is_in_time():
    job = a_job(WAITING, deadline_at=NOW)

    assert decided(job, Answered("two", "1")).entry.kind is Kind.ADVANCED


def test_a_late_result_changes_nothing_else():
    job = a_job(FAILED, error_class="TIMEOUT", deadline_at=Instant(NOW - 9))

    after = evolve(job, decided(job, Done("1")))

    assert after == job._replace(late_result="1", revision=job.revision + 1, updated_at=NOW)


def test_a_late_completion_of_a_cancelled_job_is_noted_and_its_result_is_not():
    job = a_job(JobState.CANCELLED)
    decision = decided(job, Done("1"))

    assert evolve(job, decision) == job._replace(revision=job.revision + 1, updated_at=NOW)
    assert decision.entry.kind is Kind.LATE


def test_sent_back_a_job_gets_a_new_budget_and_its_time_again():
    job = a_job(
        FAILED, attempt=3, snoozes=5, retries=1, deadline_at=Instant(NOW - 50), late_result="1"
    )
    decision = decided(job, RetryRequested("ada", "fixed"))

    after = evolve(job, decision)

    assert (after.attempt, after.snoozes, after.retries, after.run) == (0, 0, 2, 1)
    assert after.deadline_at == NOW + (job.deadline_at - job.created_at)
    assert (after.run_at, after.finished_at, after.late_result) == (NOW, None, None)
    assert json.loads(decision.entry.detail) == {
        "by": "ada",
        "reason": "fixed",
        "from_start": False,
    }


def test_sent_back_to_the_start_a_job_begins_a_new_run():
    decision = decided(a_job(FAILED), RetryRequested("ada", from_start=True))

    assert (decision.change.run, decision.change.stage) == (2, "one")


def test_an_entry_says_when_and_where_the_attempt_ran():
    job = a_job(PROCESSING)

    entry = decided(job, Done("1")).entry

    assert entry == Entry(
        kind=Kind.ADVANCED,
        at=NOW,
        stage="two",
        attempt=1,
        holder=WorkerId("w"),
        started_at=job.attempt_at,
        error_class=None,
        http_status=None,
        detail=None,
    )


def test_a_decision_names_the_revision_it_was_decided_from():
    job = a_job(PROCESSING, revision=41)

    assert decided(job, Interrupted()).expected == 41
    assert evolve(job, decided(job, Interrupted())).revision == 42


def test_a_lease_counts_as_ended_only_after_its_last_instant():
    job = a_job(PROCESSING, lease_until=NOW)

    assert not isinstance(decide(job, LeaseExpired(), PLAN, NOW, 0.5), Decision)
    assert isinstance(decide(job, LeaseExpired(), PLAN, Instant(NOW + 1), 0.5), Decision)


def test_a_wait_is_over_at_the_instant_it_names():
    job = a_job(WAITING, run_at=NOW)

    assert not isinstance(decide(job, WaitExpired(), PLAN, Instant(NOW - 1), 0.5), Decision)
    assert isinstance(decide(job, WaitExpired(), PLAN, NOW, 0.5), Decision)


def test_a_deadline_counts_as_passed_only_after_its_last_instant():
    job = a_job(QUEUED, deadline_at=NOW)

    assert not isinstance(decide(job, DeadlinePassed(), PLAN, NOW, 0.5), Decision)
    assert isinstance(decide(job, DeadlinePassed(), PLAN, Instant(NOW + 1), 0.5), Decision)


def test_times_near_the_end_of_the_calendar_do_not_overflow():
    job = a_job(PROCESSING, lease_until=FAR_FUTURE)

    assert decided(job, Failed(UNREACHABLE), now=FAR_FUTURE).change.run_at == FAR_FUTURE
    assert decided(job, Snoozed(10**18), now=FAR_FUTURE).change.run_at == FAR_FUTURE


RECEIVED = Instant(NOW - 5 * SECOND_US)
PATIENT = Plan("p", (StagePlan("two", Retry(), progress_extends_us=60 * SECOND_US),))


@pytest.mark.parametrize("state", [PROCESSING, WAITING])
def test_a_progress_note_changes_nothing_but_the_history(state):
    job = a_job(state)
    decision = decided(job, ProgressNoted("two", "half done", 50))
    after = evolve(job, decision)

    assert after == job._replace(revision=job.revision + 1, updated_at=NOW)
    assert (decision.entry.kind, decision.entry.attempt) == (Kind.PROGRESS, 1)
    assert json.loads(decision.entry.detail) == {"note": "half done", "percent": 50}
    assert (decision.entry.holder, decision.entry.started_at) == (None, None)
    assert not decision.buries


def test_a_progress_note_lets_a_stage_wait_on_where_it_is_declared_so():
    event = ProgressNoted("two", "half done", None, RECEIVED)
    decision = decide(a_job(WAITING, run_at=Instant(NOW + 1)), event, PATIENT, NOW, 0.5)

    assert decision.change.run_at == RECEIVED + 60 * SECOND_US
    told = json.loads(decision.entry.detail)
    assert told["until"] == "2027-01-15T08:00:55.000000Z"
    assert told["received_at"] == "2027-01-15T07:59:55.000000Z"


@pytest.mark.parametrize("run_at", [Instant(NOW + 3600 * SECOND_US), FAR_FUTURE])
def test_a_progress_note_never_shortens_a_wait(run_at):
    event = ProgressNoted("two", "half done", None, RECEIVED)
    decision = decide(a_job(WAITING, run_at=run_at), event, PATIENT, NOW, 0.5)

    assert decision.change.run_at == run_at
    assert "until" not in json.loads(decision.entry.detail)


def test_a_progress_note_of_a_stage_that_still_runs_moves_no_due_time():
    job = a_job(PROCESSING)
    decision = decide(job, ProgressNoted("two", "half done"), PATIENT, NOW, 0.5)

    assert (decision.change.run_at, decision.change.lease_until) == (job.run_at, job.lease_until)


def test_an_answer_that_was_received_earlier_says_so():
    answered = decided(a_job(WAITING), Answered("two", "1", RECEIVED))
    at_once = decided(a_job(WAITING), Answered("two", "1", NOW))

    assert json.loads(answered.entry.detail) == {"received_at": "2027-01-15T07:59:55.000000Z"}
    assert answered.entry.at == NOW
    assert at_once.entry.detail is None


def test_an_answer_cannot_have_been_received_later_than_now():
    job = a_job(WAITING, deadline_at=NOW)
    answered = decided(job, Answered("two", "1", Instant(NOW + SECOND_US)))

    assert answered.entry.kind is Kind.ADVANCED


def test_a_failure_that_is_answered_is_retried_like_any_other():
    answered = decided(a_job(WAITING), AnsweredFailure("two", UNREACHABLE))

    assert answered.change.run_at == NOW + 8 * SECOND_US
    assert answered.failure is UNREACHABLE
    assert not answered.buries


def test_a_failure_that_is_answered_may_count_those_like_it():
    limited = UNREACHABLE._replace(attempts=2)
    first = decided(a_job(WAITING), AnsweredFailure("two", limited, 0))
    second = decided(a_job(WAITING), AnsweredFailure("two", limited, 1))

    assert (first.entry.kind, second.entry.kind) == (Kind.RETRIED, Kind.FAILED)
    assert second.buries


def test_a_failure_that_is_answered_too_late_is_told_and_leaves_the_letter_alone():
    job = a_job(FAILED, error_class="TIMEOUT")
    late = decided(job, AnsweredFailure("two", UNREACHABLE, None, RECEIVED))

    assert (late.entry.kind, late.entry.error_class) == (Kind.LATE, "NETWORK")
    assert evolve(job, late) == job._replace(revision=job.revision + 1, updated_at=NOW)
    assert not late.buries


def test_what_fails_under_an_opening_breaker_keeps_its_attempt_and_its_place():
    job = a_job(PROCESSING, attempt=2)

    decision = decided(job, Failed(UNREACHABLE, shut_by="gateway"))

    assert decision.entry.kind is Kind.HELD
    assert (decision.change.state, decision.change.attempt) == (QUEUED, 1)
    assert decision.change.run_at == job.run_at
    assert decision.entry.error_class == UNREACHABLE.error_class
    assert json.loads(decision.entry.detail) == {
        "message": "no route",
        "upstream": "gateway",
        "reason": "CIRCUIT_OPEN",
        "until": None,
    }


@pytest.mark.parametrize(
    ("failure", "attempts"),
    [
        (UNREACHABLE, 1),
        (UNREACHABLE._replace(attempts=2), 2),
        (UNREACHABLE._replace(retryable=False), 3),
    ],
    ids=["one attempt", "a limit of its own", "final"],
)
def test_what_may_not_be_repeated_is_not_given_back_by_a_breaker(failure: Failure, attempts: int):
    plan = Plan("p", (StagePlan("two", Retry(attempts=attempts)),))
    job = a_job(PROCESSING, attempt=attempts)

    decision = decide(job, Failed(failure, shut_by="gateway"), plan, NOW, 0.5)

    assert decision.change.state is FAILED


def test_a_breaker_gives_nothing_back_after_the_deadline():
    job = a_job(PROCESSING, deadline_at=Instant(NOW - 1))

    assert decided(job, Failed(UNREACHABLE, shut_by="gateway")).entry.kind is Kind.EXPIRED
