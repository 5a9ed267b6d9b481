"""requests and the urllib3 below it.

Everything requests raises is an `OSError`, and one class stands for a connection that was never
made as well as for one that broke: what urllib3 said tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from holdfast.classify.describe import causes_of
from holdfast.classify.http_facts import read
from holdfast.classify.httpx import verdict_of_no_connection
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
from holdfast.core.instant import Instant

_UNMADE: Final = frozenset(
    {"NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ProxyError"}
)


def _reasons(error: BaseException) -> Iterator[BaseException]:
    """What the error came from, and what each of those wraps as its `reason` or first argument."""
    for cause in causes_of(error):
        yield cause
        wrapped = (read(cause, ("reason",)), *cause.args[:1])
        yield from (each for each in wrapped if isinstance(each, BaseException))


def _verdict_of_connection(error: BaseException, now: Instant) -> Verdict:
    for reason in _reasons(error):
        if type(reason).__name__ in _UNMADE:
            return UNSENT
        if type(reason).__name__ == "ReadTimeoutError":
            return TIMEOUT
        if verdict_of_no_connection(reason, now) is AUTH:
            return AUTH
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
    Rule("urllib3.ConnectTimeoutError", TIMEOUT_UNSENT),
    Rule("urllib3.TimeoutError", TIMEOUT),
    Rule(named("urllib3", "MaxRetryError NewConnectionError SSLError"), _verdict_of_connection),
    Rule(named("urllib3", "ProtocolError IncompleteRead"), NETWORK),
    Rule(named("urllib3", "LocationValueError URLSchemeUnknown"), MISCONFIGURED),
)
