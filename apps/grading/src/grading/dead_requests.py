"""Requests that were given up and wait for a person: listed, graded again, or discarded."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from grading.messages.contract import DLQ, REQUEST
from grading.refusals import NotYours, WrongState
from grading.states import FailureReason
from holdfast import Holdfast
from holdfast.dead_letters import LetterFilter, LetterState, LetterView
from holdfast.errors import UnknownLetter

PIPELINES: Final = ("grade", "grade-speaking")
SOURCES: Final = (*PIPELINES, REQUEST, DLQ)
WAITING: Final = (LetterState.OPEN, LetterState.TRIAGED, LetterState.REMEDIATED)
MAX_LISTED: Final = 100
RETRIED: Final = "retried: the submission is graded again"
DISCARDED: Final = "discarded: the submission is not graded again"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadRequest:
    """A request that was given up; what a poison message does not say is None."""

    id: str
    request_id: str | None
    submission_id: str | None
    skill: str | None
    failure_reason: str
    attempts_made: int
    last_error: str
    stage: str | None
    at: datetime

    def document(self) -> dict[str, Any]:
        """Return it as the API shows it."""
        return {
            "id": self.id,
            "requestId": self.request_id,
            "submissionId": self.submission_id,
            "skill": self.skill,
            "failureReason": self.failure_reason,
            "attemptsMade": self.attempts_made,
            "lastError": self.last_error,
            "stage": self.stage,
            "timestamp": self.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "canRetry": self.submission_id is not None,
        }


class DeadRequests:
    """What people do about requests that were given up.

    `retry` starts a submission over and returns nothing of interest.
    """

    def __init__(self, app: Holdfast, *, retry: Callable[..., object]) -> None:
        self._app = app
        self._retry = retry

    def list(self, *, limit: int = MAX_LISTED) -> list[DeadRequest]:
        """Return those that wait for a person, the latest failure first."""
        found = [
            _request_of(view)
            for source in SOURCES
            for view in self._app.dead.find(
                LetterFilter(states=WAITING, pipeline=source), limit=limit
            )
        ]
        return sorted(found, key=lambda each: each.at, reverse=True)[:limit]

    def get(self, letter_id: str) -> DeadRequest:
        """Return one, or raise `NotYours` when there is none."""
        return _request_of(self._letter(letter_id))

    def retry(self, letter_id: str, *, by: str) -> DeadRequest:
        """Start the submission of a request over.

        The letter of a job is closed as the grader goes on, that of a message here.
        """
        found, letter = self.get(letter_id), self._letter(letter_id).letter
        if found.submission_id is None:
            raise WrongState("the message does not say which submission it is about")
        self._retry(found.submission_id, by=by)
        if letter.pipeline not in PIPELINES and letter.state in WAITING:
            self._app.dead.resolve(letter_id, note=RETRIED, by=by, unreplayed=True)
        return found

    def discard(self, letter_id: str, *, by: str) -> DeadRequest:
        """Close a letter; its submission stays as it is."""
        found = self.get(letter_id)
        if self._letter(letter_id).letter.state not in WAITING:
            raise WrongState("it does not wait for a person any more")
        self._app.dead.resolve(letter_id, note=DISCARDED, by=by, unreplayed=True)
        return found

    def _letter(self, letter_id: str) -> LetterView:
        try:
            found = self._app.dead.get(letter_id)
        except UnknownLetter:
            raise NotYours from None
        if found.letter.pipeline not in SOURCES:
            raise NotYours
        return found


def _request_of(view: LetterView) -> DeadRequest:
    letter = view.letter
    said = _said(view)
    reason = said.get("failureReason") or letter.error_class
    if reason not in set(FailureReason):
        reason = FailureReason.MAX_RETRIES if letter.retryable else FailureReason.INTERNAL
    return DeadRequest(
        id=letter.id,
        request_id=_text(said.get("requestId")),
        submission_id=_text(said.get("submissionId")),
        skill=_text(said.get("skill")),
        failure_reason=str(reason),
        attempts_made=letter.attempts,
        last_error=_text(said.get("lastError")) or letter.message,
        stage=_text(said.get("stage")) or letter.stage,
        at=_EPOCH + timedelta(microseconds=letter.last_failure_at),
    )


def _said(view: LetterView) -> dict[str, Any]:
    """Return the message that a letter is about, as far as it can be read."""
    text = view.letter.payload if view.job is None else view.job.payload
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    if view.job is None and isinstance(found, dict):
        found = found.get("payload")
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
