"""What an application did besides deciding about jobs, for those who listen.

Of decisions about jobs `Announcer` tells.
Everything here is reported after it was written, and no listener can fail what it is about.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple, TypeVar

from holdfast.core.dead_letter.dead_letter import DeadLetter
from holdfast.core.delivery.delivery import Delivery
from holdfast.core.delivery.event import DeliveryEvent
from holdfast.core.upstream.upstream import UpstreamState

LOGGER: Final = logging.getLogger("holdfast.worker")

_Told = TypeVar("_Told")


class GateMoved(NamedTuple):
    """A breaker moved, or an upstream asked to be left alone."""

    before: UpstreamState
    after: UpstreamState


class DeliveryChanged(NamedTuple):
    """A delivery before and after what happened to it."""

    before: Delivery
    event: DeliveryEvent
    after: Delivery


class LetterEscalated(NamedTuple):
    """A job that a person sent back died again, for the same reason."""

    letter: DeadLetter


class MarksDoubted(NamedTuple):
    """A provider knows nothing of several deliveries in a row that were marked as sent."""

    provider: str
    missing: int


class CallEnded(NamedTuple):
    """A call of an upstream has ended, well or not; `fine` is None where that says nothing."""

    upstream: str
    took_us: int
    fine: bool | None


class Signal(Generic[_Told]):
    """Tells listeners of one kind of thing."""

    def __init__(self) -> None:
        self.listeners: tuple[Callable[[_Told], Any], ...] = ()
        """While there are none, what would be reported need not be put together."""

    def listen(self, listener: Callable[[_Told], Any]) -> Callable[[], None]:
        """Call `listener` with all that is reported from now on; returns the undoing."""
        self.listeners = (*self.listeners, listener)

        def leave() -> None:
            self.listeners = tuple(other for other in self.listeners if other is not listener)

        return leave

    def tell(self, told: _Told) -> None:
        """Tell everybody who listens."""
        for listener in self.listeners:
            try:
                listener(told)
            except Exception:
                LOGGER.exception("a listener failed")


class Signals:
    """The signals of one application."""

    def __init__(self) -> None:
        self.gates = Signal[GateMoved]()
        self.deliveries = Signal[DeliveryChanged]()
        self.escalations = Signal[LetterEscalated]()
        self.doubts = Signal[MarksDoubted]()
        self.calls = Signal[CallEnded]()


GUARDS: Final = Signal[GateMoved]()
"""The moves of the breakers of guards. It is the process's: a `Guard` belongs to no application."""
