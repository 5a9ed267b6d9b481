"""How sure a result is, from four factors, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

Priority = Literal["Medium", "High", "Critical"]

WEIGHTS: Final[Mapping[str, int]] = {
    "consistency": 30,
    "quotes": 25,
    "plausibility": 25,
    "length": 20,
}
"""What each factor weighs; the weights of those that are missing go to the others by their weight.

`consistency`: how far several runs agree; missing where there was one. `quotes`: the share of
quotes that are in the text. `plausibility`: how far the scores are from those of the rules; missing
where the rules themselves graded. `length`: whether there was enough to judge by.
"""
MAX_OF_RULES: Final = 70
"""Rules count words and know no meaning: they are never surer than this."""
_AUTO: Final = 90
_AUDIT: Final = 85
_MEDIUM: Final = 70
_HIGH: Final = 50
_PER_POINT_OF_SPREAD: Final = 30.0
_PER_POINT_OF_DISTANCE: Final = 20.0
_WITHOUT_QUOTES: Final = 50.0
_MAX_LENGTHS: Final = 4
_LONG: Final = 70.0


class Review(NamedTuple):
    """What follows from a confidence."""

    required: bool
    priority: Priority | None
    audit: bool


def confidence_of(factors: Mapping[str, float | None], *, by_rules: bool) -> int:
    """Return the confidence from 0 to 100."""
    known = {name: value for name, value in factors.items() if value is not None}
    weight = sum(WEIGHTS[name] for name in known)
    if not weight:
        return 0
    total = sum(WEIGHTS[name] * min(max(value, 0.0), 100.0) for name, value in known.items())
    rounded = int(total / weight + 0.5)
    return min(rounded, MAX_OF_RULES) if by_rules else rounded


def review_of(confidence: int) -> Review:
    """Return whether a person should look at a result, and how soon."""
    if confidence >= _AUTO:
        return Review(required=False, priority=None, audit=False)
    if confidence >= _AUDIT:
        return Review(required=False, priority=None, audit=True)
    if confidence >= _MEDIUM:
        return Review(required=True, priority="Medium", audit=False)
    return Review(
        required=True, priority="High" if confidence >= _HIGH else "Critical", audit=False
    )


def consistency(overalls: Sequence[float]) -> float | None:
    """Return how far the scores of several runs agree; None for one."""
    if len(overalls) < 2:  # noqa: PLR2004 - one agrees with nobody
        return None
    return 100.0 - _PER_POINT_OF_SPREAD * (max(overalls) - min(overalls))


def quotes_factor(*, given: int, found: int) -> float:
    """Return how much of what was quoted is in the text; no quote at all proves little."""
    return 100.0 * found / given if given else _WITHOUT_QUOTES


def plausibility(overall: float, by_rules: float) -> float:
    """Return how close a score is to that of the rules."""
    return 100.0 - _PER_POINT_OF_DISTANCE * abs(overall - by_rules)


def length_factor(words: int, minimum_words: int) -> float:
    """Return whether there was enough to judge by, and not far more than was wanted."""
    if minimum_words <= 0:
        return 100.0
    if words > _MAX_LENGTHS * minimum_words:
        return _LONG
    return 100.0 * min(words / minimum_words, 1.0)
