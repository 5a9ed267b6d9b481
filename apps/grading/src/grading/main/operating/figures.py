"""The figures of a learner: average and trend of the last results of a skill. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

WINDOW: Final = 10
MIN_FOR_TREND: Final = 3
STABLE_WITHIN: Final = 0.25
"""A difference of the halves' averages below this is no trend."""


def figures_of(newest_first: Sequence[float], *, count: int) -> dict[str, Any]:
    """Return count, average and trend, from the last `WINDOW` scores, newest first."""
    scores = list(newest_first[:WINDOW])
    average = round(sum(scores) / len(scores), 2) if scores else None
    return {"count": count, "windowAvg": average, "trend": trend_of(scores)}


def trend_of(newest_first: Sequence[float]) -> str:
    """Return whether scores rise or fall: the newer half against the older one."""
    if len(newest_first) < MIN_FOR_TREND:
        return "insufficient_data"
    half = len(newest_first) // 2
    newer = sum(newest_first[:half]) / half
    older = sum(newest_first[-half:]) / half
    if abs(newer - older) < STABLE_WITHIN:
        return "stable"
    return "improving" if newer > older else "declining"
