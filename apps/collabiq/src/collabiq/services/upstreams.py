"""The services that stages call: how often, how patiently, and what their failures mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from collabiq.extract.answers import AnswerInvalid
from collabiq.gmail.errors import (
    GmailFailure,
    GmailForbidden,
    GmailNotFound,
    GmailRateLimited,
    GmailUnauthorized,
    GmailUnavailable,
    GrantRevoked,
    InvalidCredentials,
)
from collabiq.notion.errors import (
    NotionConflict,
    NotionFailure,
    NotionForbidden,
    NotionNotFound,
    NotionRateLimited,
    NotionUnauthorized,
    NotionUnavailable,
    NotionUnreachable,
)
from collabiq.records.retry_configs import (
    GEMINI_RETRY_CONFIG,
    GMAIL_RETRY_CONFIG,
    NOTION_RETRY_CONFIG,
)
from collabiq.settings.config import Config
from holdfast import Breaker, Guard, Rate, Upstream
from holdfast.classify import Category, Rule, Verdict
from holdfast.policies import BreakerMode
from holdfast.presets import FIVE_IN_A_ROW

GMAIL: Final = "gmail"
GEMINI: Final = "gemini"
OFFLINE: Final = "offline"
NOTION: Final = "notion"
NOTION_BURST: Final = 2
"""One less than Notion takes at once: requests do not arrive as far apart as they begin."""
_MINUTE_S: Final = 60.0
_MARGIN_S: Final = 5.0
"""By which an attempt may take longer than its call: what the call says is better to know."""
_TRIES: Final = 3
"""How often a model is called within one attempt, at most."""
_CONFLICTS: Final = 3
_SECOND_US: Final = 1_000_000
_AUTH: Final = Verdict("AUTH_DENIED", retryable=False, category=Category.CRITICAL)
_TIMEOUT: Final = Verdict("NETWORK_TIMEOUT", retryable=True, outcome_known=False)
_UNSENT: Final = Verdict("NETWORK", retryable=True)
_SERVER: Final = Verdict("UPSTREAM_5XX", retryable=True, outcome_known=False)
_RATE_LIMITED: Final = Verdict("RATE_LIMITED", retryable=True)
_NOT_FOUND: Final = Verdict("NOT_FOUND", retryable=False)
_INVALID: Final = Verdict("INVALID", retryable=False)
_CONFLICT: Final = Verdict("CONFLICT", retryable=True, attempts=_CONFLICTS)
OUTPUT_RULES: Final = (
    Rule(AnswerInvalid, Verdict("OUTPUT_INVALID", retryable=False, blames_upstream=False)),
)
"""Answers are repaired within an attempt: after that another attempt does not help."""


class Upstreams:
    """The three services that jobs call, as they are set."""

    def __init__(self, config: Config) -> None:
        breaker = _breaker(config)
        self.gmail = Upstream(
            GMAIL,
            timeout=GMAIL_RETRY_CONFIG.timeout + _MARGIN_S,
            retry=GMAIL_RETRY_CONFIG.to_retry(),
            rules=(Rule(GmailFailure, _gmail_verdict),),
            breaker=breaker,
        )
        self.gemini = Upstream(
            GEMINI,
            timeout=_TRIES * GEMINI_RETRY_CONFIG.timeout + _MARGIN_S,
            retry=GEMINI_RETRY_CONFIG.to_retry(),
            rules=OUTPUT_RULES,
            breaker=breaker,
        )
        self.notion = Upstream(
            NOTION,
            timeout=NOTION_RETRY_CONFIG.timeout + _MARGIN_S,
            retry=NOTION_RETRY_CONFIG.to_retry(),
            rules=NOTION_RULES,
            breaker=breaker,
            rate=_rate(config.notion_rate_per_s),
        )


def fallback_guard(config: Config) -> Guard | None:
    """Return what stands before Gemini where rules take its place; None where they do not.

    A stage is not run while the breaker of its upstream is open, and here it has work to do then.
    """
    if fallback_cooldown_s(config) is None:
        return None
    return Guard(
        GEMINI,
        breaker=_breaker(config),
        retry=GEMINI_RETRY_CONFIG.to_retry(),
        rules=OUTPUT_RULES,
        deadline=GEMINI_RETRY_CONFIG.timeout,
    )


def fallback_cooldown_s(config: Config) -> float | None:
    """Return how long Gemini is left alone where rules take its place; None where they do not."""
    if config.llm_order != (GEMINI, OFFLINE):
        return None
    return config.circuit_cooldown_s or float(FIVE_IN_A_ROW.cooldown)


def _breaker(config: Config) -> Breaker:
    mode = BreakerMode.HOLD if config.circuit_mode == "hold" else BreakerMode.FAIL_FAST
    cooldown_s = config.circuit_cooldown_s or FIVE_IN_A_ROW.cooldown
    # One worker of a fleet that cannot reach a service is reason enough, as the numbers have it.
    return replace(
        FIVE_IN_A_ROW, mode=mode, cooldown=cooldown_s, cooldown_cap=None, minimum_workers=1
    )


def _rate(per_s: float) -> Rate:
    """Return a rate by which no minute has more calls than so many a second, the burst included."""
    calls = max(int(per_s * _MINUTE_S) - NOTION_BURST, 1)
    return Rate(calls, per=_MINUTE_S, burst=NOTION_BURST)


def _wait_us(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * _SECOND_US)


def _gmail_verdict(error: GmailFailure, _now: object) -> Verdict:
    match error:
        case GmailRateLimited():
            return replace(_RATE_LIMITED, retry_after_us=_wait_us(error.retry_after_s))
        case GmailUnavailable():
            return _TIMEOUT if error.status is None else _SERVER
        case GmailUnauthorized() | GmailForbidden() | GrantRevoked() | InvalidCredentials():
            return _AUTH
        case GmailNotFound():
            return _NOT_FOUND
        case _:
            return _INVALID


def _notion_verdict(error: NotionFailure, _now: object) -> Verdict:
    match error:
        case NotionRateLimited():
            return replace(_RATE_LIMITED, retry_after_us=_wait_us(error.retry_after_s))
        case NotionUnavailable():
            return _TIMEOUT if error.status is None else _SERVER
        case NotionUnreachable():
            return _UNSENT
        case NotionConflict():
            return _CONFLICT
        case NotionUnauthorized() | NotionForbidden():
            return _AUTH
        case NotionNotFound():
            return _NOT_FOUND
        case _:
            return _INVALID


NOTION_RULES: Final = (Rule(NotionFailure, _notion_verdict),)
