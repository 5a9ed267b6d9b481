"""Google's libraries: genai, api_core, googleapiclient with its httplib2, and google-auth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from holdfast.classify.facts.http import read, status_of
from holdfast.classify.http.status import verdict_of_response, verdict_of_status
from holdfast.classify.rule import Rule, Verdict, named
from holdfast.classify.services.grpc import retry_after_us_of_call, verdict_of_code
from holdfast.classify.verdicts import (
    ANSWER_INVALID,
    AUTH,
    MISCONFIGURED,
    NETWORK,
    RATE_LIMITED,
    TIMEOUT,
    UNSENT,
)
from holdfast.core.values.failure import MAX_RETRY_AFTER_US
from holdfast.core.values.instant import SECOND_US, Instant

_SECONDS: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)s")
_MAX_DETAILS: Final = 100

# Reasons of a 403 or a 429, by what waiting does about them.
_TOO_OFTEN: Final = frozenset({"rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED"})
_SPENT: Final = frozenset({"dailyLimitExceeded", "quotaExceeded", "DAILY_LIMIT_EXCEEDED"})
_BAD_KEY: Final = frozenset({"API_KEY_INVALID", "API_KEY_SERVICE_BLOCKED", "keyInvalid"})
_QUESTIONED: Final = frozenset({400, 403, 429})


def _verdict_of_answer(error: BaseException, now: Instant) -> Verdict | None:
    """By status, unless the reasons in the body know better."""
    if status_of(error) in _QUESTIONED:
        details = list(_details_of(error))
        reasons = {detail.get("reason") for detail in details}
        if reasons & _TOO_OFTEN:
            return RATE_LIMITED
        if reasons & (_SPENT | _BAD_KEY) or any(map(_is_daily_quota, details)):
            return AUTH
        wait_us = next((us for us in map(_retry_delay_us, details) if us is not None), None)
        if wait_us is not None and verdict_of_response(error, now) is RATE_LIMITED:
            return replace(RATE_LIMITED, retry_after_us=wait_us)
    return verdict_of_response(error, now)


def _details_of(error: BaseException) -> Iterator[Mapping[str, object]]:
    """Return the details of a Google error, in either of the two places the libraries put them."""
    found = read(error, ("error_details",)) or read(error, ("details",))
    if isinstance(found, dict):
        inner = found.get("error", found)
        found = inner.get("details") if isinstance(inner, dict) else None
    if isinstance(found, list):
        yield from (each for each in found[:_MAX_DETAILS] if isinstance(each, dict))


def _is_daily_quota(detail: Mapping[str, object]) -> bool:
    violations = detail.get("violations")
    return isinstance(violations, list) and any(
        isinstance(each, dict) and "PerDay" in str(each.get("quotaId", "")) for each in violations
    )


def _retry_delay_us(detail: Mapping[str, object]) -> int | None:
    found = _SECONDS.fullmatch(str(detail.get("retryDelay", "")))
    return min(int(float(found[1]) * SECOND_US), MAX_RETRY_AFTER_US) if found else None


def _verdict_of_api_core(error: BaseException, now: Instant) -> Verdict | None:
    """By the answer's status if there was one, else by the gRPC code the error stands for."""
    if read(error, ("response", "status_code")) is not None:
        return verdict_of_response(error, now)
    verdict = verdict_of_code(str(read(error, ("grpc_status_code", "name"))))
    if verdict is RATE_LIMITED:
        return replace(verdict, retry_after_us=retry_after_us_of_call(read(error, ("response",))))
    status = read(error, ("code",))
    return verdict or (verdict_of_status(int(status)) if isinstance(status, int) else None)


def _verdict_of_refresh(error: BaseException, _now: Instant) -> Verdict:
    """Return the token was refused, or only not given this time; the call itself was never made."""
    return UNSENT if read(error, ("retryable",)) is True else AUTH


GOOGLE: Final[tuple[Rule, ...]] = (
    Rule("google.genai.APIError", _verdict_of_answer),
    Rule("google.genai.UnknownApiResponseError", ANSWER_INVALID),
    Rule("google.api_core.GoogleAPICallError", _verdict_of_api_core),
    Rule("googleapiclient.HttpError", _verdict_of_answer),
    Rule("googleapiclient.UnknownApiNameOrVersion", MISCONFIGURED),
    Rule("httplib2.ServerNotFoundError", UNSENT),
    Rule(
        named("httplib2", "RedirectLimit RedirectMissingLocation RelativeURIError"), MISCONFIGURED
    ),
    Rule("google.auth.RefreshError", _verdict_of_refresh),
    # These may be about the call itself as well as about its token.
    Rule("google.auth.TimeoutError", TIMEOUT),
    Rule(named("google.auth", "TransportError ResponseError"), NETWORK),
    Rule(named("google.auth", "DefaultCredentialsError OAuthError MutualTLSChannelError"), AUTH),
)
