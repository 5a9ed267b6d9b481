"""What a waiting stage is answered with besides a result, and how an answer is written as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from holdfast.classify.callback import CallbackFailure
from holdfast.errors import InvalidDocument, InvalidValue

LONGEST_NOTE: Final = 1_000
_ALL: Final = 100


class Outcome(StrEnum):
    """What an answer says of what the stage waits for."""

    RESULT = "result"
    FAILURE = "failure"
    PROGRESS = "progress"


@dataclass(frozen=True, slots=True)
class Progress:
    """Answers a waiting stage that what it waits for is under way; the stage goes on waiting.

    Given to `Holdfast.answer` or `Holdfast.resume`. The note stands in the job's history, and the
    stage waits on where it was declared with `progress_extends`.
    """

    note: str
    percent: int | None = None

    def __post_init__(self) -> None:
        note: object = self.note
        if not isinstance(note, str) or not 1 <= len(note) <= LONGEST_NOTE:
            limit = f"a text of 1 to {LONGEST_NOTE} characters"
            raise InvalidValue("Progress", field="note", value=note, limit=limit)
        percent: object = self.percent
        if percent is not None and (type(percent) is not int or not 0 <= percent <= _ALL):
            limit = f"a whole number from 0 to {_ALL}"
            raise InvalidValue("Progress", field="percent", value=percent, limit=limit)


def answer_of(outcome: object, document: Mapping[str, Any]) -> Any:  # noqa: ANN401 - or any JSON
    """Return the answer that a document states, or raise `InvalidDocument`.

    It has a `result`, or an `error` with its `error_class`, or a `note`, as the outcome says.
    """
    match outcome:
        case Outcome.RESULT:
            return _field(document, "result")
        case Outcome.FAILURE:
            return failure_of(_field(document, "error"))
        case Outcome.PROGRESS:
            return progress_of(document)
        case _:
            words = ", ".join(Outcome)
            raise _invalid("/outcome", f"one of {words}", _shown(outcome))


def failure_of(error: object) -> CallbackFailure:
    """Return the failure that an `error` states, or raise `InvalidDocument`."""
    if not isinstance(error, dict):
        raise _invalid("/error", "an object with error_class and message", type(error).__name__)
    try:
        return CallbackFailure(
            error.get("error_class", ""),
            error.get("message", ""),
            retryable=error.get("retryable"),
            retry_after=error.get("retry_after"),
        )
    except InvalidValue as flaw:
        raise _invalid(f"/error/{flaw.field}", flaw.limit, flaw.value) from flaw


def progress_of(document: object) -> Progress:
    """Return the progress that a document states, or raise `InvalidDocument`."""
    if not isinstance(document, dict):
        raise _invalid("", "an object with a note", type(document).__name__)
    try:
        return Progress(document.get("note", ""), document.get("percent"))
    except InvalidValue as flaw:
        raise _invalid(f"/{flaw.field}", flaw.limit, flaw.value) from flaw


def _field(document: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - JSON of any shape
    if name not in document:
        raise _invalid(f"/{name}", "given with this outcome", "nothing")
    return document[name]


def _invalid(path: str, limit: str, found: str) -> InvalidDocument:
    return InvalidDocument("answer", path=path, limit=limit, found=found)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else type(value).__name__
