"""Options that have to lie within limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from holdfast.errors import InvalidValue


class Whole(NamedTuple):
    """Whole numbers, from the lowest to the highest."""

    low: int
    high: int


class Number(NamedTuple):
    """Numbers, from the lowest to the highest."""

    low: float
    high: float


def check_ranges(
    owner: str,
    options: object,
    ranges: Mapping[str, Whole | Number],
    *,
    error: type[InvalidValue] = InvalidValue,
) -> None:
    """Raise `error` with the name of the first option that is not within its range."""
    for name, allowed in ranges.items():
        value = getattr(options, name)
        whole = isinstance(allowed, Whole)
        # A bool is an int to isinstance, and none here.
        kinds = (int,) if whole else (int, float)
        if type(value) not in kinds or not allowed.low <= value <= allowed.high:
            kind = "a whole number" if whole else "a number"
            limit = f"{kind} from {allowed.low} to {allowed.high}"
            raise error(owner, field=name, value=value, limit=limit)
