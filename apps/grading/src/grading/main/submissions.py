"""Submissions: what learners hand in, and what becomes of it. HTTP and commands call this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from grading.main.view import HistoryEntry, Page, SubmissionView
from grading.states import Skill, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a learner hands in, as it came: `Submissions.submit` checks it.

    An essay is `text`. A recording is `audio_url` with `duration_s`, and `audio_sha256` where it is
    on a host of others.
    """

    skill: str
    question_id: str
    text: str | None = None
    audio_url: str | None = None
    duration_s: float | None = None
    audio_sha256: str | None = None


class Made(NamedTuple):
    """A submission, and whether this call made it."""

    view: SubmissionView
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanGrade:
    """What a teacher gives; the scores are checked by `Submissions.review`."""

    overall_score: float
    band: str | None
    criteria_scores: dict[str, float] | None = None
    feedback: dict[str, Any] | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingReview:
    """A submission that waits for a teacher."""

    view: SubmissionView
    priority: str
    claimed_by: str | None
    claimed_until: str | None

    def document(self) -> dict[str, Any]:
        """Return the submission with who has it."""
        return self.view.document(for_teacher=True) | {
            "reviewPriority": self.priority,
            "claimedBy": self.claimed_by,
            "claimedUntil": self.claimed_until,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """How main and its surroundings are."""

    outbox_pending: int
    outbox_oldest_s: float | None
    broker_connected: bool | None
    """None without a broker."""
    grader_last_seen_at: str | None
    breakers: list[dict[str, Any]] = field(default_factory=list)
    timed_out_today: int = 0
    late_today: int = 0
    dlq_open: int = 0
    calls_in_doubt: int = 0
    cost_today_usd: float = 0.0

    def document(self) -> dict[str, Any]:
        """Return the shape of the API."""
        return {
            "outbox": {"pending": self.outbox_pending, "oldestSeconds": self.outbox_oldest_s},
            "broker": {"connected": self.broker_connected},
            "grader": {"lastSeenAt": self.grader_last_seen_at},
            "breakers": self.breakers,
            "timedOutToday": self.timed_out_today,
            "lateToday": self.late_today,
            "dlqOpen": self.dlq_open,
            "callsInDoubt": self.calls_in_doubt,
            "costTodayUsd": self.cost_today_usd,
        }


class Submissions:
    """What learners, teachers and operators do. Every refusal is a `grading.refusals.Refused`.

    With `owner` another's submission is `NotYours`, as is one that is not there.
    """

    def submit(self, wanted: Wanted, *, owner: str, key: str | None) -> Made:
        """Store a submission, or return the one that `key` names; it is published on its own."""
        raise NotImplementedError

    def get(self, submission_id: str, *, owner: str | None) -> SubmissionView:
        """Return a submission; `owner` None is for teachers and operators."""
        raise NotImplementedError

    def list(
        self,
        *,
        owner: str | None,
        skill: Skill | None = None,
        status: Status | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page:
        """Return submissions, newest first."""
        raise NotImplementedError

    def retry(self, submission_id: str, *, by: str) -> SubmissionView:
        """Start a failed submission over, with a new deadline."""
        raise NotImplementedError

    def cancel(self, submission_id: str, *, owner: str | None, by: str) -> SubmissionView:
        """End a submission; its owner may while it is PENDING, an operator (owner None) longer."""
        raise NotImplementedError

    def history(self, submission_id: str, *, owner: str | None) -> Sequence[HistoryEntry]:
        """Return what happened, oldest first."""
        raise NotImplementedError

    def progress_of(self, owner: str) -> dict[str, Any]:
        """Return the figures of an owner: count, average and trend of each skill."""
        raise NotImplementedError

    def operations(self) -> Operations:
        """Return how the system is."""
        raise NotImplementedError

    def pending_reviews(self) -> Sequence[PendingReview]:
        """Return what waits for a teacher, by priority, then age."""
        raise NotImplementedError

    def claim(self, submission_id: str, *, by: str) -> PendingReview:
        """Reserve a review for 15 minutes; `Conflict` while another has it."""
        raise NotImplementedError

    def release(self, submission_id: str, *, by: str) -> PendingReview:
        """Give a reserved review back."""
        raise NotImplementedError

    def review(self, submission_id: str, human: HumanGrade, *, by: str) -> SubmissionView:
        """Store a teacher's grade and the final result; `Conflict` the second time."""
        raise NotImplementedError
