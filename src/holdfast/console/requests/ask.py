"""What the console asks before it does anything: what, to how many, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Protocol

from holdfast.console.requests.visit import Visit


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """Something to fill in."""

    name: str
    label: str
    kind: Literal["text", "choice", "check", "number"] = "text"
    value: object = ""
    hint: str = ""
    needed: bool = False
    choices: Sequence[tuple[str, str]] = ()
    least: float = 0
    step: str = "1"


REASON: Final = Field(
    name="reason",
    label="Reason",
    hint="For the audit log, and for whoever looks next.",
    needed=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A question with a form; nothing happens before the form is sent."""

    title: str
    touches: str
    """How many it concerns, in a sentence."""
    verb: str
    """What the button says."""
    back: str
    """Where to go instead, without what comes before every path."""
    sentences: Sequence[str] = ()
    notes: Sequence[str] = ()
    fields: Sequence[Field] = (REASON,)
    hidden: Mapping[str, str] = field(default_factory=dict)
    dangerous: bool = False
    blocked: bool = False
    """Whether there is nothing to do, so that the button does nothing."""


class Done(NamedTuple):
    """Where to go after it was done, and which words say so."""

    path: str
    word: str
    many: int | None = None
    """How many it was done to, where the words say so."""


class Action(Protocol):
    """Something that an operator may do: asked with GET, done with POST at the same address."""

    def ask(self, visit: Visit) -> Ask:
        """Return what to ask; changes nothing."""
        ...

    def do(self, visit: Visit) -> Done:
        """Do it as the form says, or raise what stands in the way."""
        ...
