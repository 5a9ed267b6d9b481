"""How many calls an upstream takes in a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from holdfast.core.values.instant import SECOND_US
from holdfast.errors import InvalidPolicy

MAX_CALLS: Final = 1_000_000
SHORTEST_PERIOD_S: Final = 0.001
LONGEST_PERIOD_S: Final = 86_400.0
SHORTEST_INTERVAL_US: Final = 100
"""No rate is above 10,000 calls a second: instants are whole microseconds."""
USUAL_BURST_US: Final = SECOND_US // 4
_OWNER: Final = "Rate"


@dataclass(frozen=True, slots=True)
class Rate:
    """A limit of calls, for the whole fleet: `calls` in `per` seconds, and `burst` at once.

    However long a span is, at most `burst` calls and `calls` for each `per` of it begin within it.
    So no `per` seconds hold more than `calls` + `burst`. Without `burst` it is what a quarter of a
    second allows, and at least one.
    """

    calls: int
    per: float = 1.0
    burst: int | None = None

    def __post_init__(self) -> None:
        _whole("calls", self.calls)
        _seconds("per", self.per)
        if round(self.per * SECOND_US) < self.calls * SHORTEST_INTERVAL_US:
            raise _invalid("calls", self.calls, "at most 10,000 calls a second")
        if self.burst is None:
            usual = USUAL_BURST_US // self.interval_us
            object.__setattr__(self, "burst", max(usual, 1))
        _whole("burst", self.burst)

    def __str__(self) -> str:
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        return f"{calls} in {self.per:g} s, {self.at_once} at once"

    @property
    def interval_us(self) -> int:
        """How long it takes until there is room for another call."""
        # Rounded up: the limit is never passed by a fraction.
        return -(-round(self.per * SECOND_US) // self.calls)

    @property
    def at_once(self) -> int:
        """How many calls may begin at the same instant."""
        return self.burst or 1


def _invalid(name: str, value: object, limit: str) -> InvalidPolicy:
    return InvalidPolicy(_OWNER, field=name, value=value, limit=limit)


def _whole(name: str, value: object) -> None:
    if type(value) is not int or not 1 <= value <= MAX_CALLS:
        raise _invalid(name, value, f"a whole number from 1 to {MAX_CALLS}")


def _seconds(name: str, value: object) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not SHORTEST_PERIOD_S <= value <= LONGEST_PERIOD_S
    ):
        raise _invalid(name, value, f"seconds, {SHORTEST_PERIOD_S:g} to {LONGEST_PERIOD_S:g}")
