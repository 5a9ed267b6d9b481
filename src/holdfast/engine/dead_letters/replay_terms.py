"""On what terms a replay is asked for, and what is no sense to ask."""

from __future__ import annotations

from typing import Final, NamedTuple

from holdfast.core.dead_letter.dead_letter import Cause
from holdfast.core.values.instant import SECOND_US
from holdfast.errors import InvalidValue

DEFAULT_CANARY: Final = 1
DEFAULT_RATE: Final = 10.0
DEFAULT_STOP_AFTER: Final = 5
MAX_LETTERS: Final = 100_000
MAX_PER_SECOND: Final = 10_000.0
LEAST_PER_SECOND: Final = 0.0001
"""A letter in three hours: who wants less starts a replay for each."""


class BulkTriage(NamedTuple):
    """What a person says about every letter of a replay that has yet to hear it."""

    cause: Cause
    evidence: str
    by: str


def readied_by(cause: Cause | str | None, evidence: str | None, by: str) -> BulkTriage | None:
    """Return what is to be said about every letter; None when nothing is."""
    if cause is None and evidence is None:
        return None
    if cause is None or evidence is None or not evidence.strip():
        raise InvalidValue(
            "replay",
            field="evidence" if cause is not None else "cause",
            value=evidence if cause is not None else cause,
            limit="given together with the other: what kind of cause, and how it is known to be "
            "gone",
        )
    try:
        return BulkTriage(Cause(str(cause)), evidence, by)
    except ValueError:
        raise InvalidValue(
            "replay", field="cause", value=cause, limit=f"one of {', '.join(Cause)}"
        ) from None


def every_us(rate: float | None) -> int:
    """Return the time between two letters; 0 for none."""
    if rate is None:
        return 0
    given: object = rate
    if (
        isinstance(given, bool)
        or not isinstance(given, int | float)
        or not LEAST_PER_SECOND <= given <= MAX_PER_SECOND
    ):
        raise InvalidValue(
            "replay",
            field="rate",
            value=rate,
            limit=f"a number of letters a second, from {LEAST_PER_SECOND} to "
            f"{MAX_PER_SECOND:.0f}, or None",
        )
    return max(round(SECOND_US / rate), 1)


def checked_count(field: str, count: int, least: int = 0) -> int:
    """Return a number of letters within its limits."""
    if type(count) is not int or not least <= count <= MAX_LETTERS:
        raise InvalidValue(
            "replay", field=field, value=count, limit=f"from {least} to {MAX_LETTERS}"
        )
    return count
