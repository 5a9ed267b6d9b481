"""What a submission's job and rows amount to, in the words of the document: pure."""

from __future__ import annotations

from typing import Any, Final

from grading.main.rows import ProgressRow, ReviewRow
from grading.main.views.view import SubmissionView
from grading.states import FailureReason, Skill, Status, Step
from grading.tables.times import from_us
from holdfast import JobState, JobView

FROM_GRADER: Final = "GRADER_"
"""Stands before a reason of the grader's that the engine uses for what it finds out itself."""
_OWN: Final = frozenset({FailureReason.TIMEOUT, FailureReason.WORKER_LOST})
_LINES: Final = {
    FailureReason.TIMEOUT: "Grading took longer than it may.",
    FailureReason.INVALID_SCHEMA: "The grader could not read the request.",
    FailureReason.AUDIO_DECODE_ERROR: "The recording cannot be decoded. Record it again.",
    FailureReason.AUDIO_UNAVAILABLE: "The recording cannot be fetched.",
    FailureReason.PROVIDER_ERROR: "The grading service gave no usable answer.",
    FailureReason.PROVIDER_AUTH: "The grading service refuses our credentials.",
    FailureReason.CONTENT_POLICY: "The grading service refuses this text.",
    FailureReason.MAX_RETRIES: "The grading service failed several times in a row.",
    FailureReason.WORKER_LOST: "The grader was lost several times in a row.",
    FailureReason.CANCELLED: "It was withdrawn.",
    FailureReason.INTERNAL: "Something went wrong here.",
}


def error_class_of(reason: FailureReason) -> str:
    """Return the error class under which a reason of the grader's is stored."""
    return f"{FROM_GRADER}{reason.value}" if reason in _OWN else reason.value


def reason_of(job: JobView) -> FailureReason | None:
    """Return why a submission is FAILED; None while it is not."""
    if job.state is JobState.CANCELLED:
        return FailureReason.CANCELLED
    if job.state is not JobState.FAILED:
        return None
    found = (job.job.error_class or "").removeprefix(FROM_GRADER)
    return FailureReason(found) if found in set(FailureReason) else FailureReason.INTERNAL


def line_of(reason: FailureReason) -> str:
    """Return what learners read about a reason."""
    return _LINES[reason]


def status_of(job: JobView, progress: ProgressRow | None, review: ReviewRow | None) -> Status:
    """Return how far a submission has come."""
    if job.state in (JobState.FAILED, JobState.CANCELLED):
        return Status.FAILED
    if job.state is JobState.COMPLETE:
        waits = job.result.get("review") and (review is None or review.final is None)
        return Status.REVIEW_REQUIRED if waits else Status.COMPLETED
    return Status.PENDING if _current(job, progress) is None else Status.PROCESSING


def view_of(
    job: JobView, progress: ProgressRow | None = None, review: ReviewRow | None = None
) -> SubmissionView:
    """Return a submission as it is shown."""
    payload: dict[str, Any] = job.payload
    status = status_of(job, progress, review)
    reason = reason_of(job)
    known = _current(job, progress)
    has_ended = status not in (Status.PENDING, Status.PROCESSING)
    stored = job.result if job.state is JobState.COMPLETE else None
    machine = None if stored is None else stored["result"]
    final = None if review is None else review.final
    late = job.late_result if job.state is JobState.FAILED else None
    deadline_us = job.job.deadline_at
    return SubmissionView(
        submission_id=job.id,
        request_id=payload["requestId"],
        user_id=job.job.owner,
        skill=Skill(payload["skill"]),
        question_id=payload["questionId"],
        attempt=job.job.retries + 1,
        status=status,
        step=None if has_ended else (known.progress.step if known else Step.QUEUED),
        progress=None if has_ended else (known.progress.progress if known else 0.0),
        message=None if has_ended or known is None else known.progress.message,
        failure_reason=reason,
        last_error=None if reason is None else line_of(reason),
        attempts_made=_attempts_made(stored or late, known) if has_ended else None,
        created_at=job.created_at,
        deadline_at=job.created_at if deadline_us is None else from_us(deadline_us),
        completed_at=job.finished_at if status is Status.COMPLETED else None,
        is_late=late is not None,
        result=final or machine,
        late_result=None if late is None else late["result"],
        answer=payload["answer"],
        versions=[machine] if final and machine else [],
        progress_event_id=known.progress.event_id if known else None,
        revision=job.job.revision,
    )


def _attempts_made(answer: dict[str, Any] | None, known: ProgressRow | None) -> int | None:
    """Return how many attempts it took: a result says so itself, of a failure it is noted."""
    if answer is not None:
        return answer.get("attemptsMade")
    return None if known is None else known.attempts_made


def _current(job: JobView, progress: ProgressRow | None) -> ProgressRow | None:
    """Return what is known of the run that counts."""
    return progress if progress is not None and progress.progress.run == job.job.run else None
