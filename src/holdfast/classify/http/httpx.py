"""httpx and httpx2, which share their names but not their classes.

Their status errors carry the response and are judged by it, as everybody's are.
"""

from __future__ import annotations

from typing import Final

from holdfast.classify.reasons import is_untrusted
from holdfast.classify.rule import Rule, Verdict, named
from holdfast.classify.verdicts import (
    ANSWER_INVALID,
    AUTH,
    MISCONFIGURED,
    NETWORK,
    SATURATED,
    TIMEOUT,
    TIMEOUT_UNSENT,
    UNSENT,
)
from holdfast.core.values.instant import Instant

_PACKAGES: Final = "httpx httpx2"


def _verdict_of_no_connection(error: BaseException, _now: Instant) -> Verdict:
    """A certificate that nobody vouches for does not pass by waiting."""
    return AUTH if is_untrusted(error) else UNSENT


def _verdict_of_proxy(error: BaseException, _now: Instant) -> Verdict:
    return AUTH if str(error).startswith("407") else UNSENT


HTTPX: Final[tuple[Rule, ...]] = (
    Rule(named(_PACKAGES, "PoolTimeout"), SATURATED),
    Rule(named(_PACKAGES, "ConnectTimeout"), TIMEOUT_UNSENT),
    Rule(named(_PACKAGES, "TimeoutException"), TIMEOUT),
    Rule(named(_PACKAGES, "ConnectError"), _verdict_of_no_connection),
    Rule(named(_PACKAGES, "ProxyError"), _verdict_of_proxy),
    Rule(named(_PACKAGES, "NetworkError RemoteProtocolError"), NETWORK),
    Rule(named(_PACKAGES, "DecodingError"), ANSWER_INVALID),
    Rule(
        named(
            _PACKAGES,
            "InvalidURL UnsupportedProtocol TooManyRedirects LocalProtocolError"
            " StreamError CookieConflict",
        ),
        MISCONFIGURED,
    ),
)
