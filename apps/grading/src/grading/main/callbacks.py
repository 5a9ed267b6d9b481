"""Callbacks of graders: each event counts once, whichever way it comes."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

from grading.main import rows
from grading.main.pipeline import REQUEST_STAGE, SUBMISSION
from grading.main.review import urgency_of
from grading.main.views.derive import error_class_of
from grading.main.views.progress import RANKS, ProgressEvent
from grading.messages.contract import GradingCallback
from grading.messages.validation import DoesNotFit, read_callback
from grading.states import FailureReason, Skill, Step
from grading.tables.times import from_us, to_us
from holdfast import GiveUp, Holdfast, JobState, JobView
from holdfast.answers import AnswerReceipt, AnswerStanding, GivenAnswer, Progress
from holdfast.classify import CallbackFailure
from holdfast.errors import TokenRefused, UnknownJob
from holdfast.messaging import Received

LOGGER: Final = logging.getLogger("grading.callbacks")
SEEN_EVERY_S: Final = 5.0
"""How often it is written down, at most, that a grader is there."""
CALLBACK_REFUSED: Final = "CALLBACK_REFUSED"
_MAX_NOTE: Final = 200
_ENDED: Final = len(RANKS)
"""The rank of an end: above that of every step."""


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


class _Addressed(NamedTuple):
    """A callback with the run of the submission that it is about."""

    callback: GradingCallback
    run: int
    at: datetime
    """When it was sent, as far as that is known."""
    received_at: datetime


class Callbacks:
    """Takes callbacks. `handle_many` is what consumers call; `take` what an HTTP route calls."""

    def __init__(self, app: Holdfast, *, review_below: int = 0) -> None:
        self._app = app
        self._review_below = review_below
        self._seen_at: datetime | None = None
        self._lock = threading.Lock()

    def handle(self, received: Received) -> None:
        """Take a callback message; raise `GiveUp` for one that no redelivery mends."""
        self.take(received)

    def handle_many(self, received: Sequence[Received]) -> None:
        """Take callback messages; raise `GiveUp` where no redelivery of one mends it."""
        self.take_many(received)

    def take(self, received: Received) -> Handled:
        """Take a callback and return what became of it."""
        return self.take_many([received])[0]

    def take_many(self, received: Sequence[Received]) -> list[Handled]:
        """Take callbacks and return what became of each.

        They share what is asked of the database, as far as they are about different submissions.
        """
        callbacks = [self._addressed(each) for each in received]
        ids = {each.callback.submissionId for each in callbacks}
        jobs = self._app.read_jobs(ids)
        for each in callbacks:
            _check(each, jobs.get(each.callback.submissionId))
        self._note_grader()
        # What is overtaken before it is written would never be seen.
        standings = dict.fromkeys(_overtaken(callbacks), Standing.IGNORED)
        left = {place: each for place, each in enumerate(callbacks) if place not in standings}
        for turn in _turns(left):
            notices = {place: each for place, each in turn.items() if each.callback.is_notice}
            ends = {place: each for place, each in turn.items() if place not in notices}
            standings |= self._note(notices, jobs) | self._end(ends, jobs)
        for place, each in enumerate(callbacks):
            _log(each.callback, standings[place])
        return [
            Handled(standings[place], each.callback.submissionId)
            for place, each in enumerate(callbacks)
        ]

    def _addressed(self, received: Received) -> _Addressed:
        """Return a callback with the submission and the run that it is about, or raise `GiveUp`."""
        callback = _read(received)
        _ = self._app.store
        claim = self._app.callback_tokens.read(callback.callbackToken)
        if claim is None or claim.stage != REQUEST_STAGE:
            raise GiveUp(CALLBACK_REFUSED, "the callback token was not issued here")
        if claim.job_id != callback.submissionId:
            raise GiveUp(CALLBACK_REFUSED, "the callback token is of another submission")
        received_at = self._received_at(received)
        return _Addressed(callback, claim.run, received.time or received_at, received_at)

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

    def _note(
        self, notices: Mapping[int, _Addressed], jobs: dict[str, JobView]
    ) -> dict[int, Standing]:
        """Keep notices, which end nothing; one for a submission that has ended is ignored."""
        standings = dict.fromkeys(notices, Standing.IGNORED)
        events = {
            each.callback.submissionId: _event_of(each.callback, run=each.run, at=each.at)
            for each in notices.values()
            if _waits(jobs[each.callback.submissionId], each.run)
        }
        if not events:
            return standings
        with self._app.transaction(one_statement=True) as tx:
            shares = rows.note_progress(tx, events)
        # Written first: streams read it as soon as they see that the job has news.
        noted = {
            place: each for place, each in notices.items() if each.callback.submissionId in shares
        }
        answers = [
            GivenAnswer(
                each.callback.callbackToken,
                _progress(events[submission_id], shares[submission_id]),
                job=jobs[submission_id],
            )
            for each in noted.values()
            for submission_id in [each.callback.submissionId]
        ]
        for place, receipt in zip(noted, self._app.receive_answers(answers), strict=True):
            if isinstance(receipt, AnswerReceipt):
                jobs[receipt.job.id] = receipt.job
                standings[place] = Standing.TAKEN
            elif not isinstance(receipt, TokenRefused):
                raise receipt
        return standings

    def _end(self, ends: Mapping[int, _Addressed], jobs: dict[str, JobView]) -> dict[int, Standing]:
        """Answer waiting jobs with a result or with why there is none."""
        answers = []
        for each in ends.values():
            job = jobs[each.callback.submissionId]
            if job.state is JobState.WAITING:
                # Written first: who sees the end finds it there.
                self._note_attempts(each)
            answers.append(
                GivenAnswer(
                    each.callback.callbackToken,
                    self._answer_of(each.callback),
                    message_id=str(each.callback.eventId),
                    received_at=each.received_at,
                    job=job,
                )
            )
        receipts: dict[int, AnswerReceipt] = {}
        for place, receipt in zip(ends, self._app.receive_answers(answers), strict=True):
            if isinstance(receipt, TokenRefused | UnknownJob):
                raise GiveUp(CALLBACK_REFUSED, str(receipt)) from receipt
            if not isinstance(receipt, AnswerReceipt):
                raise receipt
            jobs[receipt.job.id] = receipt.job
            receipts[place] = receipt
        self._follow_up([(ends[place], receipt) for place, receipt in receipts.items()])
        return {place: _STANDINGS[receipt.standing] for place, receipt in receipts.items()}

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

    def _follow_up(self, answered: Sequence[tuple[_Addressed, AnswerReceipt]]) -> None:
        """Write what follows from the answers that count.

        It is written again when a callback comes again, so a process that dies here loses nothing.
        """
        scores: list[rows.NewScore] = []
        for each, receipt in answered:
            callback, job = each.callback, receipt.job
            if receipt.standing is not AnswerStanding.IGNORED:
                self._note_attempts(each)
            elif _conflicts(job, callback):
                _log_conflict(callback)
            stored = job.result if job.state is JobState.COMPLETE else None
            if stored is None or stored["eventId"] != str(callback.eventId):
                continue
            if stored["review"]:
                self._add_review(job, stored["result"])
            else:
                skill = Skill(job.payload["skill"])
                scores.append(rows.NewScore(job.id, job.job.owner, skill, stored["result"]))
        if scores:
            with self._app.transaction(one_statement=True) as tx:
                rows.add_scores(tx, scores)

    def _add_review(self, job: JobView, result: dict[str, Any]) -> None:
        with self._app.transaction(one_statement=True) as tx:
            rows.add_review(
                tx,
                job.id,
                owner=job.job.owner,
                urgency=urgency_of(result),
                created_at=job.created_at,
            )

    def _note_attempts(self, addressed: _Addressed) -> None:
        """Keep how many attempts a failure took; a result says it itself."""
        callback = addressed.callback
        attempts = _attempts_made(callback)
        if attempts is None or callback.status != "error":
            return
        with self._app.transaction(one_statement=True) as tx:
            rows.note_attempts_made(
                tx,
                callback.submissionId,
                run=addressed.run,
                event_id=str(callback.eventId),
                at_us=to_us(addressed.received_at),
                attempts=attempts,
            )


def _overtaken(callbacks: Sequence[_Addressed]) -> list[int]:
    """Return the places of steps that a later callback of the same run makes old news.

    That a request was taken is kept: the history says when.
    """
    found: list[int] = []
    reached: dict[tuple[str, int], int] = {}
    for place in range(len(callbacks) - 1, -1, -1):
        each = callbacks[place]
        run = (each.callback.submissionId, each.run)
        progress = each.callback.progress
        rank = _ENDED if not each.callback.is_notice else 0
        if progress is not None:
            rank = RANKS.get(progress.step, 0)
            if 0 < rank < reached.get(run, 0):
                found.append(place)
        reached[run] = max(rank, reached.get(run, 0))
    return found


def _turns(callbacks: Mapping[int, _Addressed]) -> list[dict[int, _Addressed]]:
    """Return callbacks by place in turns, one of each submission at most, in their order."""
    turns: list[dict[int, _Addressed]] = []
    seen: Counter[str] = Counter()
    for place, each in callbacks.items():
        number = seen[each.callback.submissionId]
        seen[each.callback.submissionId] += 1
        if number == len(turns):
            turns.append({})
        turns[number][place] = each
    return turns


def _check(addressed: _Addressed, job: JobView | None) -> None:
    """Raise `GiveUp` for a callback that is not about the present run of its submission."""
    callback = addressed.callback
    if job is None:
        raise GiveUp(CALLBACK_REFUSED, "there is no such submission")
    if job.job.pipeline != SUBMISSION or job.payload["requestId"] != str(callback.requestId):
        raise GiveUp(CALLBACK_REFUSED, "the requestId is not that of the submission")
    if addressed.run != job.job.run and not callback.is_notice:
        raise GiveUp(CALLBACK_REFUSED, "the callback token is of an earlier attempt")


def _waits(job: JobView, run: int) -> bool:
    return job.state is JobState.WAITING and job.job.run == run


def _progress(event: ProgressEvent, share: float) -> Progress:
    note = f"{event.step.value}: {event.message}" if event.message else event.step.value
    return Progress(note[:_MAX_NOTE], round(share * 100))


def _log(callback: GradingCallback, standing: Standing) -> None:
    LOGGER.log(
        logging.DEBUG if callback.is_notice else logging.INFO,
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


def _log_conflict(callback: GradingCallback) -> None:
    LOGGER.warning(
        "submission %s has its result; event %s says otherwise and changes nothing",
        callback.submissionId,
        callback.eventId,
        extra={"event": "conflicting_final", "submission_id": callback.submissionId},
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
