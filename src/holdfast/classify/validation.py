"""Data that does not fit its schema: pydantic, msgspec, JSON.

The same exception is raised over what we were given, which no retry mends, and over what an
upstream answered, which a retry may. Where the exception passed through a client library on its
way, it was an answer; a stage that validates answers itself says so by `answer_rules`.
"""

from __future__ import annotations

from dataclasses import replace
from json import JSONDecodeError
from typing import Final

from holdfast.classify.reasons import came_through
from holdfast.classify.rule import Rule, Verdict, named
from holdfast.classify.verdicts import ANSWER_INVALID, INVALID, OUTPUT_INVALID
from holdfast.core.values.instant import Instant

_SCHEMA_ERRORS: Final = (
    *named("pydantic_core pydantic", "ValidationError"),
    *named("msgspec", "DecodeError"),
)
_MODEL_PARSERS: Final = ("openai.lib.", "anthropic.lib.")
_HTTP_CLIENTS: Final = (
    "aiohttp.",
    "anthropic.",
    "google.genai.",
    "googleapiclient.",
    "httpx.",
    "httpx2.",
    "notion_client.",
    "openai.",
)


def answer_rules(*, attempts: int = 3) -> tuple[Rule, ...]:
    """Rules for a stage whose schema errors are about what an upstream answered.

    Such an answer was made and paid for; another may fit, so it is asked for a few times.
    """
    verdict = replace(OUTPUT_INVALID, attempts=attempts)
    return (Rule((*_SCHEMA_ERRORS, JSONDecodeError), verdict),)


def _verdict_of_schema(error: BaseException, _now: Instant) -> Verdict:
    return OUTPUT_INVALID if came_through(error, _MODEL_PARSERS) else INVALID


def _verdict_of_json(error: BaseException, _now: Instant) -> Verdict:
    return ANSWER_INVALID if came_through(error, _HTTP_CLIENTS) else INVALID


VALIDATION: Final[tuple[Rule, ...]] = (
    Rule(_SCHEMA_ERRORS, _verdict_of_schema),
    Rule(JSONDecodeError, _verdict_of_json),
)
