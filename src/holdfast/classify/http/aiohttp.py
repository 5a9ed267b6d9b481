"""aiohttp. Its total timeout is the built-in `TimeoutError`; its connector errors are `OSError`s.

It may send a request twice when a kept connection turns out to be closed, so that what broke off
may even have been done twice.
"""

from __future__ import annotations

from typing import Final

from holdfast.classify.http.status import verdict_of_response
from holdfast.classify.rule import Rule, Verdict, named
from holdfast.classify.verdicts import (
    ANSWER_INVALID,
    AUTH,
    MISCONFIGURED,
    NETWORK,
    TIMEOUT,
    TIMEOUT_UNSENT,
    UNSENT,
)
from holdfast.core.values.instant import Instant


def _verdict_of_content(error: BaseException, now: Instant) -> Verdict:
    return verdict_of_response(error, now) or ANSWER_INVALID


AIOHTTP: Final[tuple[Rule, ...]] = (
    Rule(named("aiohttp", "ClientConnectorCertificateError ServerFingerprintMismatch"), AUTH),
    Rule("aiohttp.ConnectionTimeoutError", TIMEOUT_UNSENT),
    Rule("aiohttp.ServerTimeoutError", TIMEOUT),
    Rule("aiohttp.ClientConnectorError", UNSENT),
    Rule(named("aiohttp", "ClientConnectionError ClientPayloadError"), NETWORK),
    # An answer of another kind than was to be read; its status may be an error's.
    Rule("aiohttp.ContentTypeError", _verdict_of_content),
    Rule(named("aiohttp", "TooManyRedirects InvalidURL NonHttpUrlClientError"), MISCONFIGURED),
)
