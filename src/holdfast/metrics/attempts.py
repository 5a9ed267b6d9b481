"""How long attempts took, waited and led to an end: added to for every decision of a worker."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable
from typing import Final, NamedTuple

from holdfast.core.job.decision import Kind
from holdfast.core.job.job import JobState
from holdfast.metrics.accumulators import (
    BOUNDS_US,
    Cells,
    Histogram,
    Labels,
    admitted,
    count_into,
    no_cells,
    summed,
)
from holdfast.runtime.events.announce import Applied

ENDS: Final = {
    Kind.COMPLETED.value: JobState.COMPLETE.value,
    Kind.FAILED.value: JobState.FAILED.value,
    Kind.EXPIRED.value: JobState.FAILED.value,
    Kind.REFUSED.value: JobState.FAILED.value,
    Kind.CANCELLED.value: JobState.CANCELLED.value,
}


class _Counts(NamedTuple):
    took: Cells
    waited: Cells
    whole: Cells
    """Of jobs that ended so: from their first attempt on."""


class AttemptTimes:
    """Durations by pipeline, stage and what became of the attempt."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[Labels, _Counts] = {}

    def __call__(self, applied: Applied) -> None:
        """Count a decision, if it is about an attempt that was made."""
        # A worker spends few microseconds on a decision, so everything is read once and added
        # under one lock, and enumerations are compared by identity.
        job, decision = applied
        kind, at, stage, _, holder, began_at, _, _, _ = decision.entry
        if began_at is None or holder is None or kind is Kind.HELD:
            return
        key = (job.pipeline, stage, kind._value_)
        took_us = at - began_at
        place = bisect_left(BOUNDS_US, took_us)
        with self._lock:
            counts = self._counts.get(key)
            if counts is None:
                new = _Counts(no_cells(), no_cells(), no_cells())
                counts = self._counts.setdefault(admitted(key, self._counts), new)
            took, waited, whole = counts
            took[place] += 1
            took[-1] += took_us
            if job.state is JobState.PROCESSING:
                count_into(waited, began_at - job.run_at)
            if decision.change.finished_at is not None:
                if job.started_at == began_at:
                    # Its first attempt was its last, as with most jobs.
                    whole[place] += 1
                    whole[-1] += took_us
                else:
                    count_into(whole, at - (job.started_at or began_at))

    def took(self) -> list[Histogram]:
        """Return how long attempts took, by pipeline, stage and outcome."""
        return summed((labels, counts.took) for labels, counts in self._now())

    def waited(self) -> list[Histogram]:
        """Return how long attempts were due before they were claimed, by pipeline."""
        return summed((labels[:1], counts.waited) for labels, counts in self._now())

    def whole(self) -> list[Histogram]:
        """Return how long jobs took from their first attempt to their end, by how they ended."""
        return summed(
            ((labels[0], ENDS[labels[2]]), counts.whole)
            for labels, counts in self._now()
            if labels[2] in ENDS
        )

    def _now(self) -> Iterable[tuple[Labels, _Counts]]:
        with self._lock:
            return [
                (labels, _Counts(*(cells.copy() for cells in counts)))
                for labels, counts in self._counts.items()
            ]
