"""The SDKs of OpenAI and Anthropic, which are made alike.

Status errors are judged by their status; here is what a status does not tell: connections, answers
that do not fit, refusals, and errors that arrive in the middle of a stream that began with 200.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from holdfast.classify.facts.http import read, status_of
from holdfast.classify.http.httpx import HTTPX
from holdfast.classify.http.status import verdict_of_response
from holdfast.classify.reasons import verdict_of_causes
from holdfast.classify.rule import Rule, Verdict, named
from holdfast.classify.table import Table
from holdfast.classify.verdicts import (
    AUTH,
    CONFLICT,
    INVALID,
    MISCONFIGURED,
    NETWORK,
    NOT_FOUND,
    OUTPUT_INVALID,
    POLICY,
    RATE_LIMITED,
    TIMEOUT,
    UPSTREAM,
)
from holdfast.core.values.instant import Instant

_PACKAGES: Final = "openai anthropic"
_FIRST_ERROR_STATUS: Final = 400
_TRANSPORT: Final = Table(HTTPX)

# The stream had begun, so that some of the answer was made and paid for.
_BROKE_OFF: Final = replace(RATE_LIMITED, outcome_known=False)

_BY_KIND: Final[Mapping[str, Verdict]] = {
    "api_error": UPSTREAM,
    "authentication_error": AUTH,
    "billing_error": AUTH,
    "conflict_error": CONFLICT,
    "content_filter": POLICY,
    "content_policy_violation": POLICY,
    "insufficient_quota": AUTH,
    "internal_error": UPSTREAM,
    "invalid_api_key": AUTH,
    "invalid_prompt": POLICY,
    "invalid_request_error": INVALID,
    "moderation_blocked": POLICY,
    "not_found_error": NOT_FOUND,
    "overloaded_error": UPSTREAM,
    "permission_error": AUTH,
    "rate_limit_error": _BROKE_OFF,
    "rate_limit_exceeded": _BROKE_OFF,
    "server_error": UPSTREAM,
    "timeout_error": TIMEOUT,
}


def _verdict_of_connection(error: BaseException, now: Instant) -> Verdict | None:
    """What the HTTP client said tells what was sent and what was not."""
    return verdict_of_causes(error, _TRANSPORT, now=now)


def _verdict_of_api_error(error: BaseException, now: Instant) -> Verdict | None:
    verdict = _verdict_of_kind(error)
    if (status_of(error) or 0) < _FIRST_ERROR_STATUS:
        return verdict
    # Of an answer with a status the body decides only whether it is a refusal.
    return POLICY if verdict is POLICY else verdict_of_response(error, now)


def _verdict_of_kind(error: BaseException) -> Verdict | None:
    """What the body's own code or type says, the code before the type."""
    body = read(error, ("body",))
    inner = body.get("error", body) if isinstance(body, dict) else None
    said = [read(error, ("code",)), read(error, ("type",))]
    if isinstance(inner, dict):
        said += [inner.get("code"), inner.get("type")]
    found = (_BY_KIND[each] for each in said if isinstance(each, str) and each in _BY_KIND)
    return next(found, None)


OPENAI_ANTHROPIC: Final[tuple[Rule, ...]] = (
    Rule(named(_PACKAGES, "APIConnectionError"), _verdict_of_connection),
    # A timeout is a connection error, too.
    Rule(named(_PACKAGES, "APITimeoutError"), TIMEOUT),
    Rule(named(_PACKAGES, "APIConnectionError"), NETWORK),
    Rule(named(_PACKAGES, "APIResponseValidationError"), OUTPUT_INVALID),
    Rule("openai.ContentFilterFinishReasonError", POLICY),
    Rule("openai.LengthFinishReasonError", OUTPUT_INVALID),
    Rule("anthropic.CredentialsError", AUTH),
    Rule(named(_PACKAGES, "APIError"), _verdict_of_api_error),
    # The client was never made: a key is missing, or an option wrong.
    Rule(named(_PACKAGES, "OpenAIError AnthropicError"), MISCONFIGURED),
)
