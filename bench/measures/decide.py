"""What one decision costs, for every kind of event and the ways it can go."""

from collections.abc import Iterator
from functools import partial

from bench.cost import costs_of
from bench.measure import Conditions, Measure, Measured
from holdfast.core.job.decision import Ignored
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
from holdfast.core.job.job import Job, JobState, WorkerId
from holdfast.core.job.lifecycle import decide
from holdfast.core.job.plan import Plan, StagePlan
from holdfast.core.values.failure import Category, Failure
from holdfast.core.values.ids import job_id_at
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.core.values.retry import Retry

CALLS_PER_BATCH = 100
BATCHES = 400
QUICK_BATCHES = 40

NOW = Instant(1_700_000_000 * SECOND_US)
LATER = later(NOW, 3_600 * SECOND_US)
PLAN = Plan("letters", (StagePlan("draft", Retry()), StagePlan("send", Retry())))
PASSING = Failure(
    error_class="UPSTREAM_5XX",
    category=Category.TRANSIENT,
    retryable=True,
    message="503 from https://letters.example/send: try again later",
    http_status=503,
    retry_after_us=2 * SECOND_US,
    exception_type="httpx.HTTPStatusError",
    stack='  File "send.py", line 12, in send\n    response.raise_for_status()\n' * 8,
)
LASTING = Failure(
    error_class="INVALID",
    category=Category.PERMANENT,
    retryable=False,
    message="no such address",
    exception_type="ValueError",
    stack=PASSING.stack,
)

RUNNING = Job(
    id=job_id_at(tick=NOW * 4, chance=1),
    pipeline=PLAN.pipeline,
    plan=PLAN.digest,
    queue="default",
    priority=1,
    owner="",
    key="letter-17",
    version=1,
    rerun_of=None,
    payload='{"to":"you"}',
    trace=None,
    created_at=NOW,
    state=JobState.PROCESSING,
    stage="draft",
    run=1,
    attempt=1,
    token=1,
    revision=1,
    run_at=NOW,
    deadline_at=None,
    holder=WorkerId("machine-1234-0badcafe"),
    lease_until=later(NOW, 30 * SECOND_US),
    started_at=NOW,
    attempt_at=NOW,
    finished_at=None,
    updated_at=NOW,
    snoozes=0,
    interruptions=0,
    retries=0,
    result=None,
    error=None,
    error_class=None,
    late_result=None,
)
FREE = RUNNING._replace(holder=None, lease_until=None)
LAST = RUNNING._replace(stage="send")
WAITING = FREE._replace(state=JobState.WAITING)
NEW = FREE._replace(state=JobState.QUEUED, revision=0)
TIMED = RUNNING._replace(deadline_at=later(NOW, SECOND_US))
LOST = FREE._replace(
    state=JobState.FAILED, finished_at=NOW, error="{}", error_class="INVALID", attempt=5
)
LATE = LOST._replace(error_class="TIMEOUT", deadline_at=NOW)

CASES: dict[str, tuple[Job, Event]] = {
    "done": (LAST, Done('{"sent":true}')),
    "done-next-stage": (RUNNING, Done('{"text":"hello"}')),
    "done-goes-on": (RUNNING, Done('{"text":"hello"}', lease_until=later(LATER, SECOND_US))),
    "done-late": (LATE, Done('{"sent":true}')),
    "failed-retried": (RUNNING, Failed(PASSING)),
    "failed-for-good": (RUNNING, Failed(LASTING)),
    "lease-expired": (RUNNING, LeaseExpired()),
    "snoozed": (RUNNING, Snoozed(SECOND_US, "not yet")),
    "interrupted": (RUNNING, Interrupted()),
    "held": (RUNNING, Held("gateway", "CIRCUIT_OPEN")),
    "suspended": (RUNNING, Suspended(later(LATER, SECOND_US))),
    "answered": (WAITING, Answered("draft", '{"text":"hello"}')),
    "answered-failure": (WAITING, AnsweredFailure("draft", PASSING)),
    "progress-noted": (WAITING, ProgressNoted("draft", "half done", 50)),
    "exhausted": (WAITING, Exhausted(PASSING, 5, NOW)),
    "result-removed": (
        FREE._replace(state=JobState.COMPLETE, finished_at=NOW, result="1"),
        ResultRemoved("retention"),
    ),
    "wait-expired": (WAITING, WaitExpired()),
    "cancelled": (RUNNING, CancelRequested("somebody", "no longer needed")),
    "deadline-passed": (TIMED, DeadlinePassed()),
    "retry-requested": (LOST, RetryRequested("somebody", "the address is known now")),
    "refused": (NEW, Refused(LASTING)),
    "ignored": (FREE._replace(state=JobState.COMPLETE), LeaseExpired()),
}


def costs_of_decisions(conditions: Conditions) -> Iterator[Measured]:
    batches = QUICK_BATCHES if conditions.quick else BATCHES
    for name, (job, event) in CASES.items():
        _check(name, job, event)
    calls = {
        f"decide-{name}": partial(decide, job, event, PLAN, LATER, 0.5)
        for name, (job, event) in CASES.items()
    }
    for name, cost in costs_of(calls, per_batch=CALLS_PER_BATCH, batches=batches).items():
        yield Measured(name, cost, jobs=batches * CALLS_PER_BATCH)


def _check(name: str, job: Job, event: Event) -> None:
    """An event that is ignored by mistake would look cheap."""
    ignored = isinstance(decide(job, event, PLAN, LATER, 0.5), Ignored)
    if ignored != (name == "ignored"):
        raise ValueError(f"the case {name!r} does not lead to what its name says")


MEASURE = Measure("decide", costs_of_decisions)
