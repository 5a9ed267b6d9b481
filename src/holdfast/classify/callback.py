"""The failure that a waiting stage is answered with, and what it means by the one who answers."""

from __future__ import annotations

from typing import Any, Final

from holdfast.classify.rule import Rule, Verdict
from holdfast.core.values.failure import MAX_RETRY_AFTER_US, Category, ErrorClass
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.errors import HandlerSignal, InvalidValue, checked_error_class

RESERVED: Final = frozenset(
    {
        ErrorClass.CALLBACK_TIMEOUT,
        ErrorClass.EVIDENCE_MISSING,
        ErrorClass.PAYLOAD_INVALID,
        ErrorClass.RESULT_INVALID,
        ErrorClass.SNOOZED_TOO_OFTEN,
        ErrorClass.STAGE_TIMEOUT,
        ErrorClass.TIMEOUT,
        ErrorClass.WITHDRAWN,
        ErrorClass.WORKER_LOST,
    }
)
"""Classes that say what this engine found out by itself: nobody else can."""
_PASSING: Final = frozenset(
    {
        ErrorClass.CIRCUIT_OPEN,
        ErrorClass.NETWORK,
        ErrorClass.NETWORK_TIMEOUT,
        ErrorClass.RATE_LIMITED,
        ErrorClass.SATURATED,
        ErrorClass.UPSTREAM_5XX,
        ErrorClass.WORKER_CRASH,
    }
)


class CallbackFailure(HandlerSignal):
    """Answers a waiting stage that what it waits for has failed.

    Given to `Holdfast.answer` or `Holdfast.resume`; rules of the stage may judge it otherwise.
    Left out, `retryable` follows from the error class: what passes with time is tried again, and a
    class that holdfast does not know is not. `retry_after` is in seconds.
    """

    def __init__(
        self,
        error_class: str,
        message: str = "",
        *,
        retryable: bool | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.error_class = checked_error_class(error_class, owner="CallbackFailure")
        if self.error_class in RESERVED:
            raise _invalid(
                "error_class",
                error_class,
                "a class of your own, or one of another kind: this one says what holdfast itself "
                "found out",
            )
        if not isinstance(message, str):
            raise _invalid("message", message, "a text")
        if retryable is not None and type(retryable) is not bool:
            raise _invalid("retryable", retryable, "true, false or left out")
        if retry_after is not None and not _is_span(retry_after):
            longest_s = MAX_RETRY_AFTER_US // SECOND_US
            raise _invalid("retry_after", retry_after, f"from 0 to {longest_s} seconds")
        self.message = message
        self.retryable = self.error_class in _PASSING if retryable is None else retryable
        self.retry_after = retry_after
        super().__init__(message or self.error_class)


def _invalid(field: str, value: object, limit: str) -> InvalidValue:
    return InvalidValue("CallbackFailure", field=field, value=value, limit=limit)


def _is_span(seconds: Any) -> bool:  # noqa: ANN401 - anything may be given
    return type(seconds) in (int, float) and 0 <= seconds <= MAX_RETRY_AFTER_US / SECOND_US


def _verdict_of_itself(failure: CallbackFailure, _now: Instant) -> Verdict:
    seconds = failure.retry_after
    return Verdict(
        failure.error_class,
        retryable=failure.retryable,
        category=Category.CRITICAL if failure.error_class == ErrorClass.AUTH_DENIED else None,
        retry_after_us=None if seconds is None else int(seconds * SECOND_US),
        blames_upstream=False,
    )


CALLBACK: Final[tuple[Rule, ...]] = (Rule(CallbackFailure, _verdict_of_itself),)
