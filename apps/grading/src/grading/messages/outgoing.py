"""Callbacks and dead-letter records as a grader writes them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID, uuid5

from grading.messages.contract import (
    MAX_ERROR_CHARACTERS,
    MAX_NOTE_CHARACTERS,
    SCHEMA_VERSION,
)
from grading.messages.times import time_text
from grading.states import CIRCUIT_OPEN, FailureReason, Step

EVENT_IDS: Final = UUID("3b9f3c6e-6a55-5b8b-8f0d-0a7cf8e2a2b4")
_TEXTS: Final = frozenset({"text", "transcript", "prompt", "audioUrl", "callbackToken"})


class Sender(Protocol):
    """What can be answered: a request, or what can be read of one that does not fit."""

    @property
    def requestId(self) -> UUID:  # noqa: N802 - as it is on the wire
        """The request."""

    @property
    def submissionId(self) -> str:  # noqa: N802 - as above
        """The submission."""

    @property
    def callbackToken(self) -> str:  # noqa: N802 - as above
        """The right to answer."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What else is known, such as the trace."""


class Addressee(NamedTuple):
    """Whom a callback goes to: the newest right to answer a request."""

    request_id: str
    submission_id: str
    callback_token: str
    trace_id: str | None = None

    @classmethod
    def of(cls, request: Sender) -> Addressee:
        """Return who sent a request."""
        trace_id = request.metadata.get("traceId")
        return cls(
            str(request.requestId),
            request.submissionId,
            request.callbackToken,
            trace_id if isinstance(trace_id, str) else None,
        )


def event_id(*parts: object) -> str:
    """Return the id of an event: the same for the same parts, so that a resend is recognised."""
    return str(uuid5(EVENT_IDS, "\n".join(str(part) for part in parts)))


def token_mark(token: str) -> str:
    """Return what tells callback tokens apart without giving them away."""
    return hashlib.sha256(token.encode()).hexdigest()[:16]


def progress_callback(
    to: Addressee, *, event: str, step: Step, progress: float, message: str, at: datetime
) -> dict[str, Any]:
    """Return a callback that says how far a request is."""
    note = message[:MAX_NOTE_CHARACTERS]
    return _callback(to, event, "progress", at) | {
        "progress": {"step": step.value, "progress": progress, "message": note}
    }


def completed_callback(
    to: Addressee, *, event: str, result: Mapping[str, Any], attempts_made: int, at: datetime
) -> dict[str, Any]:
    """Return the callback with the result."""
    callback = _callback(to, event, "completed", at) | {"result": dict(result)}
    callback["metadata"] |= {"completedAt": time_text(at), "attemptsMade": attempts_made}
    return callback


def error_callback(
    to: Addressee,
    *,
    event: str,
    reason: FailureReason,
    message: str,
    attempts_made: int,
    at: datetime,
    kind: str = "",
) -> dict[str, Any]:
    """Return the callback that says that there will be no result."""
    callback = _callback(to, event, "error", at) | {
        "error": {
            "code": reason.value,
            "type": kind[:64],
            "message": message[:MAX_ERROR_CHARACTERS],
            "retryable": False,
        }
    }
    callback["metadata"] |= {"completedAt": time_text(at), "attemptsMade": attempts_made}
    return callback


def circuit_callback(
    to: Addressee, *, event: str, upstream: str, retry_after_s: float, at: datetime
) -> dict[str, Any]:
    """Return the notice that a request waits because an upstream is not called for a while."""
    return _callback(to, event, "error", at) | {
        "error": {
            "code": CIRCUIT_OPEN,
            "type": upstream[:64],
            "message": "the grading service is away; this goes on by itself",
            "retryable": True,
            "retryAfterSeconds": round(max(retry_after_s, 0.0), 3),
        }
    }


def _callback(to: Addressee, event: str, status: str, at: datetime) -> dict[str, Any]:
    return {
        "schemaVersion": SCHEMA_VERSION,
        "eventId": event,
        "requestId": to.request_id,
        "submissionId": to.submission_id,
        "callbackToken": to.callback_token,
        "status": status,
        "metadata": {"traceId": to.trace_id, "timestamp": time_text(at)},
    }


def dlq_record(
    *,
    original: object,
    reason: FailureReason,
    attempts_made: int,
    last_error: str,
    at: datetime,
    stage: str | None,
    redact: bool,
) -> dict[str, Any]:
    """Return the record of a request that is given up; `original` is its message, or its text."""
    fields = original if isinstance(original, dict) else {}
    record: dict[str, Any] = {
        "schemaVersion": SCHEMA_VERSION,
        "requestId": _text(fields.get("requestId")),
        "submissionId": _text(fields.get("submissionId")),
        "failureReason": reason.value,
        "attemptsMade": attempts_made,
        "lastError": last_error[:MAX_ERROR_CHARACTERS],
        "timestamp": time_text(at),
        "skill": _text(fields.get("skill")),
        "stage": stage,
    }
    if isinstance(original, dict):
        record["originalMessage"] = redacted(original) if redact else original
    else:
        text = original if isinstance(original, str) else repr(original)
        record["originalText"] = _hashed(text) if redact else text
    return record


def redacted(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message whose texts are replaced by their hashes and lengths."""
    found: dict[str, Any] = {}
    for name, value in message.items():
        if name in _TEXTS and isinstance(value, str):
            found[name] = _hashed(value)
        elif isinstance(value, dict):
            found[name] = redacted(value)
        elif isinstance(value, list):
            found[name] = [_hashed(item) if isinstance(item, str) else item for item in value]
        else:
            found[name] = value
    return found


def _hashed(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"sha256:{digest} ({len(text)} characters)"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
