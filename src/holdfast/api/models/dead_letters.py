"""Dead letters as the API takes and tells them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from holdfast.api.models.deliveries import Delivery
from holdfast.api.models.values.acting import Action, Request
from holdfast.api.models.values.moment import Moment
from holdfast.api.models.values.texts import Text
from holdfast.core.dead_letter.dead_letter import Cause, LetterState, Standing
from holdfast.core.job.job import JobState
from holdfast.core.values.failure import Category, Severity
from holdfast.core.values.instant import to_rfc3339
from holdfast.store.tables.dead_letters import LetterGroup
from holdfast.views.disclosure import Disclosure
from holdfast.views.explain.advice import Mover


class PayloadFacts(BaseModel):
    """By what a payload can be recognised without being shown."""

    sha256: str
    """The beginning of its hash."""
    bytes: int


class Advice(BaseModel):
    """Whose move it is, by the class of the failure."""

    whose_move: Mover
    suggested_cause: Cause | None
    """Null where the class leaves it open."""
    what_to_do: str
    runbook: str
    """The file and the heading that say more."""


class Circumstances(BaseModel):
    """The circumstances of a failure: ids and figures, and nothing of the payload."""

    job_id: str
    key: str | None
    trace: str | None
    rerun_of: str | None
    version: int | None
    pipeline: str
    stage: str
    attempts: int
    deaths: int
    http_status: int | None
    worker: str | None
    payload: PayloadFacts | None


class DeadLetter(BaseModel):
    """A dead letter."""

    id: str
    """The id of the letter and of its job."""
    kind: str
    standing: Standing
    state: LetterState
    escalated: bool
    dismissed: bool
    job_state: JobState | None
    pipeline: str
    stage: str
    queue: str
    owner: str
    error_code: str
    """The public code of the failure, or its error class where the pipeline has no codes."""
    error_message: str | None
    """The same in one line."""
    error_class: str
    """End users get the public code here too, and its line in `message`."""
    previous_class: str | None
    category: Category
    severity: Severity
    retryable: bool
    outcome_known: bool
    http_status: int | None
    attempts: int
    deaths: int
    first_failure_at: Moment
    last_failure_at: Moment
    message: str
    exception_type: str
    answer: str | None
    """What the upstream answered, redacted and cut, where the exception carried it."""
    advice: Advice | None
    """Null for end users."""
    last_stack: str
    sanitized_context: Circumstances
    fingerprint: str
    cause: Cause | None
    evidence: str | None
    note: str | None
    replayed_at: Moment | None
    resolved_at: Moment | None
    updated_at: Moment
    revision: int


class LetterRecord(BaseModel):
    """What a queue of dead messages keeps of each, under the names used there."""

    request_id: str = Field(alias="requestId")
    submission_id: str = Field(alias="submissionId")
    failure_reason: str = Field(alias="failureReason")
    attempts_made: int = Field(alias="attemptsMade")
    last_error: str = Field(alias="lastError")
    timestamp: Moment


class LetterHistoryLine(BaseModel):
    """One thing that happened to the job of a letter."""

    at: Moment
    event: str
    stage: str
    attempt: int
    meta: dict[str, Any]


class DeadLetterReport(DeadLetter):
    """All that is known of a dead letter."""

    attempts_allowed: int | None
    """The budget of the failed stage; null when its plan is not stored."""
    upstream: str | None
    """What the failed stage calls."""
    record: LetterRecord
    actions: list[Action]
    """What was done about it, newest first."""
    history: list[LetterHistoryLine]
    """What happened to its job, oldest first."""
    deliveries: list[Delivery]
    """The deliveries of the failed stage as they stand now, oldest first."""


class DeadLetterPage(BaseModel):
    """Some dead letters, newest first."""

    items: list[DeadLetter]
    next_cursor: str | None


class DeadLetterGroup(BaseModel):
    """Letters that wait for a person and have the same cause."""

    fingerprint: str
    error_code: str
    error_class: str
    stage: str
    pipelines: list[str]
    letters: int
    escalated: int
    first_failure_at: Moment
    last_failure_at: Moment
    sample_id: str
    """The letter that died last."""
    message: str
    """What that letter says."""
    exception_type: str
    category: Category
    http_status: int | None
    advice: Advice | None
    """Null for end users."""

    @classmethod
    def of(cls, group: LetterGroup, shown: Disclosure) -> DeadLetterGroup:
        """Return a group as the API shows it."""
        advice = shown.group_advice(group)
        return cls(
            **{
                **shown.group(group)._asdict(),
                "error_code": shown.group_error(group).error_code,
                "advice": None if advice is None else advice.to_document(),
                "pipelines": list(group.pipelines),
                "first_failure_at": to_rfc3339(group.first_failure_at),
                "last_failure_at": to_rfc3339(group.last_failure_at),
            }
        )


class DeadLetterGroups(BaseModel):
    """The causes for which letters wait, the one with most letters first."""

    items: list[DeadLetterGroup]


class Triage(Request):
    """What kind of cause it is."""

    cause: Cause = Field(strict=False)
    note: Text | None = None


class Remediation(Request):
    """How it is known that the cause is gone."""

    evidence: Text


class LetterReplay(Request):
    """Send the job of one letter back."""

    reason: Text | None = None
    from_start: bool = False
    """Run all stages again, not only those from the failed one on."""
    confirm_idempotent: bool = False
    """Needed where the job has no idempotency key: repeating it does no harm."""


class Resolution(Request):
    """How it ended."""

    note: Text
    unreplayed: bool = False
    """Close it although its job was not sent back and completed."""
