"""What needs a person: one entry of the list, and the words that its sources share."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, NamedTuple
from urllib.parse import quote

from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.views.explain.advice import Mover


class Kind(StrEnum):
    """What needs a person, in the order in which it is listed among the equally urgent."""

    NO_WORKER = "no_worker"
    NO_HANDLER = "no_handler"
    OUTBOX_STUCK = "outbox_stuck"
    ESCALATED = "escalated"
    DELIVERY_UNKNOWN = "delivery_unknown"
    DEAD_LETTERS = "dead_letters"
    DELIVERY_FAILED = "delivery_failed"
    BREAKER_OPEN = "breaker_open"
    QUEUE_PAUSED = "queue_paused"
    REPLAY_STOPPED = "replay_stopped"
    WORKER_SILENT = "worker_silent"
    MESSAGE_FAILED = "message_failed"
    QUEUE_BEHIND = "queue_behind"
    SYSTEM = "system"
    """Something that a system says of itself."""


class Urgency(StrEnum):
    """How urgent it is."""

    CRITICAL = "critical"
    """Work stands still, and more of it will, until a person acts."""
    WARNING = "warning"
    """A person is needed; everything else goes on."""


class Action(NamedTuple):
    """The one thing to do: where in the console, and with which command."""

    label: str
    path: str
    """The address in the console, without what comes before every path."""
    command: str
    asks: bool = False
    """Whether that page asks an operator before it changes something; else it is for looking."""


@dataclass(frozen=True, slots=True)
class Attention:
    """One thing that needs a person."""

    kind: Kind
    urgency: Urgency
    subject: str
    """What it is about, by name: a queue, an upstream, a cause."""
    sentence: str
    whose: Mover
    """Whose move it is."""
    advice: str
    """What to do, in a sentence."""
    action: Action
    page: str
    """Where in the console it is looked at."""
    count: int
    since: Instant | None = None

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values; times are RFC 3339 in UTC."""
        return {
            **asdict(self),
            "kind": self.kind.value,
            "urgency": self.urgency.value,
            "whose": self.whose.value,
            "action": self.action._asdict(),
            "since": None if self.since is None else to_rfc3339(self.since),
        }


def jobs_of(count: int) -> str:
    """Return a number of jobs."""
    return number_of(count, "job")


def number_of(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number of something."""
    return f"1 {noun}" if count == 1 else f"{count} {plural or noun + 's'}"


def are(count: int) -> str:
    """Return the verb that goes with a number."""
    return "is" if count == 1 else "are"


def in_url(name: str) -> str:
    """Return a name as a part of an address."""
    return quote(name, safe="")
