"""The HTTP status and the Retry-After that an exception carries, whichever library made it.

Libraries disagree about attributes, so they are tried by name. Reading a foreign object may run
foreign code; whatever that raises means that the fact is not there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Final

from holdfast.core.values.failure import MAX_RETRY_AFTER_US
from holdfast.core.values.instant import SECOND_US, Instant, from_datetime

# The answer itself first: most clients keep it, and asking for what is not there takes time.
_STATUS_PATHS: Final = (
    ("response", "status_code"),
    ("status_code", None),
    ("status", None),
    ("code", None),
    ("resp", "status"),
)
_HEADER_PATHS: Final = (("response", "headers"), ("headers", None), ("resp", None))
# Of classes that the interpreter itself defines, none has any of these attributes.
_DEFINED_IN_PYTHON: Final = 1 << 9
_RATE_LIMIT_STATUSES: Final = (403, 429)
_FIRST_STATUS: Final = 100
_LAST_STATUS: Final = 599

_MAX_HEADERS: Final = 200
_MAX_VALUE_LENGTH: Final = 100
_MAX_PLAIN_DIGITS: Final = 9
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
# Hours, minutes, seconds and milliseconds as Go writes them: 6m0s, 1.5s, 120ms.
_SPAN: Final = re.compile(
    r"(?:([0-9]+)h)?(?:([0-9]+)m(?!s))?(?:([0-9]+(?:\.[0-9]+)?)s)?(?:([0-9]+)ms)?"
)
# x-ratelimit-reset, x-ratelimit-reset-tokens, anthropic-ratelimit-tokens-reset, ratelimit-reset.
_RESET_NAME: Final = re.compile(r"(?:[a-z]+-)?rate-?limit-(?:[a-z-]+-)?reset(?:-[a-z-]+)?")
# The wait in a RateLimit field, of a policy with nothing left: "default";r=0;t=30.
_SPENT_POLICY: Final = re.compile(r";\s*r=0\s*;\s*t=([0-9]{1,9})\b")
_MILLISECOND_NAMES: Final = ("retry-after-ms", "x-ms-retry-after-ms")
# A reset larger than this is an instant since the epoch; no limit resets after thirty years.
_SMALLEST_EPOCH_S: Final = 1_000_000_000


def read(found: object, path: tuple[str, ...]) -> object:
    """What lies at the end of a path of attributes; None when there is no such path."""
    try:
        for name in path:
            found = getattr(found, name, None)
            if found is None:
                return None
    except Exception:  # noqa: BLE001 - a property may raise anything
        return None
    return found


def may_carry_answer(exception: BaseException) -> bool:
    """Whether it is more than one of Python's own exceptions as it was raised: those never do."""
    return bool(type(exception).__flags__ & _DEFINED_IN_PYTHON or exception.__dict__)


def status_of(exception: BaseException) -> int | None:
    """Return the HTTP status the exception carries, if it is a plain integer from 100 to 599."""
    if not may_carry_answer(exception):
        return None
    for name, inner in _STATUS_PATHS:
        try:
            value = getattr(exception, name, None)
            if value is not None and inner is not None:
                value = getattr(value, inner, None)
        except Exception:  # noqa: BLE001, S112 - a property may raise anything
            continue
        # Enumerations and booleans are integers too, but of another numbering.
        if type(value) is int and _FIRST_STATUS <= value <= _LAST_STATUS:
            return value
    return None


def headers_of(exception: BaseException) -> dict[str, str]:
    """The response headers the exception carries, by lower-case name; empty when there are none."""
    if not may_carry_answer(exception):
        return {}
    for name, inner in _HEADER_PATHS:
        try:
            found = getattr(exception, name, None)
            if found is not None and inner is not None:
                found = getattr(found, inner, None)
        except Exception:  # noqa: BLE001, S112 - a property may raise anything
            continue
        if found is not None:
            headers = _headers_in(found)
            if headers:
                return headers
    return {}


def retry_after_us_of(exception: BaseException, *, now: Instant) -> int | None:
    """How long the upstream asks to wait, never negative and at most a year; None if it does not.

    `retry-after-ms` is the most exact, then `retry-after` in seconds or as a date; a refusal for
    too many calls may also say when the exhausted limit starts anew.
    """
    headers = headers_of(exception)
    if not headers:
        return None
    for name in _MILLISECOND_NAMES:
        milliseconds = headers.get(name)
        if milliseconds is not None and _NUMBER.fullmatch(milliseconds.strip()):
            return _clamped(float(milliseconds) * 1_000)
    asked_us = parse_retry_after(headers.get("retry-after", ""), now=now)
    if asked_us is not None or status_of(exception) not in _RATE_LIMIT_STATUSES:
        return asked_us
    resets = [
        _parse_reset(value, now=now)
        for name, value in headers.items()
        if _RESET_NAME.fullmatch(name) and _is_exhausted(name, headers)
    ]
    policies = _SPENT_POLICY.finditer(headers.get("ratelimit", ""))
    resets += [_clamped(float(policy[1]) * SECOND_US) for policy in policies]
    return max((reset_us for reset_us in resets if reset_us is not None), default=None)


def parse_retry_after(value: str, *, now: Instant) -> int | None:
    """The wait that a Retry-After value asks for, in microseconds; None when it says nothing."""
    text = value.strip()
    if not text:
        return None
    if len(text) <= _MAX_PLAIN_DIGITS and text.isascii() and text.isdigit():
        # As nearly all of them are.
        return min(int(text) * SECOND_US, MAX_RETRY_AFTER_US)
    if _NUMBER.fullmatch(text):
        return _clamped(float(text) * SECOND_US)
    try:
        moment = parsedate_to_datetime(text)
        # A date that does not know its zone is in UTC, as all HTTP dates are.
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return _clamped(from_datetime(aware) - now)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _parse_reset(value: str, *, now: Instant) -> int | None:
    text = value.strip()
    if _NUMBER.fullmatch(text):
        seconds = float(text)
        if seconds >= _SMALLEST_EPOCH_S:
            return _clamped(seconds * SECOND_US - now)
        return _clamped(seconds * SECOND_US)
    span = _SPAN.fullmatch(text)
    if not text or span is None:
        return _parse_instant(text, now=now)
    hours, minutes, seconds, milliseconds = (float(part or 0) for part in span.groups())
    return _clamped((hours * 3600 + minutes * 60 + seconds + milliseconds / 1000) * SECOND_US)


def _parse_instant(text: str, *, now: Instant) -> int | None:
    """Return the wait until an instant as RFC 3339 writes it; None when it is none."""
    try:
        moment = datetime.fromisoformat(text)
        return _clamped(from_datetime(moment) - now)
    except (ValueError, OverflowError):
        return None


def _is_exhausted(reset_name: str, headers: Mapping[str, str]) -> bool:
    """Whether the limit that resets is used up; one with calls left is not what stopped us."""
    remaining = headers.get(reset_name.replace("-reset", "-remaining", 1), "").strip()
    return not _NUMBER.fullmatch(remaining) or float(remaining) <= 0


def _clamped(span_us: float) -> int:
    return int(min(max(span_us, 0), MAX_RETRY_AFTER_US))


def _headers_in(found: object) -> dict[str, str]:
    headers: dict[str, str] = {}
    try:
        for name, value in islice(found.items(), _MAX_HEADERS):  # type: ignore[attr-defined]
            if type(name) is str and type(value) is str:
                # As nearly all of them are, and an answer may have a great many.
                if len(value) <= _MAX_VALUE_LENGTH:
                    headers[name.lower()] = value
                continue
            text = _text(value)
            if text is not None and isinstance(name, (str, bytes)):
                headers[(_text(name) or "").lower()] = text
    except Exception:  # noqa: BLE001 - not a mapping, or one that fails: so far it is good
        return headers
    return headers


def _text(value: object) -> str | None:
    if isinstance(value, bytes):
        value = value[: _MAX_VALUE_LENGTH + 1].decode("latin-1")
    if isinstance(value, str) and len(value) <= _MAX_VALUE_LENGTH:
        return value
    return None
