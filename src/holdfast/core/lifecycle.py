"""The one place that says what happens next to a job.

`decide` takes a job as it was read, an event, the job's plan, the instant of the event and one
roll of chance, and returns what to write, or `Ignored`. `evolve` is the pure meaning of writing
it; both databases are held to it. Neither reads a clock, a random source or anything outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from holdfast.core import deadline
from holdfast.core.change import ended, entry, put_back, same
from holdfast.core.decision import Change, Decision, Ignored, Kind
from holdfast.core.event import (
    Answered,
    CancelRequested,
    DeadlinePassed,
    Done,
    Event,
    Failed,
    Held,
    Interrupted,
    LeaseExpired,
    Refused,
    RetryRequested,
    Snoozed,
    Suspended,
    WaitExpired,
)
from holdfast.core.failure import (
    CALLBACK_TIMEOUT,
    DEADLINE,
    SNOOZED_TOO_OFTEN,
    WORKER_LOST,
    Failure,
)
from holdfast.core.instant import FAR_FUTURE, Instant, later
from holdfast.core.job import Job, JobState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.core.change import Remark
    from holdfast.core.plan import Plan, StagePlan
    from holdfast.core.retry import Retry

ACCEPTS: Final[Mapping[JobState, frozenset[type[Event]]]] = {
    JobState.QUEUED: frozenset({CancelRequested, DeadlinePassed, Refused}),
    JobState.PROCESSING: frozenset(
        {
            Done,
            Failed,
            LeaseExpired,
            Snoozed,
            Interrupted,
            Held,
            Suspended,
            Answered,
            CancelRequested,
            DeadlinePassed,
        }
    ),
    JobState.WAITING: frozenset({Answered, Failed, WaitExpired, CancelRequested, DeadlinePassed}),
    JobState.COMPLETE: frozenset(),
    JobState.FAILED: frozenset({Done, Answered, RetryRequested}),
    JobState.CANCELLED: frozenset({Done, Answered}),
}
"""Which events a job in each state answers to; every other pair is ignored."""

_TIMED_OUT: Final = DEADLINE.error_class


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
            return _after_failure(job, stage, event.failure, now, roll, alike=event.alike)
        case LeaseExpired():
            if job.lease_until is not None and now <= job.lease_until:
                return _ignored(job, event, "the lease has not ended")
            return _after_failure(job, stage, WORKER_LOST, now, roll)
        case Snoozed():
            return _snooze(job, stage, event, now, roll)
        case Interrupted():
            return _hand_back(job, event, now)
        case Held():
            return _hold(job, event, now)
        case Suspended():
            return _suspend(job, event, now)
        case Answered():
            if event.stage != job.stage:
                return _ignored(job, event, f"the answer is for stage {event.stage!r}")
            return _after_result(job, plan, Done(event.result), now)
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
    assert_never(event)


def evolve(job: Job, decision: Decision) -> Job:
    """Return the job as it is once `decision` has been applied."""
    change = decision.change
    return job._replace(
        **change._asdict(),
        revision=decision.expected + 1,
        updated_at=decision.entry.at,
    )


def _after_result(job: Job, plan: Plan, done: Done, now: Instant) -> Decision | Ignored:
    if job.state is JobState.FAILED or job.state is JobState.CANCELLED:
        return _keep_as_late(job, done, now)
    if job.deadline_at is not None and now > job.deadline_at:
        return _expire(job, now, late_result=done.result)
    following = plan.after(job.stage)
    if following is None:
        return _complete(job, done, now)
    return _advance(job, following, done, now)


def _complete(job: Job, done: Done, now: Instant) -> Decision:
    change = ended(job, JobState.COMPLETE, now, result=done.result)
    noted = entry(job, Kind.COMPLETED, now)
    return Decision(job.id, job.revision, change, noted, None, None, done.messages)


def _advance(job: Job, following: StagePlan, done: Done, now: Instant) -> Decision:
    """Checkpoint the stage and start the next: at once under a new lease, or by the queue."""
    goes_on = done.lease_until is not None
    change = Change(
        JobState.PROCESSING if goes_on else JobState.QUEUED,
        following.name,
        job.run,
        1 if goes_on else 0,
        job.token + 1 if goes_on else job.token,
        now,
        job.deadline_at,
        job.holder if goes_on else None,
        done.lease_until,
        now if goes_on else job.attempt_at,
        None,
        0,
        job.interruptions,
        job.retries,
        None,
        None,
        None,
        None,
    )
    noted = entry(job, Kind.ADVANCED, now)
    return Decision(job.id, job.revision, change, noted, done.result, None, done.messages)


def _after_failure(
    job: Job,
    stage: StagePlan,
    failure: Failure,
    now: Instant,
    roll: float,
    *,
    alike: int | None = None,
) -> Decision:
    """Schedule the next attempt, or end the job when its budget or its time is used up."""
    if deadline.passed(job, now):
        return _expire(job, now, remark={"last_failure": failure.error_class})
    retry = stage.retry
    if not failure.retryable or _is_spent(job, retry, failure, alike):
        return _fail(job, failure, now)
    asked_us = failure.retry_after_us
    delay_us = retry.delay_us(failures=job.attempt, roll=roll, retry_after_us=asked_us)
    run_at = later(now, delay_us)
    if job.deadline_at is not None and run_at >= job.deadline_at:
        return _fail(job, failure, now, {"no_time_left_for": "another attempt"})
    change = put_back(job, run_at=run_at, attempt=job.attempt)
    remark: Remark = (
        {"delay_us": delay_us} if asked_us is None else {"delay_us": delay_us, "asked_us": asked_us}
    )
    noted = entry(job, Kind.RETRIED, now, failure, remark)
    return Decision(job.id, job.revision, change, noted, None, failure)


def _is_spent(job: Job, retry: Retry, failure: Failure, alike: int | None) -> bool:
    """Tell whether no attempt may follow, of this stage or after such a failure."""
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


def _hand_back(job: Job, event: Interrupted, now: Instant) -> Decision:
    change = put_back(
        job,
        run_at=later(now, event.after_us),
        attempt=job.attempt - 1,
        interruptions=job.interruptions + 1,
    )
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
    return Decision(job.id, job.revision, change, noted, None, None, event.messages)


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


def _keep_as_late(job: Job, done: Done, now: Instant) -> Decision | Ignored:
    """Keep a result that came after the end; whatever it says, the end stays what it was."""
    if job.state is JobState.CANCELLED:
        change = same(job)
    elif job.error_class == _TIMED_OUT and job.late_result is None:
        change = same(job)._replace(late_result=done.result)
    else:
        return _ignored(job, done, "the job has failed, and not by its deadline")
    return Decision(job.id, job.revision, change, entry(job, Kind.LATE, now))


def _revive(job: Job, plan: Plan, event: RetryRequested, now: Instant) -> Decision:
    change = Change(
        JobState.QUEUED,
        plan.first.name if event.from_start else job.stage,
        job.run + 1 if event.from_start else job.run,
        0,
        job.token,
        now,
        deadline.renewed(job, now),
        None,
        None,
        job.attempt_at,
        None,
        0,
        job.interruptions,
        job.retries + 1,
        None,
        None,
        None,
        None,
    )
    remark: Remark = {"by": event.by, "reason": event.reason, "from_start": event.from_start}
    return Decision(job.id, job.revision, change, entry(job, Kind.REVIVED, now, None, remark))


def _ignored(job: Job, event: Event, why: str) -> Ignored:
    return Ignored(job.id, job.state, type(event).__name__, why)
