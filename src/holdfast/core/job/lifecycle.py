"""The one place that says what happens next to a job.

`decide` takes a job as it was read, an event, the job's plan, the instant of the event and one
roll of chance, and returns what to write, or `Ignored`. `evolve` is the pure meaning of writing
it; both databases are held to it. Neither reads a clock, a random source or anything outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from holdfast.core.job import deadline
from holdfast.core.job.change import advanced, ended, entry, put_back, same
from holdfast.core.job.decision import Decision, Ignored, Kind, Tries
from holdfast.core.job.event import (
    Answered,
    AnsweredFailure,
    CancelRequested,
    DeadlinePassed,
    Done,
    Event,
    Exhausted,
    Failed,
    Held,
    Interrupted,
    LeaseExpired,
    ProgressNoted,
    Refused,
    ResultRemoved,
    RetryRequested,
    Snoozed,
    Suspended,
    WaitExpired,
)
from holdfast.core.job.job import Job, JobState
from holdfast.core.values.failure import (
    CALLBACK_TIMEOUT,
    CIRCUIT_OPEN,
    DEADLINE,
    SNOOZED_TOO_OFTEN,
    WORKER_LOST,
    Failure,
)
from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, Instant, later, to_rfc3339

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.core.job.change import Remark
    from holdfast.core.job.plan import Plan, StagePlan
    from holdfast.core.values.retry import Retry

ACCEPTS: Final[Mapping[JobState, frozenset[type[Event]]]] = {
    JobState.QUEUED: frozenset({CancelRequested, DeadlinePassed, Refused}),
    JobState.PROCESSING: frozenset(
        {
            Done,
            Failed,
            Exhausted,
            LeaseExpired,
            Snoozed,
            Interrupted,
            Held,
            Suspended,
            Answered,
            AnsweredFailure,
            ProgressNoted,
            CancelRequested,
            DeadlinePassed,
        }
    ),
    JobState.WAITING: frozenset(
        {
            Answered,
            AnsweredFailure,
            ProgressNoted,
            Failed,
            Exhausted,
            WaitExpired,
            CancelRequested,
            DeadlinePassed,
        }
    ),
    JobState.COMPLETE: frozenset({ResultRemoved}),
    JobState.FAILED: frozenset({Done, Answered, AnsweredFailure, RetryRequested}),
    JobState.CANCELLED: frozenset({Done, Answered, AnsweredFailure}),
}
"""Which events a job in each state answers to; every other pair is ignored."""

MAX_REVISIONS: Final = 10_000
"""How far a job's history may grow by what others say about it and nothing follows from."""
_TIMED_OUT: Final = DEADLINE.error_class
MAX_UNSPENT_DELAY_US: Final = 300 * SECOND_US
"""The longest wait after a failure that spends no attempt: jobs go on soon after a person acted."""


def decide(  # noqa: C901, PLR0912 - one case per event of a closed set
    job: Job, event: Event, plan: Plan, now: Instant, roll: float
) -> Decision | Ignored:
    """Return what to write because of `event`, which happened at `now`; `roll` is in [0, 1)."""
    if type(event) not in ACCEPTS[job.state]:
        return _ignored(job, event, "not accepted in this state")
    stage = plan.stage(job.stage)
    if stage is None:
        return _ignored(job, event, "its plan has no such stage")
    match event:
        case Done():
            return _after_result(job, plan, event, now)
        case Failed():
            if event.shut_by is not None and _is_given_back(job, stage, event.failure, now):
                return _give_back(job, event.failure, event.shut_by, now)
            return _after_failure(job, stage, event.failure, now, roll, alike=event.alike)
        case Exhausted():
            return _give_up(job, event, now)
        case LeaseExpired():
            if job.lease_until is not None and now <= job.lease_until:
                return _ignored(job, event, "the lease has not ended")
            return _after_failure(job, stage, WORKER_LOST, now, roll)
        case Snoozed():
            return _snooze(job, stage, event, now, roll)
        case Interrupted():
            return _hand_back(job, now)
        case Held():
            return _hold(job, event, now)
        case Suspended():
            return _suspend(job, event, now)
        case Answered() | AnsweredFailure() | ProgressNoted():
            return _after_answer(job, plan, event, now, roll)
        case WaitExpired():
            if now < job.run_at:
                return _ignored(job, event, "the wait is not over")
            return _after_failure(job, stage, CALLBACK_TIMEOUT, now, roll)
        case CancelRequested():
            return _cancel(job, event, now)
        case DeadlinePassed():
            if not deadline.passed(job, now):
                return _ignored(job, event, "the deadline has not passed")
            return _expire(job, now)
        case Refused():
            if job.revision:
                return _ignored(job, event, "it was let in")
            return _fail(job, event.failure, now, kind=Kind.REFUSED)
        case RetryRequested():
            return _revive(job, plan, event, now)
        case ResultRemoved():
            remark: Remark = {"by": event.by, "reason": event.reason}
            noted = entry(job, Kind.RESULT_REMOVED, now, None, remark)
            return Decision(job.id, job.revision, same(job), noted)
    assert_never(event)


def evolve(job: Job, decision: Decision) -> Job:
    """Return the job as it is once `decision` has been applied."""
    change = decision.change
    return job._replace(
        **change._asdict(),
        revision=decision.expected + 1,
        updated_at=decision.entry.at,
    )


def _after_answer(
    job: Job,
    plan: Plan,
    event: Answered | AnsweredFailure | ProgressNoted,
    now: Instant,
    roll: float,
) -> Decision | Ignored:
    """Decide by when the answer was received: what it took to get here is not its sender's."""
    stage = plan.stage(job.stage)
    if stage is None or event.stage != job.stage:
        return _ignored(job, event, f"the answer is for stage {event.stage!r}")
    at = now if event.received_at is None else min(event.received_at, now)
    match event:
        case Answered():
            return _after_result(job, plan, Done(event.result), now, at)
        case AnsweredFailure():
            if job.state is JobState.FAILED or job.state is JobState.CANCELLED:
                return _note_late_failure(job, event, now, at)
            return _after_failure(job, stage, event.failure, now, roll, alike=event.alike, at=at)
        case ProgressNoted():
            return _note_progress(job, stage, event, now, at)
    assert_never(event)


def _after_result(
    job: Job, plan: Plan, done: Done, now: Instant, at: Instant | None = None
) -> Decision | Ignored:
    """Go on with a result, which was received `at` that instant: now unless given."""
    if job.state is JobState.FAILED or job.state is JobState.CANCELLED:
        return _keep_as_late(job, done, now, at)
    remark = None if at is None else _received(at, now)
    if job.deadline_at is not None and (now if at is None else at) > job.deadline_at:
        told = {"late_result": True, **(remark or {})}
        return _expire(job, now, late_result=done.result, remark=told)
    following = plan.after(job.stage)
    if following is None:
        return _complete(job, done, now, remark)
    return _advance(job, following, done, now, remark)


def _received(at: Instant | None, now: Instant) -> Remark | None:
    """Return what the history says of an answer that was received before it is written."""
    return None if at is None or at == now else {"received_at": to_rfc3339(at)}


def _complete(job: Job, done: Done, now: Instant, remark: Remark | None) -> Decision:
    change = ended(job, JobState.COMPLETE, now, result=done.result)
    noted = entry(job, Kind.COMPLETED, now, None, remark, http_status=done.http_status)
    return Decision(job.id, job.revision, change, noted, messages=done.messages)


def _advance(
    job: Job, following: StagePlan, done: Done, now: Instant, remark: Remark | None
) -> Decision:
    """Checkpoint the stage and start the next: at once under a new lease, or by the queue."""
    change = advanced(job, following.name, now, lease_until=done.lease_until)
    noted = entry(job, Kind.ADVANCED, now, None, remark, http_status=done.http_status)
    return Decision(
        job.id, job.revision, change, noted, checkpoint=done.result, messages=done.messages
    )


def _after_failure(
    job: Job,
    stage: StagePlan,
    failure: Failure,
    now: Instant,
    roll: float,
    *,
    alike: int | None = None,
    at: Instant | None = None,
) -> Decision:
    """Schedule the next attempt, or end the job when its budget or its time is used up."""
    if deadline.passed(job, now if at is None else at):
        return _expire(job, now, remark={"last_failure": failure.error_class})
    retry = stage.retry
    if failure.user_error:
        return _fail(job, failure, now, kind=Kind.REFUSED)
    if not failure.retryable or _is_spent(job, retry, failure, alike):
        return _fail(job, failure, now)
    asked_us = failure.retry_after_us
    spends = failure.spends_attempt
    failures = job.attempt if spends else (alike or 0) + 1
    delay_us = retry.delay_us(failures=failures, roll=roll, retry_after_us=asked_us)
    if not spends:
        delay_us = min(delay_us, MAX_UNSPENT_DELAY_US)
    run_at = later(now, delay_us)
    if job.deadline_at is not None and run_at >= job.deadline_at:
        return _fail(job, failure, now, {"no_time_left_for": "another attempt"})
    change = put_back(job, run_at=run_at, attempt=job.attempt if spends else job.attempt - 1)
    remark: dict[str, str | int | None] = {"delay_us": delay_us}
    if asked_us is not None:
        remark["asked_us"] = asked_us
    if not spends:
        remark["spends_attempt"] = False
    noted = entry(job, Kind.RETRIED, now, failure, remark)
    return Decision(job.id, job.revision, change, noted, None, failure)


def _is_given_back(job: Job, stage: StagePlan, failure: Failure, now: Instant) -> bool:
    """Return whether a failure under a breaker that opened costs nothing.

    What may be tried once only, or so often and no more, is not repeated beyond that.
    """
    repeatable = failure.retryable and failure.attempts is None and stage.retry.attempts > 1
    return repeatable and failure.spends_attempt and not deadline.passed(job, now)


def _give_back(job: Job, failure: Failure, upstream: str, now: Instant) -> Decision:
    """Hold the job as those that were not claimed: it keeps its place and its attempt."""
    change = put_back(job, run_at=job.run_at, attempt=job.attempt - 1)
    remark: Remark = {"upstream": upstream, "reason": CIRCUIT_OPEN.error_class, "until": None}
    noted = entry(job, Kind.HELD, now, failure, remark)
    return Decision(job.id, job.revision, change, noted)


def _give_up(job: Job, event: Exhausted, now: Instant) -> Decision:
    failure = event.failure
    if deadline.passed(job, now):
        return _expire(job, now, remark={"last_failure": failure.error_class})
    decision = _fail(job, failure, now, {"tries": event.attempts})
    return decision._replace(tries=Tries(event.attempts, min(event.first_at, now)))


def _is_spent(job: Job, retry: Retry, failure: Failure, alike: int | None) -> bool:
    """Return whether no attempt may follow, of this stage or after such a failure."""
    if not failure.spends_attempt:
        return False
    limit = failure.attempts
    if limit is not None and (job.attempt if alike is None else alike + 1) >= limit:
        return True
    return job.attempt >= retry.attempts and (limit is None or not failure.own_budget)


def _fail(
    job: Job,
    failure: Failure,
    now: Instant,
    remark: Remark | None = None,
    *,
    kind: Kind = Kind.FAILED,
) -> Decision:
    change = ended(job, JobState.FAILED, now, error=failure.text, error_class=failure.error_class)
    noted = entry(job, kind, now, failure, remark)
    return Decision(job.id, job.revision, change, noted, None, failure)


def _snooze(job: Job, stage: StagePlan, event: Snoozed, now: Instant, roll: float) -> Decision:
    if job.snoozes >= stage.max_snoozes:
        return _after_failure(job, stage, SNOOZED_TOO_OFTEN, now, roll)
    run_at = later(now, max(event.after_us, 0))
    change = put_back(job, run_at=run_at, attempt=job.attempt - 1, snoozes=job.snoozes + 1)
    remark: Remark = {"delay_us": event.after_us, "reason": event.reason}
    return Decision(job.id, job.revision, change, entry(job, Kind.SNOOZED, now, None, remark))


def _hand_back(job: Job, now: Instant) -> Decision:
    change = put_back(job, run_at=now, attempt=job.attempt - 1, interruptions=job.interruptions + 1)
    return Decision(job.id, job.revision, change, entry(job, Kind.INTERRUPTED, now))


def _hold(job: Job, event: Held, now: Instant) -> Decision:
    until = event.until
    run_at = job.run_at if until is None else max(until, now)
    change = put_back(job, run_at=run_at, attempt=job.attempt - 1)
    remark: Remark = {"upstream": event.upstream, "reason": event.reason, "until": until}
    return Decision(job.id, job.revision, change, entry(job, Kind.HELD, now, None, remark))


def _suspend(job: Job, event: Suspended, now: Instant) -> Decision:
    until = FAR_FUTURE if event.until is None else event.until
    change = put_back(job, run_at=until, attempt=job.attempt, state=JobState.WAITING)
    noted = entry(job, Kind.SUSPENDED, now)
    return Decision(job.id, job.revision, change, noted, messages=event.messages)


def _cancel(job: Job, event: CancelRequested, now: Instant) -> Decision:
    change = ended(job, JobState.CANCELLED, now)
    remark: Remark = {"by": event.by, "reason": event.reason}
    return Decision(job.id, job.revision, change, entry(job, Kind.CANCELLED, now, None, remark))


def _expire(
    job: Job,
    now: Instant,
    *,
    late_result: str | None = None,
    remark: Remark | None = None,
) -> Decision:
    change = ended(
        job,
        JobState.FAILED,
        now,
        error=DEADLINE.text,
        error_class=_TIMED_OUT,
        late_result=late_result,
    )
    noted = entry(job, Kind.EXPIRED, now, DEADLINE, remark)
    return Decision(job.id, job.revision, change, noted, None, DEADLINE)


def _note_progress(
    job: Job, stage: StagePlan, event: ProgressNoted, now: Instant, at: Instant
) -> Decision | Ignored:
    """Keep a note in the history, and wait on for it where the stage is declared so."""
    if deadline.passed(job, at):
        return _ignored(job, event, "the deadline has passed")
    if job.revision >= MAX_REVISIONS:
        return _ignored(job, event, "its history is full")
    change = same(job)
    remark: dict[str, str | int | None] = {"note": event.note}
    if event.percent is not None:
        remark["percent"] = event.percent
    extends_us = stage.progress_extends_us
    if extends_us is not None and job.state is JobState.WAITING:
        until = later(at, extends_us)
        if until > job.run_at:
            change = change._replace(run_at=until)
            remark["until"] = to_rfc3339(until)
    noted = entry(job, Kind.PROGRESS, now, None, {**remark, **(_received(at, now) or {})})
    # No attempt has ended by it.
    noted = noted._replace(holder=None, started_at=None)
    return Decision(job.id, job.revision, change, noted)


def _note_late_failure(
    job: Job, event: AnsweredFailure, now: Instant, at: Instant
) -> Decision | Ignored:
    """Keep in the history that a failure was answered after the end, which stays what it was."""
    if job.state is JobState.FAILED and job.error_class != _TIMED_OUT:
        return _ignored(job, event, "the job has failed, and not by its deadline")
    if job.late_result is not None:
        return _ignored(job, event, "a late result is kept")
    if job.revision >= MAX_REVISIONS:
        return _ignored(job, event, "its history is full")
    noted = entry(job, Kind.LATE, now, event.failure, _received(at, now))
    return Decision(job.id, job.revision, same(job), noted)


def _keep_as_late(job: Job, done: Done, now: Instant, at: Instant | None) -> Decision | Ignored:
    """Keep a result that came after the end; whatever it says, the end stays what it was."""
    if job.state is JobState.CANCELLED:
        if job.revision >= MAX_REVISIONS:
            return _ignored(job, done, "its history is full")
        change = same(job)
    elif job.error_class == _TIMED_OUT and job.late_result is None:
        change = same(job)._replace(late_result=done.result)
    else:
        return _ignored(job, done, "the job has failed, and not by its deadline")
    noted = entry(job, Kind.LATE, now, None, _received(at, now))
    return Decision(job.id, job.revision, change, noted)


def _revive(job: Job, plan: Plan, event: RetryRequested, now: Instant) -> Decision:
    change = put_back(job, run_at=now, attempt=0, snoozes=0)._replace(
        stage=plan.first.name if event.from_start else job.stage,
        run=job.run + 1 if event.from_start else job.run,
        deadline_at=deadline.renewed(job, now),
        retries=job.retries + 1,
    )
    remark: Remark = {"by": event.by, "reason": event.reason, "from_start": event.from_start}
    return Decision(job.id, job.revision, change, entry(job, Kind.REVIVED, now, None, remark))


def _ignored(job: Job, event: Event, why: str) -> Ignored:
    return Ignored(job.id, job.state, type(event).__name__, why)
