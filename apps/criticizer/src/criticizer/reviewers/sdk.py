"""What the SDKs of OpenAI and Anthropic have in common, which are made alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from criticizer.reviewers.answers import MAX_ANSWER_LENGTH

MAX_BODY_BYTES: Final = 4 * MAX_ANSWER_LENGTH + 64 * 1024
"""Of an answer with all that is around it; what is escaped in it takes more than a byte."""
_TOLD: Final = ("code", "type")
_MAX_TOLD_LENGTH: Final = 60


def without_words(error: Any, *, whose: str) -> None:  # noqa: ANN401 - of either SDK
    """Take out of an SDK's status error what the API said: it may repeat the prompt, or the key.

    Status, headers, and the code and type that classify it stay.
    """
    message = f"{whose} answered {error.status_code}"
    error.args = (message,)
    error.message = message
    body = error.body
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    if isinstance(inner, Mapping):
        error.body = {"error": {name: _word(inner.get(name)) for name in _TOLD}}
    else:
        error.body = None


def _word(value: object) -> str | None:
    """Return the value if it is a word such as APIs classify by; None otherwise."""
    if not isinstance(value, str) or len(value) > _MAX_TOLD_LENGTH:
        return None
    return value if value.replace("_", "a").isalnum() and value.isascii() else None


def tokens(usage: object, *names: str) -> int:
    """Return the sum of these counts of an answer; what is no count is nothing."""
    counts = (getattr(usage, name, None) for name in names)
    return sum(count for count in counts if type(count) is int and count > 0)
