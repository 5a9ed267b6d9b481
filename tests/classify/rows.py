"""What a row of the table promises, to compare a failure with."""

from typing import NamedTuple

from holdfast.classify import classify
from holdfast.core.values.failure import Failure

NOW = 1_445_412_480_000_000


class Row(NamedTuple):
    """What follows for the job, and for the breaker of the upstream."""

    error_class: str
    retryable: bool
    outcome_known: bool
    blames_upstream: bool
    attempts: int | None = None


def retried(error_class: str, *, known: bool, blames: bool, attempts: int | None = None) -> Row:
    return Row(error_class, True, known, blames, attempts)  # noqa: FBT003 - the row's own order


def stopped(error_class: str, *, known: bool = True) -> Row:
    return Row(error_class, False, known, False)  # noqa: FBT003 - the row's own order


TIMEOUT = retried("NETWORK_TIMEOUT", known=False, blames=True)
TIMEOUT_UNSENT = retried("NETWORK_TIMEOUT", known=True, blames=True)
NETWORK = retried("NETWORK", known=False, blames=True)
UNSENT = retried("NETWORK", known=True, blames=True)
SATURATED = retried("SATURATED", known=True, blames=False)
RATE_LIMITED = retried("RATE_LIMITED", known=True, blames=False)
QUOTA = retried("QUOTA_EXCEEDED", known=True, blames=False)
UPSTREAM = retried("UPSTREAM_5XX", known=False, blames=True)
CONFLICT = retried("CONFLICT", known=True, blames=False)
IO_RETRY = retried("IO_ERROR", known=True, blames=False)
ANSWER_INVALID = retried("INVALID", known=True, blames=True, attempts=2)
OUTPUT_INVALID = retried("INVALID", known=True, blames=False, attempts=3)
AUTH = stopped("AUTH_DENIED")
INVALID = stopped("INVALID")
NOT_FOUND = stopped("NOT_FOUND")
POLICY = stopped("CONTENT_POLICY")
CONFLICT_FINAL = stopped("CONFLICT")
IO_STOP = stopped("IO_ERROR")
MISCONFIGURED = stopped("BUG")
BUG = stopped("BUG", known=False)

STATUSES = {
    **dict.fromkeys((408, 425), TIMEOUT_UNSENT),
    429: RATE_LIMITED,
    **dict.fromkeys((500, 501, 502, 503, 504, 505, 511, 529), UPSTREAM),
    **dict.fromkeys((400, 405, 406, 411, 413, 415, 422), INVALID),
    **dict.fromkeys((401, 402, 403, 407), AUTH),
    **dict.fromkeys((404, 410), NOT_FOUND),
    **dict.fromkeys((409, 412, 423), CONFLICT),
    451: POLICY,
}
"""The rows for HTTP statuses, the same for every client."""


def row_of(exception: BaseException, rules=()) -> Row:
    return row_of_failure(classify(exception, rules, now=NOW))


def row_of_failure(failure: Failure) -> Row:
    return Row(
        failure.error_class,
        failure.retryable,
        failure.outcome_known,
        failure.blames_upstream,
        failure.attempts,
    )


def caught(call, *arguments, **options) -> BaseException:
    """What the call raises; it must raise something."""
    try:
        returned = call(*arguments, **options)
    except Exception as error:  # noqa: BLE001 - whatever it is, the test says what it must be
        return error
    raise AssertionError(f"nothing was raised; {returned!r} came back")
