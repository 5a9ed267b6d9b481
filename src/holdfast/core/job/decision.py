"""What follows from an event: values that are applied whole, or not at all."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from holdfast.core.job.job import JobState, WorkerId
    from holdfast.core.values.failure import Failure
    from holdfast.core.values.ids import JobId
    from holdfast.core.values.instant import Instant
    from holdfast.core.values.outbox import NewMessage


class Kind(StrEnum):
    """What a ledger entry says has happened."""

    ADVANCED = "advanced"
    COMPLETED = "completed"
    RETRIED = "retried"
    FAILED = "failed"
    REFUSED = "refused"
    SNOOZED = "snoozed"
    INTERRUPTED = "interrupted"
    HELD = "held"
    SUSPENDED = "suspended"
    PROGRESS = "progress"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    LATE = "late"
    REVIVED = "revived"
    RESULT_REMOVED = "result_removed"


class Change(NamedTuple):
    """The new value of every column that a decision may write, in the order of the tables."""

    state: JobState
    stage: str
    run: int
    attempt: int
    token: int
    run_at: Instant
    deadline_at: Instant | None
    holder: WorkerId | None
    lease_until: Instant | None
    attempt_at: Instant | None
    finished_at: Instant | None
    snoozes: int
    interruptions: int
    retries: int
    result: str | None
    error: str | None
    error_class: str | None
    late_result: str | None


class Entry(NamedTuple):
    """One line of the job's history; an attempt that ended says when and where it ran."""

    kind: Kind
    at: Instant
    stage: str
    attempt: int
    holder: WorkerId | None
    started_at: Instant | None
    error_class: str | None
    http_status: int | None
    detail: str | None
    """A JSON object: message, delay, who asked and why."""


class Tries(NamedTuple):
    """Tries that are no attempts of a stage: the sends of its deliveries."""

    attempts: int
    first_at: Instant
    """When the first of them failed."""


class Decision(NamedTuple):
    """A write that names the revision it was decided from."""

    job_id: JobId
    expected: int
    change: Change
    entry: Entry
    checkpoint: str | None = None
    """The result of the stage that `entry` names, kept for the stages after it."""
    failure: Failure | None = None
    """Why the attempt failed, or the job; of a job that ends by it, its dead letter is written,
    unless it was refused: nothing about it waits for a person."""
    messages: tuple[NewMessage, ...] = ()
    """What is to be published if and only if this is applied."""
    tries: Tries | None = None
    """How often what failed was tried, where that was not by attempts of the stage."""

    @property
    def buries(self) -> bool:
        """Whether the job has failed for good, and leaves a dead letter."""
        kind = self.entry.kind
        return self.failure is not None and kind is not Kind.RETRIED and kind is not Kind.REFUSED

    @property
    def closes_letter(self) -> bool:
        """Whether the dead letter that the job may have from before it was sent back is closed."""
        return self.entry.kind is Kind.REFUSED and self.change.retries > 0


class Ignored(NamedTuple):
    """The event changes nothing: the job has moved on, or never was where the event saw it."""

    job_id: JobId
    state: JobState
    event: str
    why: str
