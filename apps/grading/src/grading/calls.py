"""One call to a model, as it is kept before anything is read out of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self


class RawAnswer(NamedTuple):
    """What came back for one call, paid for or not; `_asdict()` is JSON."""

    body: str
    """The answer as it came, kept before it is parsed."""
    provider: str
    """What answered: `rules`, or `openai:` and the name of the model."""
    usage: dict[str, Any]
    """`inputTokens`, `outputTokens` and `usd`; zeros for what costs nothing."""

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the answer that `_asdict()` was taken of."""
        return cls(str(document["body"]), str(document["provider"]), dict(document["usage"]))


FREE: dict[str, Any] = {"inputTokens": 0, "outputTokens": 0, "usd": 0.0}
"""The usage of a call that costs nothing; copy it."""
