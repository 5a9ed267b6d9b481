"""The three messages, version 1, as either side reads and writes them.

The JSON Schemas beside this file say the same to programs in other languages; a test compares both.
Fields that are not known here are ignored, so that adding one needs no new version.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from grading.result import Result
from grading.states import CIRCUIT_OPEN, FailureReason, Skill, Step

SCHEMA_VERSION: Final = 1
REQUEST: Final = "grading.request"
CALLBACK: Final = "grading.callback"
DLQ: Final = "grading.dlq"
TYPES: Final = (REQUEST, CALLBACK, DLQ)

SECRET_NAMES: Final = ("text", "segments")
"""What learners wrote and said, as it is called in payloads and results: nobody is shown it."""
MAX_TEXT_CHARACTERS: Final = 20_000
MAX_NOTE_CHARACTERS: Final = 200
MAX_ERROR_CHARACTERS: Final = 500


def _with_zone(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("must be a time with its zone, such as 2026-01-31T12:00:00Z")
    return value


Name = Annotated[str, Field(min_length=1, max_length=64)]
Instant = Annotated[datetime, AfterValidator(_with_zone)]


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class WritingPayload(_Message):
    """An essay to be graded."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARACTERS)]
    taskNumber: Literal[1, 2]  # noqa: N815 - as it is on the wire
    questionId: Name  # noqa: N815 - as above
    prompt: Annotated[str, Field(max_length=MAX_TEXT_CHARACTERS)]
    requirements: list[str] = Field(default_factory=list)


class SpeakingPayload(_Message):
    """A recording to be graded."""

    audioUrl: Annotated[str, Field(min_length=1, max_length=2_000)]  # noqa: N815 - as above
    audioSha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]  # noqa: N815 - as above
    durationSeconds: Annotated[float, Field(gt=0)]  # noqa: N815 - as above
    partNumber: Literal[1, 2, 3]  # noqa: N815 - as above
    questionId: Name  # noqa: N815 - as above
    prompt: Annotated[str, Field(max_length=MAX_TEXT_CHARACTERS)]


class GradingRequest(_Message):
    """What main asks of a grader."""

    schemaVersion: Literal[1]  # noqa: N815 - as above
    requestId: UUID  # noqa: N815 - as above
    submissionId: Name  # noqa: N815 - as above
    userId: Name  # noqa: N815 - as above
    skill: Skill
    attempt: Annotated[int, Field(ge=1)]
    createdAt: Instant  # noqa: N815 - as above
    deadlineAt: Instant  # noqa: N815 - as above
    payload: dict[str, Any]
    callbackToken: Annotated[str, Field(min_length=1, max_length=2_000)]  # noqa: N815 - as above
    metadata: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _payload_fits_skill(self) -> GradingRequest:
        self.writing if self.skill is Skill.WRITING else self.speaking  # noqa: B018 - raises
        return self

    @property
    def writing(self) -> WritingPayload:
        """The payload of a writing request."""
        return WritingPayload.model_validate(self.payload)

    @property
    def speaking(self) -> SpeakingPayload:
        """The payload of a speaking request."""
        return SpeakingPayload.model_validate(self.payload)


class CallbackProgress(_Message):
    """How far the grader has come."""

    step: Step
    progress: Annotated[float, Field(ge=0, le=1)]
    message: Annotated[str, Field(max_length=MAX_NOTE_CHARACTERS)] = ""


class CallbackError(_Message):
    """Why there is no result: for good where `retryable` is false, for now where it is true."""

    code: Annotated[str, Field(min_length=1, max_length=64)]
    type: Annotated[str, Field(max_length=64)] = ""
    message: Annotated[str, Field(max_length=MAX_ERROR_CHARACTERS)] = ""
    retryable: bool
    retryAfterSeconds: Annotated[float, Field(ge=0)] | None = None  # noqa: N815 - as above

    @property
    def reason(self) -> FailureReason:
        """The failure reason of a submission that ends by this error."""
        known = set(FailureReason)
        return FailureReason(self.code) if self.code in known else FailureReason.INTERNAL


class GradingCallback(_Message):
    """What a grader answers."""

    schemaVersion: Literal[1]  # noqa: N815 - as above
    eventId: UUID  # noqa: N815 - as above
    requestId: UUID  # noqa: N815 - as above
    submissionId: Name  # noqa: N815 - as above
    callbackToken: Annotated[str, Field(min_length=1, max_length=2_000)]  # noqa: N815 - as above
    status: Literal["progress", "completed", "error"]
    progress: CallbackProgress | None = None
    result: Result | None = None
    error: CallbackError | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_what_its_status_says(self) -> GradingCallback:
        field = {"progress": "progress", "completed": "result", "error": "error"}[self.status]
        if getattr(self, field) is None:
            raise ValueError(f"status {self.status!r} needs the field {field!r}")
        return self

    @property
    def is_notice(self) -> bool:
        """Whether it ends nothing: progress, or an error after which the grader tries again."""
        return self.status == "progress" or (
            self.status == "error" and self.error is not None and self.error.retryable
        )

    @property
    def tells_open_circuit(self) -> bool:
        """Whether it says that a breaker is open."""
        return self.status == "error" and self.error is not None and self.error.code == CIRCUIT_OPEN


class DlqRecord(_Message):
    """A request that was given up; what a poison message does not say is null."""

    schemaVersion: Literal[1]  # noqa: N815 - as above
    requestId: str | None  # noqa: N815 - as above
    submissionId: str | None  # noqa: N815 - as above
    failureReason: FailureReason  # noqa: N815 - as above
    attemptsMade: Annotated[int, Field(ge=0)]  # noqa: N815 - as above
    lastError: Annotated[str, Field(max_length=MAX_ERROR_CHARACTERS)]  # noqa: N815 - as above
    timestamp: Instant
    skill: str | None = None
    stage: str | None = None
    originalMessage: dict[str, Any] | None = None  # noqa: N815 - as above
    originalText: str | None = None  # noqa: N815 - as above
