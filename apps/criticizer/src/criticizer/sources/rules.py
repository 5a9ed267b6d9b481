"""What it means for a review that its change cannot be had."""

from __future__ import annotations

from typing import Final

from criticizer.sources.errors import (
    BadChangeId,
    ChangeMissing,
    ChangeTooLarge,
    NotADiff,
    SourceFailed,
    SourceTimedOut,
    SourceUnusable,
)
from holdfast.classify import Category, Rule, Verdict

CHANGE_TOO_LARGE: Final = "CHANGE_TOO_LARGE"
SCHEMA_INVALID: Final = "SCHEMA_INVALID"

TOO_LARGE_RULE: Final = Rule(
    ChangeTooLarge, Verdict(CHANGE_TOO_LARGE, retryable=False, blames_upstream=False)
)

SOURCE_RULES: Final = (
    Rule(ChangeMissing, Verdict("NOT_FOUND", retryable=False)),
    TOO_LARGE_RULE,
    Rule((BadChangeId, NotADiff), Verdict(SCHEMA_INVALID, retryable=False, blames_upstream=False)),
    # No change passes until a person mends the configuration.
    Rule(SourceUnusable, Verdict("AUTH_DENIED", retryable=False, category=Category.CRITICAL)),
    Rule(SourceTimedOut, Verdict("NETWORK_TIMEOUT", retryable=True)),
    Rule(SourceFailed, Verdict("NETWORK", retryable=True)),
)
"""What a stage that fetches says of exceptions; those of libraries the engine knows itself."""
