"""A message from outside, as its consumer sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class Received(NamedTuple):
    """A message and what is known about it; what its producer did not say is None."""

    id: str
    """The same each time this message comes."""
    type: str
    subject: str | None
    """What it is about: the aggregate that it was published for."""
    payload: Any
    source: str | None = None
    time: datetime | None = None
    sequence: str | None = None
    """Of two messages about one subject the later one has the higher sequence."""
    trace: str | None = None
    correlation_id: str | None = None
    """What it answers or how it is to be answered, as its producer says."""
    reply_to: str | None = None
    """The queue in which its producer awaits the answer."""
    deliveries: int = 1
    """How often the broker has handed it out, this time included, as far as it says."""
    headers: Mapping[str, Any] = _NONE
    has_id: bool = True
    """False where its producer gave it no id, so that `id` is made of what it says."""
    arrived_s: float | None = None
    """When it came, by this process's monotonic clock."""
    unreadable: str | None = None
    """Of a dead letter whose body is no JSON: that body, as text; then there is no payload."""


class Handle(Protocol):
    """Does what a message asks for, once however often it comes; it may block."""

    def __call__(self, received: Received, /) -> None:
        """Return once the effect of the message is there to stay, or raise why it is not."""
        ...


class HandleMany(Protocol):
    """Does what several messages ask for, each once however often it comes; it may block."""

    def __call__(self, received: Sequence[Received], /) -> None:
        """Return once the effects of all are there to stay, or raise why they are not.

        Then each is handed over by itself, and what that raises is its own.
        """
        ...
