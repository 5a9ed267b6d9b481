"""requests and the urllib3 below it.

Everything requests raises is an `OSError`, and one class stands for a connection that was never
made as well as for one that broke: what urllib3 said tells them apart.
"""

from __future__ import annotations

from typing import Final

from holdfast.classify.reasons import is_untrusted, reasons_of
from holdfast.classify.rule import Rule, Verdict, named
from holdfast.classify.verdicts import (
    ANSWER_INVALID,
    AUTH,
    INVALID,
    MISCONFIGURED,
    NETWORK,
    TIMEOUT,
    TIMEOUT_UNSENT,
    UNSENT,
    UPSTREAM,
)
from holdfast.core.values.instant import Instant

_REFUSED_BY_PROXY: Final = "failed: 407"
_UNMADE: Final = frozenset(
    {"NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ProxyError"}
)


def _verdict_of_connection(error: BaseException, _now: Instant) -> Verdict:
    if is_untrusted(error):
        return AUTH
    for reason in reasons_of(error):
        name = type(reason).__name__
        if name == "ReadTimeoutError":
            return TIMEOUT
        if name == "ProxyError" and _REFUSED_BY_PROXY in str(reason):
            return AUTH
        if name in _UNMADE:
            return UNSENT
    return NETWORK


REQUESTS: Final[tuple[Rule, ...]] = (
    Rule("requests.ConnectTimeout", TIMEOUT_UNSENT),
    Rule("requests.Timeout", TIMEOUT),
    Rule("requests.RetryError", UPSTREAM),
    Rule("requests.ConnectionError", _verdict_of_connection),
    Rule("requests.ChunkedEncodingError", NETWORK),
    Rule(named("requests", "JSONDecodeError ContentDecodingError"), ANSWER_INVALID),
    # What we were about to send is no JSON.
    Rule("requests.InvalidJSONError", INVALID),
    Rule(
        named(
            "requests",
            "MissingSchema InvalidSchema InvalidURL InvalidHeader URLRequired TooManyRedirects"
            " StreamConsumedError UnrewindableBodyError",
        ),
        MISCONFIGURED,
    ),
    # A connection that was refused is called a timeout as well.
    Rule(named("urllib3", "MaxRetryError NewConnectionError SSLError"), _verdict_of_connection),
    Rule("urllib3.ConnectTimeoutError", TIMEOUT_UNSENT),
    Rule("urllib3.TimeoutError", TIMEOUT),
    Rule(named("urllib3", "ProtocolError IncompleteRead"), NETWORK),
    Rule(named("urllib3", "LocationValueError URLSchemeUnknown"), MISCONFIGURED),
)
