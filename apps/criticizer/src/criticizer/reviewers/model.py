"""Reviews by a model: a change in as many questions as it takes, and one critique out of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Protocol

from criticizer.change import Change
from criticizer.critique import Critique
from criticizer.diffs import Part, parse_diff, split_diff
from criticizer.reviewers.contract import Reviewed, Usage
from criticizer.reviewers.errors import MalformedAnswer
from criticizer.reviewers.merging import about, merged
from criticizer.reviewers.paid import Paid
from criticizer.reviewers.prompt import Prompt, new_boundary, prompt_for
from criticizer.sources.errors import ChangeTooLarge
from criticizer.wire import Deadline

_MTOK: Final = 1_000_000
_NOTHING: Final = Critique(summary="The change is empty.", findings=[])


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of a change one question holds, and how many questions a change is worth."""

    max_part_bytes: int = 200_000
    """A token is three bytes of code or more."""
    max_parts: int = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Dollars for a million tokens; a cost is known when both are."""

    input_per_mtok: Decimal | None = None
    output_per_mtok: Decimal | None = None

    def of(self, *, input_tokens: int, output_tokens: int) -> Usage:
        """Return what one call took."""
        cost = None
        if self.input_per_mtok is not None and self.output_per_mtok is not None:
            cost = (
                self.input_per_mtok * input_tokens + self.output_per_mtok * output_tokens
            ) / _MTOK
        return Usage(calls=1, input_tokens=input_tokens, output_tokens=output_tokens, cost_usd=cost)


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back for one question, and was paid for: a critique, or why it is none."""

    critique: Critique | MalformedAnswer
    usage: Usage


class Model(Protocol):
    """A model behind an API."""

    @property
    def name(self) -> str:
        """What the model is called."""

    def ask(self, prompt: Prompt, *, deadline: Deadline, headers: Mapping[str, str]) -> Answered:
        """Ask once. Raises `Refused`, and what the SDK raises without anything of the prompt."""


class ModelReviewer:
    """Reviews changes by asking a model."""

    def __init__(self, model: Model, *, limits: Limits) -> None:
        self._model, self._limits = model, limits
        self._paid = Paid()

    @property
    def name(self) -> str:
        """What the model is called."""
        return self._model.name

    def review(
        self,
        change: Change,
        *,
        timeout_s: float,
        repair: bool,
        token: str,
        headers: Mapping[str, str],
    ) -> Reviewed:
        """Return what the model says; see the contract.

        A part that was answered in an attempt before this one, in this process, is not asked about
        again. Raises `ChangeTooLarge` for a change of too many parts, before anything is paid.
        """
        parts = split_diff(parse_diff(change.diff), max_bytes=self._limits.max_part_bytes)
        if not parts:
            return Reviewed(critique=_NOTHING, reviewer=self.name, usage=Usage())
        if len(parts) > self._limits.max_parts:
            raise ChangeTooLarge(
                f"the change takes {len(parts)} questions to review, "
                f"and may take {self._limits.max_parts}"
            )
        deadline = Deadline(timeout_s)
        critiques = []
        for number, part in enumerate(parts, 1):
            digest = hashlib.sha256(part.text.encode("utf-8", "replace")).hexdigest()
            found = self._paid.answer(token, digest)
            if found is None:
                prompt = prompt_for(
                    part,
                    title=change.title,
                    number=number,
                    count=len(parts),
                    repair=repair,
                    boundary=new_boundary(part.text + change.title),
                )
                answered = self._model.ask(prompt, deadline=deadline, headers=headers)
                found = self._kept(answered, part, digest=digest, token=token)
            critiques.append(found)
        return Reviewed(
            critique=merged(critiques), reviewer=self.name, usage=self._paid.total(token)
        )

    def close(self) -> None:
        """Let go of connections, of which none is kept."""

    def _kept(self, answered: Answered, part: Part, *, digest: str, token: str) -> Critique:
        if isinstance(answered.critique, MalformedAnswer):
            self._paid.record(token, digest, None, answered.usage)
            raise answered.critique
        critique = answered.critique.model_copy(
            update={"findings": about(answered.critique.findings, paths=part.paths)}
        )
        self._paid.record(token, digest, critique, answered.usage)
        return critique
