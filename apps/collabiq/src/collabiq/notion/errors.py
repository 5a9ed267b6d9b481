"""What may go wrong at Notion, by what follows from it.

`unknown_outcome` says whether a write may have been done all the same: then it is looked up before
it is tried again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from notion_client.errors import HTTPResponseError

_PROPERTY: Final = (
    re.compile(
        r"body\.properties\.(.{1,100}?)\.(?:title|rich_text|select|status|number|date|url|"
        r"people|relation|checkbox)\b"
    ),
    re.compile(r"^(.{1,100}?) is (?:not a property that exists|expected to be )"),
    re.compile(r"property with name or id: (.{1,100})$"),
)
_MAX_MESSAGE: Final = 500
_SERVER_FAILURES: Final = 500


class NotionFailure(Exception):
    """A call of Notion failed."""

    unknown_outcome = False

    def __init__(self, message: str, *, status: int | None = None, code: str = "") -> None:
        self.status, self.code = status, code
        super().__init__(message[:_MAX_MESSAGE])


class NotionUnauthorized(NotionFailure):
    """The API key is refused (401); an operator has to replace it."""


class NotionForbidden(NotionFailure):
    """The integration may not do this (403)."""


class NotionNotFound(NotionFailure):
    """The object is not there, or not shared with the integration (404)."""


class NotionConflict(NotionFailure):
    """Another changed the same (409): worth a few more tries."""


class NotionRateLimited(NotionFailure):
    """Too many calls (429); nothing was done."""

    def __init__(self, message: str, *, retry_after_s: float | None, **facts: object) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message, status=429, code=str(facts.get("code", "")))


class NotionInvalid(NotionFailure):
    """What was sent is refused (400 and the like); `property` is the column it is about."""

    def __init__(self, message: str, *, status: int | None = None, code: str = "") -> None:
        self.property = property_in(message)
        super().__init__(message, status=status, code=code)


class NotionUnreachable(NotionFailure):
    """No connection came about: nothing was sent."""


class NotionUnavailable(NotionFailure):
    """No usable answer came: a time-out, a broken connection or a failure over there (5xx)."""

    unknown_outcome = True


class MissingColumn(NotionFailure):
    """A column without which no row can be written is not in the database."""

    def __init__(self, column: str, *, kind: str) -> None:
        self.column = column
        super().__init__(f"the database has no column {column!r} of kind {kind}")


def property_in(message: str) -> str | None:
    """Return the column that a refusal names, or None."""
    found = (pattern.search(message) for pattern in _PROPERTY)
    return next((each[1].strip() for each in found if each is not None), None)


def failure_of(error: Exception) -> NotionFailure | None:
    """Return what an exception of the SDK means, or None for one that is not its."""
    # The SDK is slow to import, and only its own exceptions need it.
    import httpx  # noqa: PLC0415
    from notion_client.errors import (  # noqa: PLC0415
        HTTPResponseError,
        InvalidPathParameterError,
        RequestTimeoutError,
    )

    never_sent = (
        httpx.ConnectError,
        httpx.ConnectTimeout,
        httpx.PoolTimeout,
        httpx.UnsupportedProtocol,
        httpx.ProxyError,
    )
    match error:
        case HTTPResponseError():
            return _failure_of_answer(error)
        case InvalidPathParameterError():
            return NotionInvalid("an id has characters that no id has")
        case RequestTimeoutError():
            if isinstance(error.__context__, never_sent):
                return NotionUnreachable("no connection to Notion in time")
            return NotionUnavailable("Notion did not answer in time")
        case httpx.HTTPError():
            if isinstance(error, never_sent):
                return NotionUnreachable(f"no connection to Notion: {type(error).__name__}")
            return NotionUnavailable(f"the connection to Notion broke: {type(error).__name__}")
        case ValueError() | RecursionError():
            return NotionUnavailable("Notion answered with something that is no JSON")
        case _:
            return None


def _failure_of_answer(error: HTTPResponseError) -> NotionFailure:
    status, code, said = error.status, str(getattr(error.code, "value", error.code)), str(error)
    match status:
        case 401:
            return NotionUnauthorized("Notion refuses the key", status=status, code=code)
        case 403:
            return NotionForbidden(said, status=status, code=code)
        case 404:
            return NotionNotFound(said, status=status, code=code)
        case 409:
            return NotionConflict(said, status=status, code=code)
        case 429:
            wait_s = _seconds(error.headers.get("retry-after"))
            return NotionRateLimited("Notion asks for a pause", retry_after_s=wait_s, code=code)
        case _ if status >= _SERVER_FAILURES:
            return NotionUnavailable(f"Notion answered {status}", status=status, code=code)
        case _:
            return NotionInvalid(said, status=status, code=code)


def _seconds(header: str | None) -> float | None:
    try:
        return max(0.0, float(header)) if header is not None else None
    except ValueError:
        return None
