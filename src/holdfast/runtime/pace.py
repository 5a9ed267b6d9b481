"""How fast attempts end, and how much work to lease ahead for that."""

from __future__ import annotations

from typing import Final

from holdfast.runtime.clock import monotonic_s

PREFETCH_MOST: Final = 1_000
PREFETCH_S: Final = 0.05
"""How much work, by the pace of late, is leased ahead of a free place: enough to keep the lanes
busy during one claim, little enough that other workers get their share."""


class Pace:
    """How many attempts end per second, of late."""

    def __init__(self) -> None:
        self._since_s = monotonic_s()
        self._count = 0
        self._per_second = 0.0

    def note(self, count: int) -> None:
        """Count attempts that ended."""
        self._count += count

    def per_second(self) -> float:
        """Return the pace, measured over at least 50 ms."""
        elapsed_s = monotonic_s() - self._since_s
        if elapsed_s >= PREFETCH_S:
            self._per_second = self._count / elapsed_s
            self._since_s += elapsed_s
            self._count = 0
        return self._per_second

    def prefetch(self) -> int:
        """Return how many jobs to lease ahead."""
        return min(int(self.per_second() * PREFETCH_S), PREFETCH_MOST)
