"""A submission as the API, the pages and the command line show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from grading.messages.times import time_text as _time_text
from grading.states import FailureReason, Skill, Status, Step


def time_text(value: datetime | None) -> str | None:
    """Return a time as the API writes it: ISO 8601, UTC, with milliseconds."""
    return None if value is None else _time_text(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionView:
    """A submission as it stood when it was read."""

    submission_id: str
    request_id: str
    user_id: str
    skill: Skill
    question_id: str
    attempt: int
    status: Status
    step: Step | None
    """While it has not ended."""
    progress: float | None
    """From 0 to 1, while it has not ended."""
    message: str | None
    """What the grader says about the step, while it has not ended."""
    failure_reason: FailureReason | None
    last_error: str | None
    """One line that learners may read."""
    attempts_made: int | None
    created_at: datetime
    deadline_at: datetime
    completed_at: datetime | None
    is_late: bool
    result: dict[str, Any] | None
    """The final version; of one that a teacher has yet to review it is for teachers only."""
    late_result: dict[str, Any] | None
    answer: dict[str, Any]
    versions: Sequence[dict[str, Any]] = field(default=())
    """Results before the final one, oldest first."""
    progress_event_id: str | None = None
    """Which event `step` and `progress` come from."""
    revision: int = 0
    """Rises with every change of the submission's state."""

    @property
    def has_ended(self) -> bool:
        """Whether no callback can change its status any more."""
        return self.status in (Status.COMPLETED, Status.FAILED, Status.REVIEW_REQUIRED)

    def status_document(self) -> dict[str, Any]:
        """Return what a client that polls gets."""
        return {
            "submissionId": self.submission_id,
            "status": self.status.value,
            "step": self.step.value if self.step else None,
            "progress": self.progress,
            "failureReason": self.failure_reason.value if self.failure_reason else None,
            "deadlineAt": time_text(self.deadline_at),
            "isLate": self.is_late,
        }

    def document(self, *, answer: bool = True, for_teacher: bool = False) -> dict[str, Any]:
        """Return the whole submission; learners see no result that waits for a review."""
        hidden = self.status is Status.REVIEW_REQUIRED and not for_teacher
        found: dict[str, Any] = {
            "submissionId": self.submission_id,
            "requestId": self.request_id,
            "userId": self.user_id,
            "skill": self.skill.value,
            "questionId": self.question_id,
            "attempt": self.attempt,
            **{
                key: value for key, value in self.status_document().items() if key != "submissionId"
            },
            "lastError": self.last_error,
            "attemptsMade": self.attempts_made,
            "createdAt": time_text(self.created_at),
            "completedAt": time_text(self.completed_at),
            "result": None if hidden else self.result,
            "lateResult": self.late_result,
            "versions": [] if hidden else list(self.versions),
        }
        if answer:
            found["answer"] = self.answer
        return found


class Page(NamedTuple):
    """Some submissions, newest first; `next_cursor` leads to those before them."""

    items: list[SubmissionView]
    next_cursor: str | None

    def document(self) -> dict[str, Any]:
        """Return the page without the answers."""
        return {
            "items": [view.document(answer=False) for view in self.items],
            "nextCursor": self.next_cursor,
        }


class HistoryEntry(NamedTuple):
    """Something that happened to a submission, for people."""

    at: datetime
    event: str
    """created, requested, taken, retrying, circuit_open, completed, failed, timed_out, late …"""
    text: str

    def document(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"at": time_text(self.at), "event": self.event, "text": self.text}
