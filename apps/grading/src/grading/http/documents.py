"""What is sent to the API and what it answers, as the description of the API shows it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from grading.main.submissions import HumanGrade, Wanted
from grading.result import Feedback
from grading.states import FailureReason, Skill, Status, Step

Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Sent(BaseModel):
    """A body: other fields and other types are refused."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", strict=True, use_attribute_docstrings=True
    )


class _Shown(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, use_attribute_docstrings=True
    )


class AnswerSent(_Sent):
    """An essay as `text`, or a recording as `audioUrl` with its `durationSeconds`."""

    text: str | None = None
    audio_url: str | None = None
    """What `POST /api/audio` answered, or a URL of a host that is allowed."""
    duration_seconds: Finite | None = None
    audio_sha256: str | None = None
    """Of a recording on another host."""


class SubmissionSent(_Sent):
    """An answer to a question, to be graded."""

    skill: str
    """`writing` or `speaking`."""
    question_id: str
    answer: AnswerSent

    def wanted(self) -> Wanted:
        """Return what the submission holds."""
        return Wanted(
            skill=self.skill,
            question_id=self.question_id,
            text=self.answer.text,
            audio_url=self.answer.audio_url,
            duration_s=self.answer.duration_seconds,
            audio_sha256=self.answer.audio_sha256,
        )


class FeedbackSent(_Sent):
    """What went well and what did not."""

    strengths: list[str] = Field(default_factory=list)
    weaknesses: list[str] = Field(default_factory=list)
    suggestions: list[str] = Field(default_factory=list)


class ReviewSent(_Sent):
    """A teacher's grade."""

    overall_score: Finite
    band: str | None
    """`B1`, `B2` or `C1`; null is below B1."""
    criteria_scores: dict[str, Finite] | None = None
    feedback: FeedbackSent | None = None
    review_comment: str | None = None
    """The learner reads it."""

    def human(self) -> HumanGrade:
        """Return the grade."""
        return HumanGrade(
            overall_score=self.overall_score,
            band=self.band,
            criteria_scores=self.criteria_scores,
            feedback=None if self.feedback is None else self.feedback.model_dump(),
            comment=self.review_comment,
        )


class ResultDocument(_Shown):
    """Scores, and the reasons for them; more fields may follow."""

    model_config = ConfigDict(extra="allow", alias_generator=to_camel)

    overall_score: float
    band: Literal["B1", "B2", "C1"] | None
    criteria_scores: dict[str, float]
    feedback: Feedback
    review_comment: str | None = None
    """What the teacher who reviewed it writes to the learner."""
    confidence_score: int
    grading_mode: Literal["auto", "hybrid", "human"]


class StatusDocument(_Shown):
    """How far a submission is."""

    submission_id: str
    status: Status
    step: Step | None
    """While it has not ended."""
    progress: float | None
    """From 0 to 1, while it has not ended."""
    failure_reason: FailureReason | None
    """Exactly while it is `FAILED`."""
    deadline_at: datetime
    is_late: bool
    """A result came after the deadline: it is kept as `lateResult` and counts for nothing."""


class SubmissionSummary(StatusDocument):
    """A submission without its answer, as in lists."""

    request_id: str
    user_id: str
    skill: Skill
    question_id: str
    attempt: int
    last_error: str | None
    """Why it failed, in one line."""
    attempts_made: int | None
    created_at: datetime
    completed_at: datetime | None
    result: ResultDocument | None
    """The final version; null to learners while a teacher has yet to look at it."""
    late_result: ResultDocument | None
    versions: list[dict[str, Any]]
    """Results before the final one, oldest first."""


class SubmissionDocument(SubmissionSummary):
    """A submission with its answer."""

    answer: dict[str, Any]


class SubmissionPage(_Shown):
    """Submissions, newest first."""

    items: list[SubmissionSummary]
    next_cursor: str | None


class EventDocument(_Shown):
    """Something that happened to a submission."""

    at: datetime
    event: str
    text: str


class EventList(_Shown):
    """What happened to a submission, oldest first."""

    items: list[EventDocument]
    next_cursor: str | None = None


class PendingReviewDocument(SubmissionDocument):
    """A submission that waits for a teacher, and who has it."""

    review_priority: Literal["Medium", "High", "Critical"]
    claimed_by: str | None
    claimed_until: datetime | None
    listen_url: str | None
    """A link to the recording that is good for an hour; null for essays and for other hosts."""


class PendingReviewList(_Shown):
    """What waits for a teacher, by priority, then age."""

    items: list[PendingReviewDocument]
    next_cursor: str | None = None


class AudioDocument(_Shown):
    """A recording that is kept."""

    audio_url: str
    sha256: str
    bytes: int
    media_type: str
    """By its content, whatever it was called."""
    duration_seconds: float


class QuestionDocument(_Shown):
    """A prompt."""

    id: str
    skill: Skill
    task_number: int | None = None
    """Of a writing prompt."""
    part_number: int | None = None
    """Of a speaking prompt."""
    title: str
    prompt: str
    requirements: list[str]
    minimum_words: int


class QuestionList(_Shown):
    """Prompts: writing first, then by number."""

    items: list[QuestionDocument]
    next_cursor: str | None = None


class SkillFigures(_Shown):
    """How a learner does in one skill; late results are not counted."""

    count: int
    window_avg: float | None
    """Of the last ten."""
    trend: str
    """`insufficient_data` below three."""


class ProgressDocument(_Shown):
    """How a learner does."""

    writing: SkillFigures
    speaking: SkillFigures


class OutboxFigures(_Shown):
    """Messages that are not published yet."""

    pending: int
    oldest_seconds: float | None


class BrokerFigures(_Shown):
    """Whether the broker is connected; null without one."""

    connected: bool | None


class GraderFigures(_Shown):
    """When a grader was last seen."""

    last_seen_at: datetime | None


class OperationsDocument(_Shown):
    """How the system is."""

    outbox: OutboxFigures
    broker: BrokerFigures
    grader: GraderFigures
    breakers: list[dict[str, Any]]
    timed_out_today: int
    late_today: int
    dlq_open: int
    calls_in_doubt: int
    """Paid calls whose answer is not known: they may have been charged."""
    cost_today_usd: float


class DeadRequestDocument(_Shown):
    """A request that was given up; what a poison message does not say is null."""

    id: str
    request_id: str | None
    submission_id: str | None
    skill: str | None
    failure_reason: FailureReason
    attempts_made: int
    last_error: str
    stage: str | None
    timestamp: datetime
    can_retry: bool
    """Whether it says which submission it is about."""


class DeadRequestList(_Shown):
    """Requests that were given up, the latest first."""

    items: list[DeadRequestDocument]
    next_cursor: str | None = None


class ServiceDocument(_Shown):
    """What the page of learners goes by."""

    paused: bool
    """A breaker is open: what is handed in waits, and goes on by itself."""
    audio_max_bytes: int
    audio_max_seconds: float
    reviews: bool
    """Whether teachers look at results before learners do."""


class CallbackReceipt(_Shown):
    """What became of a callback."""

    submission_id: str
    standing: Literal["taken", "late", "repeated", "ignored"]
