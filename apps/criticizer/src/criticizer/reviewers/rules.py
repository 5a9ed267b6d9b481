"""What it means for a change that it could not be reviewed."""

from __future__ import annotations

from typing import Final

from criticizer.reviewers.errors import MalformedAnswer, Refused, ReviewerFailed
from criticizer.sources.rules import TOO_LARGE_RULE
from holdfast.classify import Rule, Verdict

LLM_MALFORMED: Final = "LLM_MALFORMED"

REVIEWER_RULES: Final = (
    # The next attempt asks again and says what to mind. An endpoint that answers is well.
    Rule(MalformedAnswer, Verdict(LLM_MALFORMED, retryable=True, blames_upstream=False)),
    Rule(Refused, Verdict("CONTENT_POLICY", retryable=False)),
    Rule(ReviewerFailed, Verdict("PROCESS_FAILED", retryable=True, blames_upstream=False)),
    TOO_LARGE_RULE,
)
"""What a stage that reviews says of exceptions; those of the SDKs the engine knows itself."""
