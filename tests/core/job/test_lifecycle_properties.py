"""What holds for every job that events can lead to, however they come."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.job.decision import Decision, Kind
from holdfast.core.job.event import (
    Answered,
    AnsweredFailure,
    CancelRequested,
    DeadlinePassed,
    Done,
    Event,
    Failed,
    Held,
    Interrupted,
    LeaseExpired,
    ProgressNoted,
    Refused,
    RetryRequested,
    Snoozed,
    Suspended,
    WaitExpired,
)
from holdfast.core.job.job import ENDED, Job, JobState, WorkerId
from holdfast.core.job.lease import claimable, claimed
from holdfast.core.job.lifecycle import decide, evolve
from holdfast.core.job.plan import Plan, StagePlan
from holdfast.core.values.failure import Category, Failure
from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, Instant, later
from holdfast.core.values.retry import Jitter, Retry
from tests.core.job.lifecycle_table import NOW, a_job

rolls = st.floats(0, 1, exclude_max=True)
spans_us = st.one_of(
    st.just(0), st.integers(0, 100 * SECOND_US), st.sampled_from([-1, 86_400 * SECOND_US, 10**18])
)
moments = spans_us.map(lambda span_us: later(NOW, span_us))
results = st.sampled_from(["null", "1", '{"a":[]}'])
failures = st.builds(
    Failure,
    error_class=st.sampled_from(["NETWORK", "INVALID", "TIMEOUT"]),
    message=st.text(max_size=5),
    category=st.sampled_from(Category),
    retryable=st.booleans(),
    attempts=st.one_of(st.none(), st.integers(1, 3)),
    own_budget=st.booleans(),
    spends_attempt=st.booleans(),
    user_error=st.booleans(),
    retry_after_us=st.one_of(st.none(), st.integers(0, 10**12)),
)
answered = st.sampled_from(["one", "two", "three"])
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(Done, results, st.one_of(st.none(), moments)),
    st.builds(Failed, failures),
    st.just(LeaseExpired()),
    st.builds(Snoozed, spans_us),
    st.just(Interrupted()),
    st.builds(Held, st.just("gateway"), st.just("CIRCUIT_OPEN"), st.none() | moments),
    st.builds(Suspended, st.one_of(st.none(), moments)),
    st.builds(Answered, answered, results, st.none() | moments),
    st.builds(AnsweredFailure, answered, failures, received_at=st.none() | moments),
    st.builds(ProgressNoted, answered, st.just("half done"), received_at=st.none() | moments),
    st.just(WaitExpired()),
    st.builds(CancelRequested, st.just("ada")),
    st.just(DeadlinePassed()),
    st.builds(Refused, failures),
    st.builds(RetryRequested, st.just("ada"), from_start=st.booleans()),
)
stages = st.builds(
    StagePlan,
    name=st.just("unnamed"),
    retry=st.builds(
        Retry, attempts=st.integers(1, 4), jitter=st.sampled_from([Jitter.FULL, Jitter.NONE])
    ),
    max_snoozes=st.integers(0, 3),
    progress_extends_us=st.none() | st.integers(1, 10**9),
)
plans = st.tuples(stages, stages, stages).map(
    lambda given: Plan(
        "p",
        tuple(
            StagePlan(name, stage.retry, max_snoozes=stage.max_snoozes)
            for name, stage in zip(("one", "two", "three"), given, strict=True)
        ),
    )
)


class Step(NamedTuple):
    """A turn of a job's life: time passes, a worker may claim it, an event comes."""

    span_us: int
    claims: bool
    event: Event
    roll: float


lives = st.lists(
    st.builds(
        Step,
        st.one_of(st.just(0), st.integers(0, 90 * SECOND_US)),
        st.sampled_from([True, True, False]),
        events,
        rolls,
    ),
    max_size=25,
)
deadlines = st.one_of(st.none(), moments)


def new_job(deadline_at: Instant | None) -> Job:
    return a_job(JobState.QUEUED)._replace(
        stage="one",
        attempt=0,
        token=0,
        revision=0,
        run_at=NOW,
        created_at=NOW,
        deadline_at=deadline_at,
        started_at=None,
        attempt_at=None,
    )


def live(plan: Plan, life: list[Step], deadline_at: Instant | None):
    """Yield each decision with the job before and after it."""
    job, now = new_job(deadline_at), NOW
    for step in life:
        now = later(now, step.span_us)
        if step.claims and claimable(job, now=now):
            job = claimed(job, holder=WorkerId("w"), lease_us=30 * SECOND_US, now=now)
        decision = decide(job, step.event, plan, now, step.roll)
        if isinstance(decision, Decision):
            after = evolve(job, decision)
            yield job, step.event, decision, after
            job = after


@given(plans, lives, deadlines)
def test_lease_result_error_and_end_are_there_exactly_when_the_state_says_so(plan, life, deadline):
    for _, _, _, after in live(plan, life, deadline):
        leased = after.state is JobState.PROCESSING
        assert (after.holder is not None) == (after.lease_until is not None) == leased
        assert (after.result is not None) == (after.state is JobState.COMPLETE)
        assert (after.error is not None) == (after.state is JobState.FAILED)
        assert (after.error_class is not None) == (after.state is JobState.FAILED)
        assert (after.finished_at is not None) == (after.state in ENDED)
        assert after.late_result is None or after.error_class == "TIMEOUT"


@given(plans, lives, deadlines)
def test_no_stage_is_attempted_more_often_than_its_budget_or_that_of_a_failure(
    plan, life, deadline
):
    own_budgets = [
        step.event.failure.attempts or 0
        for step in life
        if isinstance(step.event, Failed | AnsweredFailure) and step.event.failure.own_budget
    ]
    for _, _, _, after in live(plan, life, deadline):
        stage = plan.stage(after.stage)
        budget = max(stage.retry.attempts, *own_budgets, 0)
        assert 0 <= after.attempt <= budget
        if after.state is JobState.QUEUED:
            assert after.attempt < budget
        assert after.snoozes <= stage.max_snoozes


@given(plans, lives, deadlines)
def test_the_end_is_the_end_but_for_a_manual_retry_and_a_late_result(plan, life, deadline):
    for before, event, decision, after in live(plan, life, deadline):
        if before.state is JobState.COMPLETE:
            raise AssertionError("a complete job was changed")
        if before.state in {JobState.FAILED, JobState.CANCELLED}:
            if isinstance(event, RetryRequested):
                assert (before.state, after.state) == (JobState.FAILED, JobState.QUEUED)
                continue
            assert decision.entry.kind is Kind.LATE
            assert before.late_result is None
            assert after == before._replace(
                late_result=after.late_result,
                revision=before.revision + 1,
                updated_at=after.updated_at,
            )


@given(plans, lives, deadlines)
def test_a_retry_is_due_before_the_deadline_and_within_the_calendar(plan, life, deadline):
    for _, _, decision, after in live(plan, life, deadline):
        assert 0 <= after.run_at <= FAR_FUTURE
        if decision.entry.kind is Kind.RETRIED:
            assert after.run_at >= decision.entry.at
            assert after.deadline_at is None or after.run_at < after.deadline_at


@given(plans, lives, deadlines)
def test_every_decision_raises_the_revision_by_one_and_no_counter_falls(plan, life, deadline):
    for before, _, decision, after in live(plan, life, deadline):
        assert decision.expected == before.revision
        assert after.revision == before.revision + 1
        assert after.token >= before.token
        assert after.run >= before.run
        assert after.retries >= before.retries
        assert after.interruptions >= before.interruptions
        leased_anew = (
            after.state is JobState.PROCESSING and decision.entry.kind is not Kind.PROGRESS
        )
        assert after.token - before.token == leased_anew


@given(plans, lives, deadlines)
def test_a_progress_note_changes_nothing_but_the_history_and_how_long_is_waited(
    plan, life, deadline
):
    for before, event, _, after in live(plan, life, deadline):
        if isinstance(event, ProgressNoted):
            same = {"revision": after.revision, "updated_at": after.updated_at}
            assert after == before._replace(run_at=after.run_at, **same)
            assert after.run_at >= before.run_at


@given(plans, lives, deadlines)
def test_after_the_deadline_a_job_that_was_let_in_ends_only_by_timeout_or_cancel(
    plan, life, deadline
):
    for before, event, decision, after in live(plan, life, deadline):
        was_active = before.state not in ENDED
        at = min(getattr(event, "received_at", None) or decision.entry.at, decision.entry.at)
        past = before.deadline_at is not None and at > before.deadline_at
        if was_active and past and after.state in ENDED and decision.entry.kind is not Kind.REFUSED:
            assert after.error_class == "TIMEOUT" or after.state is JobState.CANCELLED


@given(plans, lives, deadlines)
def test_a_stage_starts_only_after_the_checkpoint_of_the_one_before(plan, life, deadline):
    order = [stage.name for stage in plan.stages]
    for before, event, decision, after in live(plan, life, deadline):
        if after.stage == before.stage:
            assert decision.checkpoint is None
        elif isinstance(event, RetryRequested):
            assert after.stage == "one"
            assert after.run == before.run + 1
        else:
            assert order.index(after.stage) == order.index(before.stage) + 1
            assert decision.checkpoint is not None
            assert decision.entry.stage == before.stage


@given(plans, lives, deadlines)
def test_the_same_facts_always_lead_to_the_same_decision(plan, life, deadline):
    again = Plan.from_document(plan.to_document())

    assert list(live(plan, life, deadline)) == list(live(again, life, deadline))


@given(plans, lives, deadlines)
def test_what_never_changes_stays(plan, life, deadline):
    fixed = Job._fields.index("state")
    for before, _, decision, after in live(plan, life, deadline):
        assert after[:fixed] == before[:fixed]
        assert after.started_at == before.started_at
        assert after.updated_at == decision.entry.at
