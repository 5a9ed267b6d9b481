"""What needs a person, as the API tells it."""

from __future__ import annotations

from pydantic import BaseModel

from holdfast.api.models.values.moment import Moment
from holdfast.engine.attention import Attention, Kind, Urgency
from holdfast.views.explain.advice import Mover


class NeededAction(BaseModel):
    """The one thing to do: where in the console, and with which command."""

    label: str
    path: str
    """The address in the console."""
    command: str
    asks: bool
    """Whether that page asks an operator before it changes something; else it is for looking."""


class AttentionEntry(BaseModel):
    """One thing that needs a person."""

    kind: Kind
    urgency: Urgency
    subject: str
    """What it is about: a queue, an upstream, the fingerprint of a cause."""
    sentence: str
    whose: Mover
    """Whose move it is."""
    advice: str
    action: NeededAction
    page: str
    """Where in the console it is looked at."""
    count: int
    since: Moment | None

    @classmethod
    def of(cls, entry: Attention) -> AttentionEntry:
        """Return an entry of the list as the API shows it."""
        return cls.model_validate(entry.to_document())


class AttentionList(BaseModel):
    """Everything that needs a person, the most urgent first; empty when all is well."""

    items: list[AttentionEntry]
