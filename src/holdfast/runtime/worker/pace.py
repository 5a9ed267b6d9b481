"""How fast attempts end, and how much work to lease ahead for that."""

from __future__ import annotations

from typing import Final

from holdfast.core.values.instant import SECOND_US, Instant

PREFETCH_MOST: Final = 1_000
PREFETCH_US: Final = 50_000
"""How much work, by the recent pace, is leased ahead of a free place: enough to keep the lanes
busy during one claim, little enough that other workers get their share."""
NEVER: Final = -1
"""A load that no lane comes down to."""


class Pace:
    """How many attempts end per second, recently."""

    def __init__(self) -> None:
        self._since: Instant | None = None
        self._count = 0
        self._per_second = 0.0

    def note(self, count: int) -> None:
        """Count attempts that ended."""
        self._count += count

    def per_second(self, now: Instant) -> float:
        """Return the pace, measured over at least 50 ms."""
        if self._since is None or now < self._since:
            self._since = now
        elapsed_us = now - self._since
        if elapsed_us >= PREFETCH_US:
            self._per_second = self._count * SECOND_US / elapsed_us
            self._since = now
            self._count = 0
        return self._per_second

    def prefetch(self, now: Instant) -> int:
        """Return how many jobs to lease ahead."""
        return min(int(self.per_second(now) * PREFETCH_US / SECOND_US), PREFETCH_MOST)

    def room(self, *, places: int, load: int, now: Instant) -> int:
        """Return how many jobs to lease for a lane; none while only few more would fit."""
        prefetch = self.prefetch(now)
        room = places + prefetch - load
        return room if room > prefetch // 2 else 0

    def refill_at(self, *, places: int, now: Instant) -> int:
        """Return the load at which a lane has room again and should not wait for it.

        That is `NEVER` where handlers are slow: what they did is applied first, and one claim
        serves all that ended meanwhile.
        """
        prefetch = self.prefetch(now)
        return places + prefetch - prefetch // 2 - 1 if prefetch >= places else NEVER
