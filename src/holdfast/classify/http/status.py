"""What the HTTP response that an exception carries says, whichever library made the exception."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from holdfast.classify.facts.describe import message_of
from holdfast.classify.facts.http import headers_of, read, status_of
from holdfast.classify.rule import Rule, Verdict
from holdfast.classify.verdicts import (
    AUTH,
    CONFLICT,
    INVALID,
    NOT_FOUND,
    POLICY,
    RATE_LIMITED,
    TIMEOUT_UNSENT,
    UPSTREAM,
)
from holdfast.core.values.failure import ErrorClass
from holdfast.core.values.instant import Instant

_BY_STATUS: Final[Mapping[int, Verdict]] = {
    401: AUTH,
    402: AUTH,
    403: AUTH,
    404: NOT_FOUND,
    407: AUTH,
    408: TIMEOUT_UNSENT,
    409: CONFLICT,
    410: NOT_FOUND,
    412: CONFLICT,
    423: CONFLICT,
    425: TIMEOUT_UNSENT,
    429: RATE_LIMITED,
    451: POLICY,
}
_FIRST_CLIENT_ERROR: Final = 400
_FIRST_SERVER_ERROR: Final = 500
_FORBIDDEN: Final = 403
_NOT_FOUND_STATUS: Final = 404

# What providers call a quota that no waiting refills; their prose says "quota" for rate limits too.
_SPENT_QUOTA: Final = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "daily_quota_exceeded",
        "monthly_quota_exceeded",
    }
)


def verdict_of_status(status: int) -> Verdict | None:
    """What an HTTP status alone says; None for one that is no error."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= _FIRST_SERVER_ERROR:
        return UPSTREAM
    return INVALID if status >= _FIRST_CLIENT_ERROR else None


def verdict_of_response(exception: BaseException, _now: Instant) -> Verdict | None:
    """What the HTTP response that an exception carries says; None when it carries none."""
    status = status_of(exception)
    if status is None:
        return None
    verdict = verdict_of_status(status)
    if verdict is RATE_LIMITED and _quota_is_spent(exception):
        return AUTH
    if status == _FORBIDDEN and _is_rate_limit(exception):
        return RATE_LIMITED
    return verdict


def not_found_yet(*, attempts: int = 3) -> Rule:
    """A rule for stages that read what was only just created: a 404 is tried again, a few times."""
    verdict = Verdict(ErrorClass.NOT_FOUND, retryable=True, attempts=attempts)

    def judge(exception: BaseException, _now: Instant) -> Verdict | None:
        return verdict if status_of(exception) == _NOT_FOUND_STATUS else None

    return Rule(Exception, judge, reads_answer=True)


def _quota_is_spent(exception: BaseException) -> bool:
    """Return whether the body's error code, not its prose, says that the money is used up."""
    codes = [read(exception, (name,)) for name in ("code", "type", "error_type")]
    body = read(exception, ("body",))
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict):
            codes += [inner.get("code"), inner.get("type")]
    return any(isinstance(code, str) and code in _SPENT_QUOTA for code in codes)


def _is_rate_limit(exception: BaseException) -> bool:
    """Return whether a 403 means "too often" rather than "not you"."""
    headers = headers_of(exception)
    if "retry-after" in headers or headers.get("x-ratelimit-remaining", "").strip() == "0":
        return True
    said = message_of(exception).lower()
    return "rate limit" in said or "ratelimitexceeded" in said
