"""From what a handler returned or raised to the event that `decide` answers."""

from __future__ import annotations

from typing import Any, NamedTuple

from holdfast.classify import failure_of
from holdfast.classify.facts.describe import describe
from holdfast.core.job.event import (
    DeadlinePassed,
    Done,
    Event,
    Failed,
    Interrupted,
    Snoozed,
    Suspended,
)
from holdfast.core.values.failure import (
    HANDLER_STOPPED,
    MAX_MESSAGE_LENGTH,
    RESULT_INVALID,
    STAGE_TIMEOUT,
    Failure,
)
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.core.values.outbox import NewMessage
from holdfast.errors import InvalidDocument, RetryLater
from holdfast.runtime.attempts.attempt import Attempt, Fate, Wait
from holdfast.runtime.attempts.notify import Notify
from holdfast.secrecy import keeping_personal_data, safe_text


class RemoteOutcome(NamedTuple):
    """What a child process made of its attempt, already as an event."""

    event: Event


def event_of(
    attempt: Attempt,
    value: Any,  # noqa: ANN401 - whatever the handler returned
    error: BaseException | None,
    *,
    now: Instant,
) -> Event | None:
    """Return the event of an attempt that ended, or None when it no longer counts."""
    if attempt.bound.keeps_personal_data:
        with keeping_personal_data():
            return _event_of(attempt, value, error, now)
    return _event_of(attempt, value, error, now)


def _event_of(
    attempt: Attempt,
    value: Any,  # noqa: ANN401 - as above
    error: BaseException | None,
    now: Instant,
) -> Event | None:
    if attempt.fate is Fate.LOST:
        return None
    if attempt.fate is Fate.HELD and attempt.refusal is not None:
        return attempt.refusal
    if error is None:
        return event_of_value(attempt, value, now=now)
    if attempt.fate is Fate.TIMED_OUT:
        return DeadlinePassed() if attempt.ends_with_job else Failed(STAGE_TIMEOUT)
    if attempt.fate is Fate.SHUT_DOWN:
        # Whatever a handler raises when it is stopped comes from being stopped.
        return Interrupted()
    if isinstance(error, RetryLater):
        return Snoozed(error.after_us, safe_text(error.reason, MAX_MESSAGE_LENGTH) or None)
    failure = failure_of(error, attempt.bound.rules, now=now)
    return Failed(_handler_stopped(error) if failure is None else failure)


def event_of_value(attempt: Attempt, value: Any, *, now: Instant) -> Event:  # noqa: ANN401
    """Return the event of an attempt whose handler returned."""
    if isinstance(value, RemoteOutcome):
        return value.event
    if isinstance(value, Notify):
        asked = value.asked(attempt.job.version)
        return Suspended(_wait_until(value.timeout, now), _published(attempt), asked)
    if isinstance(value, Wait):
        return Suspended(_wait_until(value.timeout, now), _published(attempt))
    try:
        encoded = attempt.bound.encode(value)
        return Done(encoded, None, _published(attempt), attempt.http_status)
    except Exception as error:  # noqa: BLE001 - a value's own serializer may raise anything
        return Failed(_result_invalid(error))


def _wait_until(timeout: float | None, now: Instant) -> Instant | None:
    return None if timeout is None else later(now, int(timeout * SECOND_US))


def _published(attempt: Attempt) -> tuple[NewMessage, ...]:
    return () if attempt.messages is None else tuple(attempt.messages)


def _handler_stopped(error: BaseException) -> Failure:
    kind, _, stack = describe(error)
    return HANDLER_STOPPED._replace(exception_type=kind, stack=stack)


def _result_invalid(error: Exception) -> Failure:
    kind, message, stack = describe(error)
    return Failure(
        error_class=RESULT_INVALID.error_class,
        message=message if isinstance(error, InvalidDocument) else f"{kind}: {message}",
        category=RESULT_INVALID.category,
        retryable=False,
        exception_type=kind,
        stack=stack,
    )
