"""What follows from every event in every state, written out.

A line reads: a job in that state, met by that event, leads to this. `-` means empty, `ignored`
means that nothing is written. The job is in the second of three stages, in its first attempt of
three, under its fourth lease, without a deadline; its lease and its wait are over.
"""

from typing import NamedTuple

from holdfast.core.job.event import (
    Answered,
    AnsweredFailure,
    CancelRequested,
    DeadlinePassed,
    Done,
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
from holdfast.core.job.job import Job, JobState, PlanDigest, WorkerId
from holdfast.core.job.lifecycle import MAX_REVISIONS
from holdfast.core.job.plan import Plan, StagePlan
from holdfast.core.values.failure import Category, Failure
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.core.values.retry import Retry

NOW = Instant(1_800_000_000 * SECOND_US)
RETRY = Retry(attempts=3, base=8, factor=1, jitter="none")
PLAN = Plan("p", tuple(StagePlan(name, RETRY, max_snoozes=5) for name in ("one", "two", "three")))
UNREACHABLE = Failure(
    error_class="NETWORK", message="no route", category=Category.TRANSIENT, retryable=True
)
EVENTS = {
    "Done": Done('"r"'),
    "Failed": Failed(UNREACHABLE),
    "Exhausted": Exhausted(UNREACHABLE, attempts=5, first_at=Instant(NOW - 9 * SECOND_US)),
    "LeaseExpired": LeaseExpired(),
    "Snoozed": Snoozed(2 * SECOND_US),
    "Interrupted": Interrupted(),
    "Held": Held("gateway", "CIRCUIT_OPEN"),
    "Suspended": Suspended(),
    "Answered": Answered("two", '"a"'),
    "AnsweredFailure": AnsweredFailure("two", UNREACHABLE),
    "ProgressNoted": ProgressNoted("two", "half done", 50),
    "WaitExpired": WaitExpired(),
    "CancelRequested": CancelRequested("ada"),
    "DeadlinePassed": DeadlinePassed(),
    "Refused": Refused(UNREACHABLE),
    "RetryRequested": RetryRequested("ada"),
    "ResultRemoved": ResultRemoved("retention"),
}
PLAIN = """
state      event           | kind        state      stage attempt token lease result late error

queued     Done            | ignored
queued     Failed          | ignored
queued     Exhausted       | ignored
queued     LeaseExpired    | ignored
queued     Snoozed         | ignored
queued     Interrupted     | ignored
queued     Held            | ignored
queued     Suspended       | ignored
queued     Answered        | ignored
queued     AnsweredFailure | ignored
queued     ProgressNoted   | ignored
queued     WaitExpired     | ignored
queued     CancelRequested | cancelled   cancelled  two   1       4     -     -      -    -
queued     DeadlinePassed  | ignored
queued     Refused         | ignored
queued     RetryRequested  | ignored
queued     ResultRemoved   | ignored

processing Done            | advanced    queued     three 0       4     -     -      -    -
processing Failed          | retried     queued     two   1       4     -     -      -    -
processing Exhausted       | failed      failed     two   1       4     -     -      -    NETWORK
processing LeaseExpired    | retried     queued     two   1       4     -     -      -    -
processing Snoozed         | snoozed     queued     two   0       4     -     -      -    -
processing Interrupted     | interrupted queued     two   0       4     -     -      -    -
processing Held            | held        queued     two   0       4     -     -      -    -
processing Suspended       | suspended   waiting    two   1       4     -     -      -    -
processing Answered        | advanced    queued     three 0       4     -     -      -    -
processing AnsweredFailure | retried     queued     two   1       4     -     -      -    -
processing ProgressNoted   | progress    processing two   1       4     held  -      -    -
processing WaitExpired     | ignored
processing CancelRequested | cancelled   cancelled  two   1       4     -     -      -    -
processing DeadlinePassed  | ignored
processing Refused         | ignored
processing RetryRequested  | ignored
processing ResultRemoved   | ignored

waiting    Done            | ignored
waiting    Failed          | retried     queued     two   1       4     -     -      -    -
waiting    Exhausted       | failed      failed     two   1       4     -     -      -    NETWORK
waiting    LeaseExpired    | ignored
waiting    Snoozed         | ignored
waiting    Interrupted     | ignored
waiting    Held            | ignored
waiting    Suspended       | ignored
waiting    Answered        | advanced    queued     three 0       4     -     -      -    -
waiting    AnsweredFailure | retried     queued     two   1       4     -     -      -    -
waiting    ProgressNoted   | progress    waiting    two   1       4     -     -      -    -
waiting    WaitExpired     | retried     queued     two   1       4     -     -      -    -
waiting    CancelRequested | cancelled   cancelled  two   1       4     -     -      -    -
waiting    DeadlinePassed  | ignored
waiting    Refused         | ignored
waiting    RetryRequested  | ignored
waiting    ResultRemoved   | ignored

complete   Done            | ignored
complete   Failed          | ignored
complete   Exhausted       | ignored
complete   LeaseExpired    | ignored
complete   Snoozed         | ignored
complete   Interrupted     | ignored
complete   Held            | ignored
complete   Suspended       | ignored
complete   Answered        | ignored
complete   AnsweredFailure | ignored
complete   ProgressNoted   | ignored
complete   WaitExpired     | ignored
complete   CancelRequested | ignored
complete   DeadlinePassed  | ignored
complete   Refused         | ignored
complete   RetryRequested  | ignored
complete   ResultRemoved   | result_removed complete two   1       4     -     "done" -    -

failed     Done            | ignored
failed     Failed          | ignored
failed     Exhausted       | ignored
failed     LeaseExpired    | ignored
failed     Snoozed         | ignored
failed     Interrupted     | ignored
failed     Held            | ignored
failed     Suspended       | ignored
failed     Answered        | ignored
failed     AnsweredFailure | ignored
failed     ProgressNoted   | ignored
failed     WaitExpired     | ignored
failed     CancelRequested | ignored
failed     DeadlinePassed  | ignored
failed     Refused         | ignored
failed     RetryRequested  | revived     queued     two   0       4     -     -      -    -
failed     ResultRemoved   | ignored

cancelled  Done            | late        cancelled  two   1       4     -     -      -    -
cancelled  Failed          | ignored
cancelled  Exhausted       | ignored
cancelled  LeaseExpired    | ignored
cancelled  Snoozed         | ignored
cancelled  Interrupted     | ignored
cancelled  Held            | ignored
cancelled  Suspended       | ignored
cancelled  Answered        | late        cancelled  two   1       4     -     -      -    -
cancelled  AnsweredFailure | late        cancelled  two   1       4     -     -      -    -
cancelled  ProgressNoted   | ignored
cancelled  WaitExpired     | ignored
cancelled  CancelRequested | ignored
cancelled  DeadlinePassed  | ignored
cancelled  Refused         | ignored
cancelled  RetryRequested  | ignored
cancelled  ResultRemoved   | ignored
"""


# What differs from the table above, by situation. A pair that is not listed is as above.
VARIATIONS = {
    "in the last attempt": """
processing Failed          | failed      failed     two   3       4     -     -      -    NETWORK
processing Exhausted       | failed      failed     two   3       4     -     -      -    NETWORK
processing LeaseExpired    | failed      failed     two   3       4     -     -      -    WORKER_LOST
processing Snoozed         | snoozed     queued     two   2       4     -     -      -    -
processing Interrupted     | interrupted queued     two   2       4     -     -      -    -
processing Held            | held        queued     two   2       4     -     -      -    -
processing Suspended       | suspended   waiting    two   3       4     -     -      -    -
processing CancelRequested | cancelled   cancelled  two   3       4     -     -      -    -
waiting    Failed          | failed      failed     two   3       4     -     -      -    NETWORK
waiting    Exhausted       | failed      failed     two   3       4     -     -      -    NETWORK
waiting    WaitExpired     | failed      failed     two   3       4     -     -      -    CALLBACK_TIMEOUT
waiting    CancelRequested | cancelled   cancelled  two   3       4     -     -      -    -
queued     CancelRequested | cancelled   cancelled  two   3       4     -     -      -    -
cancelled  Done            | late        cancelled  two   3       4     -     -      -    -
cancelled  Answered        | late        cancelled  two   3       4     -     -      -    -
complete   ResultRemoved   | result_removed complete two   3       4     -     "done" -    -
processing AnsweredFailure | failed      failed     two   3       4     -     -      -    NETWORK
processing ProgressNoted   | progress    processing two   3       4     held  -      -    -
waiting    AnsweredFailure | failed      failed     two   3       4     -     -      -    NETWORK
waiting    ProgressNoted   | progress    waiting    two   3       4     -     -      -    -
cancelled  AnsweredFailure | late        cancelled  two   3       4     -     -      -    -
""",  # noqa: E501 - a table
    "in the last stage": """
queued     CancelRequested | cancelled   cancelled  three 1       4     -     -      -    -
processing Done            | completed   complete   three 1       4     -     "r"    -    -
processing Failed          | retried     queued     three 1       4     -     -      -    -
processing Exhausted       | failed      failed     three 1       4     -     -      -    NETWORK
processing LeaseExpired    | retried     queued     three 1       4     -     -      -    -
processing Snoozed         | snoozed     queued     three 0       4     -     -      -    -
processing Interrupted     | interrupted queued     three 0       4     -     -      -    -
processing Held            | held        queued     three 0       4     -     -      -    -
processing Suspended       | suspended   waiting    three 1       4     -     -      -    -
processing Answered        | completed   complete   three 1       4     -     "a"    -    -
processing CancelRequested | cancelled   cancelled  three 1       4     -     -      -    -
waiting    Answered        | completed   complete   three 1       4     -     "a"    -    -
waiting    Failed          | retried     queued     three 1       4     -     -      -    -
waiting    Exhausted       | failed      failed     three 1       4     -     -      -    NETWORK
waiting    WaitExpired     | retried     queued     three 1       4     -     -      -    -
waiting    CancelRequested | cancelled   cancelled  three 1       4     -     -      -    -
failed     RetryRequested  | revived     queued     three 0       4     -     -      -    -
cancelled  Done            | late        cancelled  three 1       4     -     -      -    -
cancelled  Answered        | late        cancelled  three 1       4     -     -      -    -
complete   ResultRemoved   | result_removed complete three 1       4     -     "done" -    -
processing AnsweredFailure | retried     queued     three 1       4     -     -      -    -
processing ProgressNoted   | progress    processing three 1       4     held  -      -    -
waiting    AnsweredFailure | retried     queued     three 1       4     -     -      -    -
waiting    ProgressNoted   | progress    waiting    three 1       4     -     -      -    -
cancelled  AnsweredFailure | late        cancelled  three 1       4     -     -      -    -
""",
    "with a worker that goes on": """
processing Done            | advanced    processing three 1       5     held  -      -    -
""",
    "with a deadline to come": "",
    "at the very deadline": """
processing Failed          | failed      failed     two   1       4     -     -      -    NETWORK
processing LeaseExpired    | failed      failed     two   1       4     -     -      -    WORKER_LOST
waiting    Failed          | failed      failed     two   1       4     -     -      -    NETWORK
waiting    WaitExpired     | failed      failed     two   1       4     -     -      -    CALLBACK_TIMEOUT
processing AnsweredFailure | failed      failed     two   1       4     -     -      -    NETWORK
waiting    AnsweredFailure | failed      failed     two   1       4     -     -      -    NETWORK
""",  # noqa: E501 - a table
    "after the deadline": """
queued     DeadlinePassed  | expired     failed     two   1       4     -     -      -    TIMEOUT
processing DeadlinePassed  | expired     failed     two   1       4     -     -      -    TIMEOUT
waiting    DeadlinePassed  | expired     failed     two   1       4     -     -      -    TIMEOUT
processing Done            | expired     failed     two   1       4     -     -      "r"  TIMEOUT
processing Answered        | expired     failed     two   1       4     -     -      "a"  TIMEOUT
waiting    Answered        | expired     failed     two   1       4     -     -      "a"  TIMEOUT
processing Failed          | expired     failed     two   1       4     -     -      -    TIMEOUT
processing Exhausted       | expired     failed     two   1       4     -     -      -    TIMEOUT
processing LeaseExpired    | expired     failed     two   1       4     -     -      -    TIMEOUT
waiting    Failed          | expired     failed     two   1       4     -     -      -    TIMEOUT
waiting    Exhausted       | expired     failed     two   1       4     -     -      -    TIMEOUT
waiting    WaitExpired     | expired     failed     two   1       4     -     -      -    TIMEOUT
processing AnsweredFailure | expired     failed     two   1       4     -     -      -    TIMEOUT
waiting    AnsweredFailure | expired     failed     two   1       4     -     -      -    TIMEOUT
processing ProgressNoted   | ignored
waiting    ProgressNoted   | ignored
""",
    "failed by its deadline": """
failed     Done            | late        failed     two   1       4     -     -      "r"  TIMEOUT
failed     Answered        | late        failed     two   1       4     -     -      "a"  TIMEOUT
failed     AnsweredFailure | late        failed     two   1       4     -     -      -    TIMEOUT
""",
    "failed by its deadline, with a late result": "",
    "with an answer for another stage": """
processing Answered        | ignored
waiting    Answered        | ignored
cancelled  Answered        | ignored
processing AnsweredFailure | ignored
processing ProgressNoted   | ignored
waiting    AnsweredFailure | ignored
waiting    ProgressNoted   | ignored
cancelled  AnsweredFailure | ignored
cancelled  ProgressNoted   | ignored
""",
    "before the lease and the wait are over": """
processing LeaseExpired    | ignored
waiting    WaitExpired     | ignored
""",
    "postponed as often as allowed": """
processing Snoozed         | failed      failed     two   1       4     -     -      -    SNOOZED_TOO_OFTEN
""",  # noqa: E501 - a table
    "with a failure that cannot be retried": """
processing Failed          | failed      failed     two   1       4     -     -      -    NETWORK
waiting    Failed          | failed      failed     two   1       4     -     -      -    NETWORK
processing AnsweredFailure | failed      failed     two   1       4     -     -      -    NETWORK
waiting    AnsweredFailure | failed      failed     two   1       4     -     -      -    NETWORK
""",
    "with a mistake of its sender": """
processing Failed          | refused     failed     two   1       4     -     -      -    NETWORK
waiting    Failed          | refused     failed     two   1       4     -     -      -    NETWORK
processing AnsweredFailure | refused     failed     two   1       4     -     -      -    NETWORK
waiting    AnsweredFailure | refused     failed     two   1       4     -     -      -    NETWORK
""",
    "with a failure that allows fewer attempts": """
processing Failed          | failed      failed     two   1       4     -     -      -    NETWORK
waiting    Failed          | failed      failed     two   1       4     -     -      -    NETWORK
processing AnsweredFailure | failed      failed     two   1       4     -     -      -    NETWORK
waiting    AnsweredFailure | failed      failed     two   1       4     -     -      -    NETWORK
""",
    "with an answer that was received before the deadline and is written after it": """
queued     DeadlinePassed  | expired     failed     two   1       4     -     -      -    TIMEOUT
processing DeadlinePassed  | expired     failed     two   1       4     -     -      -    TIMEOUT
waiting    DeadlinePassed  | expired     failed     two   1       4     -     -      -    TIMEOUT
processing Done            | expired     failed     two   1       4     -     -      "r"  TIMEOUT
processing Failed          | expired     failed     two   1       4     -     -      -    TIMEOUT
processing LeaseExpired    | expired     failed     two   1       4     -     -      -    TIMEOUT
waiting    Failed          | expired     failed     two   1       4     -     -      -    TIMEOUT
processing Exhausted       | expired     failed     two   1       4     -     -      -    TIMEOUT
waiting    Exhausted       | expired     failed     two   1       4     -     -      -    TIMEOUT
waiting    WaitExpired     | expired     failed     two   1       4     -     -      -    TIMEOUT
processing AnsweredFailure | failed      failed     two   1       4     -     -      -    NETWORK
waiting    AnsweredFailure | failed      failed     two   1       4     -     -      -    NETWORK
""",
    "with a history that is full": """
processing ProgressNoted   | ignored
waiting    ProgressNoted   | ignored
cancelled  Done            | ignored
cancelled  Answered        | ignored
cancelled  AnsweredFailure | ignored
""",
    "before anything has happened to it": """
queued     Refused         | refused     failed     two   1       4     -     -      -    NETWORK
""",
    "sent back to the start": """
failed     RetryRequested  | revived     queued     one   0       4     -     -      -    -
""",
}


class Situation(NamedTuple):
    job: dict
    events: dict


SITUATIONS = {
    "in the last attempt": Situation({"attempt": 3}, {}),
    "in the last stage": Situation(
        {"stage": "three"},
        {
            "Answered": Answered("three", '"a"'),
            "AnsweredFailure": AnsweredFailure("three", UNREACHABLE),
            "ProgressNoted": ProgressNoted("three", "half done"),
        },
    ),
    "with a worker that goes on": Situation(
        {}, {"Done": Done('"r"', lease_until=Instant(NOW + 1))}
    ),
    "with a deadline to come": Situation({"deadline_at": Instant(NOW + 3600 * SECOND_US)}, {}),
    "at the very deadline": Situation({"deadline_at": NOW}, {}),
    "after the deadline": Situation({"deadline_at": Instant(NOW - 1)}, {}),
    "failed by its deadline": Situation({"error_class": "TIMEOUT"}, {}),
    "failed by its deadline, with a late result": Situation(
        {"error_class": "TIMEOUT", "late_result": '"first"'}, {}
    ),
    "with an answer for another stage": Situation(
        {},
        {
            "Answered": Answered("one", '"a"'),
            "AnsweredFailure": AnsweredFailure("one", UNREACHABLE),
            "ProgressNoted": ProgressNoted("one", "half done"),
        },
    ),
    "before the lease and the wait are over": Situation(
        {"lease_until": NOW, "run_at": Instant(NOW + 1)}, {}
    ),
    "postponed as often as allowed": Situation({"snoozes": 5}, {}),
    "with a failure that cannot be retried": Situation(
        {},
        {
            "Failed": Failed(
                Failure(
                    error_class="NETWORK",
                    message="",
                    category=Category.PERMANENT,
                    retryable=False,
                )
            ),
            "AnsweredFailure": AnsweredFailure("two", UNREACHABLE._replace(retryable=False)),
        },
    ),
    "with a mistake of its sender": Situation(
        {},
        {
            "Failed": Failed(UNREACHABLE._replace(retryable=False, user_error=True)),
            "AnsweredFailure": AnsweredFailure(
                "two", UNREACHABLE._replace(retryable=False, user_error=True)
            ),
        },
    ),
    "with a failure that allows fewer attempts": Situation(
        {},
        {
            "Failed": Failed(
                Failure(
                    error_class="NETWORK",
                    message="",
                    category=Category.TRANSIENT,
                    retryable=True,
                    attempts=1,
                )
            ),
            "AnsweredFailure": AnsweredFailure("two", UNREACHABLE._replace(attempts=1)),
        },
    ),
    "with an answer that was received before the deadline and is written after it": Situation(
        {"deadline_at": Instant(NOW - 1)},
        {
            "Answered": Answered("two", '"a"', Instant(NOW - 1)),
            "AnsweredFailure": AnsweredFailure("two", UNREACHABLE, None, Instant(NOW - 1)),
            "ProgressNoted": ProgressNoted("two", "half done", None, Instant(NOW - 1)),
        },
    ),
    "with a history that is full": Situation({"revision": MAX_REVISIONS}, {}),
    "before anything has happened to it": Situation({"revision": 0}, {}),
    "sent back to the start": Situation(
        {}, {"RetryRequested": RetryRequested("ada", from_start=True)}
    ),
}


def a_job(state: JobState, **changes) -> Job:
    """A job that could stand in the store like this."""
    leased = state is JobState.PROCESSING
    ended = state in {JobState.COMPLETE, JobState.FAILED, JobState.CANCELLED}
    job = Job(
        id=JobId("0190-job"),
        pipeline="p",
        plan=PlanDigest("d"),
        queue="q",
        priority=1,
        owner="o",
        key="k",
        version=1,
        rerun_of=None,
        payload="{}",
        trace=None,
        created_at=Instant(NOW - 100),
        state=state,
        stage="two",
        run=1,
        attempt=1,
        token=4,
        revision=9,
        run_at=Instant(NOW - 3),
        deadline_at=None,
        holder=WorkerId("w") if leased else None,
        lease_until=Instant(NOW - 1) if leased else None,
        started_at=Instant(NOW - 90),
        attempt_at=Instant(NOW - 10),
        finished_at=Instant(NOW - 5) if ended else None,
        updated_at=Instant(NOW - 5),
        snoozes=0,
        interruptions=0,
        retries=0,
        result='"done"' if state is JobState.COMPLETE else None,
        error="{}" if state is JobState.FAILED else None,
        error_class="NETWORK" if state is JobState.FAILED else None,
        late_result=None,
    )
    fitting = {
        name: value
        for name, value in changes.items()
        if (name != "lease_until" or leased)
        and (name not in {"error_class", "late_result"} or state is JobState.FAILED)
    }
    return job._replace(**fitting)
