"""One paid call, as it is kept before its answer is read."""

from __future__ import annotations

from typing import Any, NamedTuple


class RawAnswer(NamedTuple):
    """What a provider answered, as it came; `_asdict()` is JSON."""

    body: str
    """The text or JSON of the answer."""
    provider: str
    """Such as `rules`, `moonshine` or `openai:whisper-1`."""
    usage: dict[str, Any]
    """`inputTokens`, `outputTokens` and `usd`, which is 0 offline."""
