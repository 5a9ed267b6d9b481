"""What the worker asks of a lane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holdfast.runtime.attempts.attempt import Attempt, Fate


class Lane(Protocol):
    """Runs attempts, at most `limit` at a time, and keeps the rest in order until there is room.

    Every attempt that was started is reported exactly once, from whatever thread, however it
    ended; also one that was stopped. What a handler returns after its attempt was given up is
    reported as late.
    """

    limit: int

    def load(self) -> int:
        """Return how many attempts run or wait here, without those that are aside."""
        ...

    def stuck(self) -> int:
        """Return how many handlers run on although their attempts were given up."""
        ...

    def start(self, attempts: Sequence[Attempt]) -> None:
        """Take attempts over; returns at once."""
        ...

    def stop(self, attempt: Attempt, fate: Fate) -> None:
        """Stop an attempt as far as this lane can; it is reported with that fate."""
        ...

    def release_pending(self) -> None:
        """Report every attempt that has not begun as shut down."""
        ...

    def close(self) -> int:
        """End the lane and return how many handlers could not be ended with it."""
        ...
