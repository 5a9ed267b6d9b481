"""What every reviewer promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from criticizer.change import Change
from criticizer.critique import Critique


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a review took: calls, tokens, and dollars where the prices are known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal | None = None

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=(self.cost_usd or Decimal(0)) + (other.cost_usd or Decimal(0))
            if known
            else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """A critique, by whom, and what it took."""

    critique: Critique
    reviewer: str
    usage: Usage

    def to_document(self) -> dict[str, Any]:
        """Return what the stages after `llm` get."""
        cost = self.usage.cost_usd
        return {
            "critique": self.critique.model_dump(),
            "reviewer": self.reviewer,
            "calls": self.usage.calls,
            "input_tokens": self.usage.input_tokens,
            "output_tokens": self.usage.output_tokens,
            "cost_usd": None if cost is None else str(cost),
        }


class Reviewer(Protocol):
    """Looks at changes."""

    @property
    def name(self) -> str:
        """Who it is, as people read it: `offline`, or a model's name."""

    def review(
        self,
        change: Change,
        *,
        timeout_s: float,
        repair: bool,
        token: str,
        headers: Mapping[str, str],
    ) -> Reviewed:
        """Return what is to be said of a change; each call is made once: who retries is the engine.

        With `repair` an attempt before this one may have ended with an answer that was not what
        was asked for, and the model is reminded of the form. `token` is the same for every
        attempt, and `headers` carry a trace on. Raises `MalformedAnswer`, `Refused`, and otherwise
        what the SDK underneath raises.
        """

    def close(self) -> None:
        """Let go of connections."""
