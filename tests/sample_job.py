"""A job as the store holds it, for tests of what is said about one."""

from holdfast.core.job.job import Job, JobState, PlanDigest, WorkerId
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.views.job import HistoryLine

NOW = Instant(1_800_000_000_000_000)
DUE = Job(
    id=JobId("0190"),
    pipeline="news",
    plan=PlanDigest("p"),
    queue="mail",
    priority=1,
    owner="",
    key=None,
    version=1,
    rerun_of=None,
    payload="null",
    trace=None,
    created_at=Instant(NOW - 60 * SECOND_US),
    state=JobState.QUEUED,
    stage="send",
    run=1,
    attempt=0,
    token=0,
    revision=1,
    run_at=Instant(NOW - 60 * SECOND_US),
    deadline_at=None,
    holder=None,
    lease_until=None,
    started_at=None,
    attempt_at=None,
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
RUNNING = DUE._replace(
    state=JobState.PROCESSING,
    attempt=2,
    holder=WorkerId("w1"),
    attempt_at=Instant(NOW - 5 * SECOND_US),
    lease_until=Instant(NOW + 25 * SECOND_US),
)


def after(seconds: float) -> Instant:
    return Instant(NOW + int(seconds * SECOND_US))


def line(event: str, **meta: object) -> HistoryLine:
    return HistoryLine(NOW, event, "send", 1, dict(meta))
