"""How an upstream stands: its gate, the evidence about it, and who may try it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from holdfast.core.values.instant import Instant, to_rfc3339

if TYPE_CHECKING:
    from collections.abc import Mapping


MAX_FAILED_CALLS: Final = 5
"""How many of the latest failed calls are kept as the reason of a move."""
MAX_CALL_MESSAGE_LENGTH: Final = 300


class Gate(StrEnum):
    """Whether calls may go through."""

    CLOSED = "closed"
    """As a circuit: calls go through."""
    OPEN = "open"
    HALF_OPEN = "half_open"


class Sample(NamedTuple):
    """How some calls of one worker ended: first the fine ones, then those that failed."""

    at: Instant
    """When the first of them was reported."""
    worker: str
    fine: int
    failed: int


class Permit(NamedTuple):
    """One worker's right to make one trial call, until an instant."""

    number: int
    worker: str
    until: Instant


class FailedCall(NamedTuple):
    """A call that spoke against an upstream."""

    at: Instant
    error_class: str
    message: str
    """Redacted, and at most `MAX_CALL_MESSAGE_LENGTH` characters."""
    job_id: str | None = None
    """The job that made it; None for a probe."""

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values for people, instants as texts in UTC."""
        return {**self._asdict(), "at": to_rfc3339(self.at)}


class UpstreamState(NamedTuple):
    """What the store keeps of an upstream. All workers of the fleet see the same."""

    name: str
    revision: int = 0
    gate: Gate = Gate.CLOSED
    generation: int = 0
    """Rises whenever the gate moves; evidence from an earlier generation counts for nothing."""
    since: Instant = Instant(0)
    """When the gate last moved."""
    open_until: Instant | None = None
    """The end of the cooldown, while the gate is open."""
    reopenings: int = 0
    """How often in a row trials have failed."""
    successes: int = 0
    """Trials that succeeded in this generation."""
    granted: int = 0
    """Permits given out in this generation, by which they are numbered."""
    permits: tuple[Permit, ...] = ()
    samples: tuple[Sample, ...] = ()
    paused_until: Instant | None = None
    """Until then the upstream asked everybody to stay away."""
    forced: Gate | None = None
    """OPEN or CLOSED when an operator said so."""
    forced_by: str | None = None
    forced_reason: str | None = None
    opened_at: Instant | None = None
    """Since when it is open, by itself or because an operator said so; None while it is not."""
    open_us: int = 0
    """For how long it was open in all, before `opened_at`."""
    reason: str | None = None
    """Why the breaker opened, while it has not closed again."""
    failures: tuple[FailedCall, ...] = ()
    """The latest calls that failed, oldest first; once it has opened, those that opened it."""

    @property
    def is_open(self) -> bool:
        """Whether the gate is open, as an operator holds it or by itself."""
        return (self.forced or self.gate) is Gate.OPEN

    def open_time_us(self, now: Instant) -> int:
        """Return for how long it was open in all until `now`."""
        # What an earlier holdfast opened says only when the gate moved.
        since = self.opened_at or self.since
        return self.open_us + (max(now - since, 0) if self.is_open else 0)

    def to_document(self) -> dict[str, Any]:
        """Return the form that is stored; the name and the revision stand beside it."""
        document = self._asdict()
        del document["name"], document["revision"]
        return document

    @classmethod
    def from_document(cls, name: str, revision: int, document: Mapping[str, Any]) -> UpstreamState:
        """Read the form that is stored; what a newer holdfast added is left aside."""
        known = {key: value for key, value in document.items() if key in cls._fields}
        forced = known.get("forced")
        return cls(
            **{
                **known,
                "name": name,
                "revision": revision,
                "gate": Gate(known["gate"]),
                "forced": None if forced is None else Gate(forced),
                "permits": tuple(Permit(*permit[:3]) for permit in known["permits"]),
                "samples": tuple(Sample(*sample[:4]) for sample in known["samples"]),
                "failures": tuple(FailedCall(*call[:4]) for call in known.get("failures", ())),
            }
        )
