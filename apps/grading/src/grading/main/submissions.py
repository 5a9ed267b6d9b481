"""Submissions: what learners hand in, and what becomes of it. HTTP and commands call this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4, uuid5

from grading.config import GradingConfig
from grading.main import rows
from grading.main.checks import check
from grading.main.operating.figures import WINDOW, figures_of
from grading.main.operating.operations import Operations, operations_of
from grading.main.pipeline import SUBMISSION
from grading.main.recordings import Recordings
from grading.main.reviewing import HumanGrade, PendingReview, Reviewing
from grading.main.views.derive import view_of
from grading.main.views.histories import history_of
from grading.main.views.view import HistoryEntry, Page, SubmissionView
from grading.questions import Questions
from grading.refusals import Conflict, QuotaReached, RateLimited, WrongState
from grading.states import Skill, Status
from holdfast import Holdfast, JobFilter, JobHandle, JobState, Pipeline
from holdfast.errors import KeyConflict
from holdfast.errors import WrongState as EngineWrongState
from holdfast.transactions import Transaction

REQUEST_IDS: Final = UUID("7e1d4a52-60f1-5a55-9e52-3f3a2f0d7c11")
"""The namespace of request ids that follow from an owner and their key."""
MAX_PAGE: Final = 100
MAX_READ: Final = 1_000
"""How many submissions are looked at for one page, where a filter leaves most of them out."""
_ACTIVE: Final = (JobState.QUEUED, JobState.PROCESSING, JobState.WAITING)
_STATES: Final = {
    Status.PENDING: _ACTIVE,
    Status.PROCESSING: _ACTIVE,
    Status.COMPLETED: (JobState.COMPLETE,),
    Status.REVIEW_REQUIRED: (JobState.COMPLETE,),
    Status.FAILED: (JobState.FAILED, JobState.CANCELLED),
}


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


__all__ = [
    "HumanGrade",
    "Made",
    "Operations",
    "PendingReview",
    "Submissions",
    "Wanted",
    "request_id_of",
]


class Submissions(Reviewing):
    """What learners, teachers and operators do. Every refusal is a `grading.refusals.Refused`.

    With `owner` another's submission is `NotYours`, as is one that is not there.
    """

    def __init__(
        self,
        app: Holdfast,
        pipeline: Pipeline,
        *,
        config: GradingConfig,
        questions: Questions,
        recordings: Recordings,
        broker_connected: Callable[[], bool | None] = lambda: None,
    ) -> None:
        super().__init__(app)
        self._broker_connected = broker_connected
        self._pipeline = pipeline
        self._config = config
        self.questions = questions
        self.recordings = recordings

    def submit(self, wanted: Wanted, *, owner: str, key: str | None) -> Made:
        """Store a submission, or return the one that `key` names; it is published on its own."""
        config = self._config
        checked = check(
            wanted,
            owner=owner,
            questions=self.questions,
            recordings=self.recordings,
            audio_hosts=config.audio_hosts,
            max_seconds=config.audio_max_s,
        )
        request_id = str(uuid4() if key is None else request_id_of(owner, key))
        payload = {
            "skill": checked.question.skill.value,
            "questionId": checked.question.id,
            "requestId": request_id,
            "answer": checked.answer,
        }
        deadline_s = config.sla_s(checked.question.skill)
        if key is not None and self._app.of_key(SUBMISSION, request_id, owner=owner):
            return self._known(payload, owner=owner, request_id=request_id)
        self._check_quota(owner)
        try:
            with self._app.transaction() as tx:
                self._check_rate(tx, owner)
                handle = self._app.submit(
                    self._pipeline,
                    payload,
                    key=request_id,
                    owner=owner,
                    deadline=deadline_s,
                    connection=tx.connection,
                )
                _refuse_known(handle)
        except _KnownMeanwhile:
            return self._known(payload, owner=owner, request_id=request_id)
        except KeyConflict as error:
            raise _other_body() from error
        # Nothing is known beside the job of one that is new.
        return Made(view_of(handle.get(), None, None), created=True)

    def _known(self, payload: dict[str, Any], *, owner: str, request_id: str) -> Made:
        """Return the submission that a key names already, or raise `Conflict`."""
        try:
            handle = self._app.submit(self._pipeline, payload, key=request_id, owner=owner)
        except KeyConflict as error:
            raise _other_body() from error
        if handle.get().removed_at is not None:
            raise Conflict("the submission of this Idempotency-Key was removed")
        return Made(self.get(handle.id, owner=owner), handle.created)

    def _check_rate(self, tx: Transaction, owner: str) -> None:
        """Count a submission of an owner, or raise why they may not make one now."""
        limit = self._config.submissions_per_minute
        wait_s = rows.take_rate(tx, owner, limit=limit)
        if wait_s is not None:
            raise RateLimited(limit, retry_after_s=wait_s)

    def _check_quota(self, owner: str) -> None:
        """Raise `QuotaReached` where an owner has as many under way as one may.

        It needs a connection, and comes before the transaction that has one: many at once would
        wait for each other. So those of one instant may exceed it, as far as their rate allows.
        """
        quota = self._config.quota_active
        active = JobFilter(_ACTIVE, SUBMISSION, owner=owner)
        if self._app.count(active, at_most=quota) >= quota:
            raise QuotaReached(quota)

    def get(self, submission_id: str, *, owner: str | None) -> SubmissionView:
        """Return a submission; `owner` None is for teachers and operators."""
        return self._views([self._job(submission_id, owner=owner)])[0]

    def list(
        self,
        *,
        owner: str | None,
        skill: Skill | None = None,
        status: Status | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page:
        """Return submissions, newest first; `cursor` is the `next_cursor` of the page before."""
        most = min(max(limit, 1), MAX_PAGE)
        states = () if status is None else _STATES[status]
        found: list[SubmissionView] = []
        before, read = cursor, 0
        while read < MAX_READ:
            jobs = self._app.jobs(
                JobFilter(states, SUBMISSION, owner=owner), before=before, limit=MAX_PAGE
            )
            read += len(jobs)
            wanted = [job for job in jobs if skill in (None, job.payload["skill"])]
            for view in self._views(wanted):
                if status in (None, view.status):
                    found.append(view)
                if len(found) == most:
                    return Page(found, view.submission_id)
            if len(jobs) < MAX_PAGE:
                return Page(found, None)
            before = jobs[-1].id
        return Page(found, before)

    def retry(self, submission_id: str, *, by: str) -> SubmissionView:
        """Start a failed submission over, with a new deadline of the same length."""
        job = self._job(submission_id, owner=None)
        if job.state is JobState.CANCELLED:
            raise WrongState("it was withdrawn, and that is final; hand the answer in again")
        try:
            self._app.retry(job.id, by=by, from_start=True)
        except EngineWrongState as error:
            raise WrongState("only a submission that has failed can be retried") from error
        return self.get(submission_id, owner=None)

    def cancel(self, submission_id: str, *, owner: str | None, by: str) -> SubmissionView:
        """End a submission; its owner may while it is PENDING, an operator (owner None) longer."""
        view = self.get(submission_id, owner=owner)
        if owner is not None and view.status is not Status.PENDING:
            raise WrongState(f"it is {view.status.value}; only PENDING can be cancelled")
        try:
            self._app.cancel(view.submission_id, by=by)
        except EngineWrongState as error:
            raise WrongState("it has ended") from error
        return self.get(submission_id, owner=owner)

    def history(self, submission_id: str, *, owner: str | None) -> Sequence[HistoryEntry]:
        """Return what happened, oldest first."""
        job = self._job(submission_id, owner=owner)
        return history_of(self._app.history(job.id))

    def progress_of(self, owner: str) -> dict[str, Any]:
        """Return the figures of an owner: count, average and trend of each skill."""
        found: dict[str, Any] = {}
        with self._app.reading() as db:
            for skill in Skill:
                scores, count = rows.read_scores(db, owner, skill, limit=WINDOW)
                found[skill.value] = figures_of(scores, count=count)
        return found

    def operations(self) -> Operations:
        """Return how the system is."""
        return operations_of(self._app, broker_connected=self._broker_connected())


class _KnownMeanwhile(Exception):
    """Another process has made the submission of this key since it was looked for."""


def _refuse_known(handle: JobHandle) -> None:
    """Raise what rolls the transaction back: a repeat counts for no limit."""
    if not handle.created:
        raise _KnownMeanwhile


def request_id_of(owner: str, key: str) -> UUID:
    """Return the request id of an owner's key; equal keys of two owners never meet."""
    return uuid5(REQUEST_IDS, f"{len(owner)}:{owner}:{key}")


def _other_body() -> Conflict:
    return Conflict("this Idempotency-Key was used with another body")
