"""What may go wrong at Gmail, by what follows from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from googleapiclient.errors import HttpError

TOO_OFTEN: Final = frozenset({"rateLimitExceeded", "userRateLimitExceeded"})
_MAX_MESSAGE: Final = 300
_SERVER_FAILURES: Final = 500


class GmailFailure(Exception):
    """A call of Gmail failed."""

    def __init__(self, message: str, *, status: int | None = None, reason: str = "") -> None:
        self.status, self.reason = status, reason
        super().__init__(message[:_MAX_MESSAGE])


class InvalidCredentials(GmailFailure):
    """The stored credentials cannot be used as they are."""


class GrantRevoked(GmailFailure):
    """Google has revoked these credentials: the user has to sign in again."""


class GmailUnauthorized(GmailFailure):
    """A token that was given a moment ago is refused (401)."""


class GmailForbidden(GmailFailure):
    """The account may not do this (403)."""


class GmailNotFound(GmailFailure):
    """The mail, or the history that far back, is not there (404)."""


class GmailInvalid(GmailFailure):
    """The call makes no sense to Gmail (other 4xx)."""


class GmailRateLimited(GmailFailure):
    """Too many calls (429, or 403 with such a reason)."""

    def __init__(self, message: str, *, retry_after_s: float | None, **facts: Any) -> None:  # noqa: ANN401 - as above
        self.retry_after_s = retry_after_s
        super().__init__(message, **facts)


class GmailUnavailable(GmailFailure):
    """No usable answer: a time-out, a broken connection, or a failure over there (5xx)."""


def failure_of(error: HttpError) -> GmailFailure:
    """Return what an answer of Gmail means."""
    status = int(error.resp.status)
    reason = reason_in(error.content)
    facts: dict[str, Any] = {"status": status, "reason": reason}
    said = f"Gmail answered {status} {reason}".strip()
    if status == 429 or (status == 403 and reason in TOO_OFTEN):  # noqa: PLR2004 - as HTTP has them
        return GmailRateLimited(
            said, retry_after_s=_seconds(error.resp.get("retry-after")), **facts
        )
    match status:
        case 401:
            return GmailUnauthorized(said, **facts)
        case 403:
            return GmailForbidden(said, **facts)
        case 404:
            return GmailNotFound(said, **facts)
        case _ if status >= _SERVER_FAILURES:
            return GmailUnavailable(said, **facts)
        case _:
            return GmailInvalid(said, **facts)


def reason_in(body: bytes | str) -> str:
    """Return the word by which Google says why, or nothing."""
    try:
        document = json.loads(body)
        inner = document["error"]
        reasons = inner.get("errors") or inner.get("details") or [{}]
        found = reasons[0].get("reason") or inner.get("status") or ""
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        return ""
    return found[:60] if isinstance(found, str) else ""


def _seconds(header: str | None) -> float | None:
    try:
        return max(0.0, float(header)) if header is not None else None
    except ValueError:
        return None


def is_revoked(arguments: tuple[object, ...]) -> bool:
    """Return whether a refused refresh is one for good."""
    for each in arguments:
        if isinstance(each, Mapping) and each.get("error") == "invalid_grant":
            return True
        if isinstance(each, str) and "invalid_grant" in each:
            return True
    return False
