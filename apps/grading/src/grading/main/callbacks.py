"""Callbacks of graders: each event counts once, whichever way it comes."""

from __future__ import annotations

import logging
import threading
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

from grading.main import rows
from grading.main.derive import error_class_of
from grading.main.pipeline import REQUEST_STAGE, SUBMISSION
from grading.main.progress import ProgressEvent
from grading.main.review import urgency_of
from grading.messages.contract import GradingCallback
from grading.messages.validation import DoesNotFit, read_callback
from grading.states import FailureReason, Skill, Step
from grading.tables.times import from_us, to_us
from holdfast import (
    AnswerReceipt,
    AnswerStanding,
    CallbackFailure,
    GiveUp,
    Holdfast,
    JobState,
    JobView,
    Progress,
    Received,
)
from holdfast.errors import TokenRefused, UnknownJob

LOGGER: Final = logging.getLogger("grading.callbacks")
SEEN_EVERY_S: Final = 5.0
"""How often it is written down, at most, that a grader is there."""
CALLBACK_REFUSED: Final = "CALLBACK_REFUSED"
_MAX_NOTE: Final = 200


class Standing(StrEnum):
    """What became of a callback."""

    TAKEN = "taken"
    LATE = "late"
    REPEATED = "repeated"
    IGNORED = "ignored"


class Handled(NamedTuple):
    """A callback that was handled, and what became of it."""

    standing: Standing
    submission_id: str


_STANDINGS: Final = {
    AnswerStanding.ACCEPTED: Standing.TAKEN,
    AnswerStanding.LATE: Standing.LATE,
    AnswerStanding.REPEATED: Standing.REPEATED,
    AnswerStanding.IGNORED: Standing.IGNORED,
}


class Callbacks:
    """Takes callbacks. `handle` is what consumers call; `take` what an HTTP route calls."""

    def __init__(self, app: Holdfast, *, review_below: int = 0) -> None:
        self._app = app
        self._review_below = review_below
        self._seen_at: datetime | None = None
        self._lock = threading.Lock()

    def handle(self, received: Received) -> None:
        """Take a callback message; raise `GiveUp` for one that no redelivery mends."""
        self.take(received)

    def take(self, received: Received) -> Handled:
        """Take a callback and return what became of it."""
        callback = _read(received)
        job, run = self._addressed(callback)
        received_at = self._received_at(received)
        self._note_grader()
        is_stale = run != job.job.run
        if is_stale and not callback.is_notice:
            raise GiveUp(CALLBACK_REFUSED, "the callback token is of an earlier attempt")
        if is_stale:
            standing = Standing.IGNORED
        elif callback.is_notice:
            standing = self._note(callback, job, run=run, at=received.time or received_at)
        else:
            standing = self._end(callback, job, run=run, received_at=received_at)
        LOGGER.info(
            "callback %s of submission %s: %s, %s",
            callback.eventId,
            callback.submissionId,
            callback.status,
            standing.value,
            extra={
                "event": "callback",
                "submission_id": callback.submissionId,
                "event_id": str(callback.eventId),
                "standing": standing.value,
            },
        )
        return Handled(standing, callback.submissionId)

    def _addressed(self, callback: GradingCallback) -> tuple[JobView, int]:
        """Return the submission that a callback is about, and which run, or raise `GiveUp`."""
        _ = self._app.store
        claim = self._app.callback_tokens.read(callback.callbackToken)
        if claim is None or claim.stage != REQUEST_STAGE:
            raise GiveUp(CALLBACK_REFUSED, "the callback token was not issued here")
        if claim.job_id != callback.submissionId:
            raise GiveUp(CALLBACK_REFUSED, "the callback token is of another submission")
        try:
            job = self._app.job(claim.job_id)
        except UnknownJob as error:
            raise GiveUp(CALLBACK_REFUSED, "there is no such submission") from error
        if job.job.pipeline != SUBMISSION or job.payload["requestId"] != str(callback.requestId):
            raise GiveUp(CALLBACK_REFUSED, "the requestId is not that of the submission")
        return job, claim.run

    def _received_at(self, received: Received) -> datetime:
        now = self._app.clock.now()
        arrived_s = received.arrived_s
        return from_us(now if arrived_s is None else self._app.clock.instant_of(arrived_s))

    def _note_grader(self) -> None:
        """Keep that a grader was seen, now and then."""
        now = from_us(self._app.clock.now())
        with self._lock:
            last = self._seen_at
            if last is not None and abs(now - last) < timedelta(seconds=SEEN_EVERY_S):
                return
            self._seen_at = now
        with self._app.transaction(one_statement=True) as tx:
            rows.note_seen(tx, rows.GRADER)

    def _note(self, callback: GradingCallback, job: JobView, *, run: int, at: datetime) -> Standing:
        """Keep a notice, which ends nothing; one for a submission that has ended is ignored."""
        if job.state is not JobState.WAITING:
            return Standing.IGNORED
        event = _event_of(callback, run=run, at=at)
        with self._app.transaction(one_statement=True) as tx:
            share = rows.note_progress(tx, job.id, event)
        if share is None:
            return Standing.IGNORED
        # Written first: streams read it as soon as they see that the job has news.
        note = f"{event.step.value}: {event.message}" if event.message else event.step.value
        try:
            self._app.receive_answer(
                callback.callbackToken, Progress(note[:_MAX_NOTE], round(share * 100)), job=job
            )
        except TokenRefused:
            return Standing.IGNORED
        return Standing.TAKEN

    def _end(
        self, callback: GradingCallback, job: JobView, *, run: int, received_at: datetime
    ) -> Standing:
        """Answer the waiting job with a result or with why there is none."""
        answer = self._answer_of(callback)
        if job.state is JobState.WAITING:
            # Written first: whoever sees the end finds it there.
            self._note_attempts(callback, run=run, at=received_at)
        try:
            receipt = self._app.receive_answer(
                callback.callbackToken,
                answer,
                message_id=str(callback.eventId),
                received_at=received_at,
                job=job,
            )
        except (TokenRefused, UnknownJob) as error:
            raise GiveUp(CALLBACK_REFUSED, str(error)) from error
        self._follow_up(callback, receipt, run=run, at=received_at)
        standing = _STANDINGS[receipt.standing]
        if standing is Standing.IGNORED and _conflicts(receipt.job, callback):
            LOGGER.warning(
                "submission %s has its result; event %s says otherwise and changes nothing",
                job.id,
                callback.eventId,
                extra={"event": "conflicting_final", "submission_id": job.id},
            )
        return standing

    def _answer_of(self, callback: GradingCallback) -> Any:  # noqa: ANN401 - as the engine takes it
        error = callback.error
        if callback.status == "error" and error is not None:
            return CallbackFailure(error_class_of(error.reason), error.message, retryable=False)
        if callback.result is None:
            raise AssertionError("the contract gives a final callback a result or an error")
        result = callback.result.model_dump(mode="json")
        review = self._review_below > 0 and (
            result["confidenceScore"] < self._review_below or result["reviewRequired"]
        )
        return {
            "result": result,
            "review": review,
            "attemptsMade": _attempts_made(callback),
            "eventId": str(callback.eventId),
        }

    def _follow_up(
        self, callback: GradingCallback, receipt: AnswerReceipt, *, run: int, at: datetime
    ) -> None:
        """Write what follows from the answer that counts.

        It is written again when the callback comes again, so a process that dies here loses
        nothing.
        """
        if receipt.standing is not AnswerStanding.IGNORED:
            self._note_attempts(callback, run=run, at=at)
        job = receipt.job
        stored = job.result if job.state is JobState.COMPLETE else None
        if stored is None or stored["eventId"] != str(callback.eventId):
            return
        result, owner = stored["result"], job.job.owner
        with self._app.transaction(one_statement=True) as tx:
            if stored["review"]:
                urgency = urgency_of(result)
                rows.add_review(tx, job.id, owner=owner, urgency=urgency, created_at=job.created_at)
            else:
                skill = Skill(job.payload["skill"])
                rows.add_score(tx, job.id, owner=owner, skill=skill, result=result)

    def _note_attempts(self, callback: GradingCallback, *, run: int, at: datetime) -> None:
        """Keep how many attempts a failure took; a result says it itself."""
        attempts = _attempts_made(callback)
        if attempts is None or callback.status != "error":
            return
        with self._app.transaction(one_statement=True) as tx:
            rows.note_attempts_made(
                tx,
                callback.submissionId,
                run=run,
                event_id=str(callback.eventId),
                at_us=to_us(at),
                attempts=attempts,
            )


def _read(received: Received) -> GradingCallback:
    """Return the callback of a message, or raise `GiveUp`: no redelivery mends it."""
    try:
        return read_callback(received.payload)
    except DoesNotFit as error:
        raise GiveUp(FailureReason.INVALID_SCHEMA, str(error)) from error


def _event_of(callback: GradingCallback, *, run: int, at: datetime) -> ProgressEvent:
    error, progress = callback.error, callback.progress
    event_id, at_us = str(callback.eventId), to_us(at)
    if callback.status == "error" and error is not None:
        step = Step.CIRCUIT_OPEN if callback.tells_open_circuit else Step.RETRYING
        return ProgressEvent(run, event_id, at_us, step, 0.0, error.message[:_MAX_NOTE])
    if progress is None:
        raise AssertionError("the contract gives a notice an error or progress")
    return ProgressEvent(
        run, event_id, at_us, progress.step, progress.progress, progress.message[:_MAX_NOTE]
    )


def _attempts_made(callback: GradingCallback) -> int | None:
    value = callback.metadata.get("attemptsMade")
    return value if type(value) is int and value >= 0 else None


def _conflicts(job: JobView, callback: GradingCallback) -> bool:
    """Return whether a submission ended otherwise than this callback says."""
    if job.state is not JobState.COMPLETE:
        return callback.result is not None
    if callback.result is None:
        return True
    return bool(job.result["result"] != callback.result.model_dump(mode="json"))
