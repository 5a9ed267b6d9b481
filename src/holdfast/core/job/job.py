"""A job as the store holds it, and the words people use for how it stands."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, NewType

if TYPE_CHECKING:
    from holdfast.core.values.ids import JobId
    from holdfast.core.values.instant import Instant

PlanDigest = NewType("PlanDigest", str)
WorkerId = NewType("WorkerId", str)

PRIORITIES = (0, 1, 2, 3)
"""Lower runs first. Few levels on purpose: a claim is one index range per level."""
MAX_URGENT = PRIORITIES[0]
DEFAULT_PRIORITY = 1
DEFAULT_QUEUE = "default"
DEFAULT_OWNER = ""


def priorities_from(first: int) -> tuple[int, ...]:
    """Return `first`, then the other priorities, the most urgent of them first."""
    return first, *(priority for priority in PRIORITIES if priority != first)


class JobState(StrEnum):
    """Where a job stands. What time alone changes is a label, never a state."""

    QUEUED = "queued"
    PROCESSING = "processing"
    WAITING = "waiting"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELLED = "cancelled"


ACTIVE = frozenset({JobState.QUEUED, JobState.PROCESSING, JobState.WAITING})
ENDED = frozenset({JobState.COMPLETE, JobState.FAILED, JobState.CANCELLED})


class Job(NamedTuple):
    """One durable piece of work.

    A tuple, because a row is one: what the database returns is what the engine reads.
    The first block of fields never changes after the job is made, but for a payload that a person
    corrects while the job is failed.
    """

    id: JobId
    pipeline: str
    plan: PlanDigest
    queue: str
    priority: int
    owner: str
    key: str | None
    version: int
    rerun_of: JobId | None
    payload: str
    trace: str | None
    created_at: Instant

    state: JobState
    stage: str
    run: int
    """Rises when the job starts over; checkpoints belong to one run."""
    attempt: int
    """Attempts of the current stage that were begun, the one under way included."""
    token: int
    """Rises with every lease; a worker's writes and renewals name the one they hold."""
    revision: int
    run_at: Instant
    """Not before this instant; for a waiting job, the instant at which the wait is over."""
    deadline_at: Instant | None
    holder: WorkerId | None
    lease_until: Instant | None
    started_at: Instant | None
    attempt_at: Instant | None
    finished_at: Instant | None
    updated_at: Instant
    snoozes: int
    """How often the current stage has postponed itself."""
    interruptions: int
    retries: int
    """How often a person sent the job back after it had failed."""
    result: str | None
    error: str | None
    error_class: str | None
    late_result: str | None


def label(job: Job, now: Instant) -> str:
    """Return the word for how the job stands at `now`, worked out and never stored."""
    if job.state in ACTIVE and job.deadline_at is not None and now > job.deadline_at:
        return "overdue"
    if job.state is not JobState.QUEUED:
        return job.state.value
    if job.run_at <= now:
        return "due"
    return "retrying" if job.attempt else "scheduled"
