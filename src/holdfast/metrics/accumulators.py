"""Sums and distributions by labels, cheap enough to be added to for every attempt."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Collection, Iterable
from typing import Final

from holdfast.core.values.instant import SECOND_US

Labels = tuple[str, ...]

MAX_SERIES: Final = 1_000
"""How many sets of labels one metric may have. Names are declared and few; should a program make
error classes of texts, all further ones are counted as one."""
OTHER: Final = "OTHER"

SECONDS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0),
)
"""Upper bounds of the buckets of durations."""
BOUNDS_US: Final = tuple(int(seconds * SECOND_US) for seconds in SECONDS)


class Sums:
    """Numbers that only grow, by labels."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[Labels, float] = {}

    def add(self, labels: Labels, amount: float = 1) -> None:
        """Add to the number of these labels."""
        with self._lock:
            key = admitted(labels, self._sums)
            self._sums[key] = self._sums.get(key, 0) + amount

    def begin(self, labels: Labels) -> None:
        """Have a number of these labels before anything is added to it."""
        self.add(labels, 0)

    def items(self) -> list[tuple[Labels, float]]:
        """Return the numbers at this moment."""
        with self._lock:
            return sorted(self._sums.items())


Cells = list[int]
"""How many values fell into each bucket, how many lie above them all, and the sum of all."""
Histogram = tuple[Labels, list[tuple[str, float]], float]
"""Labels, cumulative counts by upper bound as text, and the sum in seconds."""


def no_cells() -> Cells:
    """Return cells in which nothing was counted."""
    return [0] * (len(BOUNDS_US) + 2)


def count_into(cells: Cells, value_us: int) -> None:
    """Count a duration; one below zero, because a clock was set, counts as zero."""
    cells[bisect_left(BOUNDS_US, value_us)] += 1
    if value_us > 0:
        cells[-1] += value_us


def histogram_of(labels: Labels, cells: Cells) -> Histogram:
    """Return what was counted as Prometheus wants it."""
    total = 0
    buckets: list[tuple[str, float]] = []
    for bound, count in zip((*map(repr, SECONDS), "+Inf"), cells, strict=False):
        total += count
        buckets.append((bound, total))
    return labels, buckets, cells[-1] / SECOND_US


def summed(found: Iterable[tuple[Labels, Cells]]) -> list[Histogram]:
    """Return one histogram for each set of labels; cells of the same labels are added up."""
    by_labels: dict[Labels, Cells] = {}
    for labels, cells in found:
        before = by_labels.get(labels)
        added = cells if before is None else [a + b for a, b in zip(before, cells, strict=True)]
        by_labels[labels] = added
    return [histogram_of(labels, cells) for labels, cells in sorted(by_labels.items())]


class Distributions:
    """Durations by labels."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cells: dict[Labels, Cells] = {}

    def add(self, labels: Labels, value_us: int) -> None:
        """Count a duration."""
        with self._lock:
            cells = self._cells.get(labels)
            if cells is None:
                cells = self._cells.setdefault(admitted(labels, self._cells), no_cells())
            count_into(cells, value_us)

    def histograms(self) -> list[Histogram]:
        """Return what was counted until now."""
        with self._lock:
            found = [(labels, cells.copy()) for labels, cells in self._cells.items()]
        return summed(found)


def admitted(labels: Labels, known: Collection[Labels]) -> Labels:
    """Return labels under which something may be counted beside those that are known."""
    if labels in known or len(known) < MAX_SERIES:
        return labels
    return (OTHER,) * len(labels)
