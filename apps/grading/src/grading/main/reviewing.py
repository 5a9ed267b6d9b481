"""What teachers do: claim results with little confidence, and give the final grade."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from grading.main import rows
from grading.main.pipeline import SUBMISSION
from grading.main.review import PRIORITIES, HumanScores, final_result, merge
from grading.main.views.derive import view_of
from grading.main.views.view import SubmissionView, time_text
from grading.refusals import Conflict, Flaw, NotYours, ValidationRefused, WrongState
from grading.result import MAX_SCORE, Feedback, band_of
from grading.states import Skill, Status
from holdfast import Holdfast, JobView
from holdfast.errors import UnknownJob

CLAIM_S: Final = 900.0
MAX_LISTED: Final = 200
MAX_COMMENT_CHARACTERS: Final = 4_000


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


class Reviewing:
    """The part of `Submissions` for teachers."""

    def __init__(self, app: Holdfast) -> None:
        self._app = app

    def pending_reviews(self) -> Sequence[PendingReview]:
        """Return what waits for a teacher, by priority, then age."""
        with self._app.reading() as db:
            due = rows.open_reviews(db, limit=MAX_LISTED)
        found: list[PendingReview] = []
        for row in due:
            try:
                pending = self._pending(row.submission_id)
            except (NotYours, WrongState):
                continue  # removed, or the row of an earlier attempt
            found.append(pending)
        return found

    def claim(self, submission_id: str, *, by: str) -> PendingReview:
        """Reserve a review for 15 minutes; `Conflict` while another has it."""
        self._pending(submission_id)
        with self._app.transaction() as tx:
            taken = rows.claim_review(tx, submission_id, by=by, for_s=CLAIM_S)
        pending = self._pending(submission_id)
        if not taken:
            raise Conflict(f"{pending.claimed_by} has it", held_by=pending.claimed_by)
        return pending

    def release(self, submission_id: str, *, by: str) -> PendingReview:
        """Give a reserved review back."""
        pending = self._pending(submission_id)
        if pending.claimed_by not in (None, by):
            raise Conflict(f"{pending.claimed_by} has it", held_by=pending.claimed_by)
        with self._app.transaction() as tx:
            rows.release_review(tx, submission_id, by=by)
        return self._pending(submission_id)

    def review(self, submission_id: str, human: HumanGrade, *, by: str) -> SubmissionView:
        """Store a teacher's grade and the final result; `Conflict` the second time."""
        job = self._job(submission_id, owner=None)
        before = self._views([job])[0]
        if before.status is Status.COMPLETED and before.versions:
            raise Conflict("it was reviewed already")
        if before.status is not Status.REVIEW_REQUIRED or before.result is None:
            raise WrongState(f"it is {before.status.value} and waits for no review")
        machine = before.result
        scores = _checked_scores(human, machine)
        merged = merge(machine, scores)
        with self._app.transaction() as tx:
            final = final_result(
                machine, merged, feedback=human.feedback, comment=human.comment, at=tx.now
            )
            stored = {
                "overallScore": human.overall_score,
                "band": human.band,
                "criteriaScores": human.criteria_scores,
                "feedback": human.feedback,
                "reviewComment": human.comment,
            }
            owner, skill = job.job.owner, Skill(job.payload["skill"])
            done = rows.finish_review(tx, submission_id, by=by, human=stored, final=final)
            if done:
                rows.add_scores(tx, [rows.NewScore(submission_id, owner, skill, final)])
        if not done:
            pending = self._pending(submission_id)
            raise Conflict(f"{pending.claimed_by} has it", held_by=pending.claimed_by)
        return self._views([job])[0]

    def _pending(self, submission_id: str) -> PendingReview:
        """Return a review that is due, with who has it now."""
        job = self._job(submission_id, owner=None)
        with self._app.reading() as db:
            row = rows.read_reviews(db, [job.id]).get(job.id)
            now = db.now
        view = self._views([job])[0]
        if view.status is not Status.REVIEW_REQUIRED or row is None:
            if view.versions:
                raise Conflict("it was reviewed already")
            raise WrongState(f"it is {view.status.value} and waits for no review")
        until = row.claimed_until
        held = until is not None and until > now
        return PendingReview(
            view=view,
            priority=PRIORITIES[row.urgency],
            claimed_by=row.claimed_by if held else None,
            claimed_until=time_text(until) if held else None,
        )

    def _job(self, submission_id: str, *, owner: str | None) -> JobView:
        """Return the job of a submission, or raise `NotYours`."""
        try:
            job = self._app.job(submission_id, owner=owner)
        except UnknownJob as error:
            raise NotYours from error
        if job.job.pipeline != SUBMISSION:
            raise NotYours
        return job

    def _views(self, jobs: Sequence[JobView]) -> list[SubmissionView]:
        """Return submissions with what is known beside their jobs."""
        ids = [job.id for job in jobs]
        with self._app.reading() as db:
            progress = rows.read_progress(db, ids)
            reviews = rows.read_reviews(db, ids)
        return [view_of(job, progress.get(job.id), reviews.get(job.id)) for job in jobs]


def _checked_scores(human: HumanGrade, machine: dict[str, Any]) -> HumanScores:
    """Return the scores of a teacher, or raise `ValidationRefused`."""
    flaws: list[Flaw] = []
    criteria = human.criteria_scores or {}
    given = {"/overallScore": human.overall_score} | {
        f"/criteriaScores/{name}": score for name, score in criteria.items()
    }
    for pointer, score in given.items():
        if not 0 <= score <= MAX_SCORE or score * 2 != int(score * 2):
            flaws.append(Flaw(pointer, "must be from 0 to 10, in steps of 0.5"))
    if not flaws and human.band != band_of(human.overall_score):
        flaws.append(Flaw("/band", "does not fit overallScore"))
    flaws.extend(
        Flaw(f"/criteriaScores/{name}", "is no criterion of this skill")
        for name in criteria
        if name not in machine["criteriaScores"]
    )
    if human.comment is not None and len(human.comment) > MAX_COMMENT_CHARACTERS:
        flaws.append(Flaw("/reviewComment", f"has more than {MAX_COMMENT_CHARACTERS} characters"))
    if human.feedback is not None:
        try:
            Feedback.model_validate(human.feedback)
        except ValueError:
            flaws.append(Flaw("/feedback", "must have lists of strengths, weaknesses, suggestions"))
    if flaws:
        raise ValidationRefused(flaws)
    return HumanScores(human.overall_score, human.band, criteria)
