"""The steps of the scale."""

from __future__ import annotations

import math
from collections.abc import Iterable

from grading.result import MAX_SCORE

_NOISE = 1e-9
"""Less than any difference between two scores, more than the error of a sum of them."""


def half_step(value: float) -> float:
    """Return the nearest multiple of 0.5 from 0 to 10; ties go up."""
    if math.isnan(value):
        return 0.0
    limited = min(max(value, 0.0), MAX_SCORE)
    return math.floor(limited * 2 + 0.5 + _NOISE) / 2


def mean_score(scores: Iterable[float]) -> float:
    """Return the mean in half steps; 0 for no scores."""
    given = list(scores)
    return half_step(math.fsum(given) / len(given)) if given else 0.0


def exam_score(*, task1: float, task2: float) -> float:
    """Return the writing score of an exam, in which the second task counts twice."""
    return half_step((task1 + 2 * task2) / 3)
