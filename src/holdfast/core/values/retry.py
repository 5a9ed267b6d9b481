"""How long to wait before the next attempt, and when to stop attempting."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final, Literal

from holdfast.errors import InvalidPolicy

MAX_ATTEMPTS: Final = 10_000
MAX_FACTOR: Final = 1_000.0
MIN_BASE_S: Final = 0.000_001
MAX_DELAY_S: Final = 365 * 24 * 3600.0
UNCAPPED_DELAY_S: Final = 24 * 3600.0
"""What bounds a delay when a policy has no cap of its own."""

_US: Final = 1_000_000


class Jitter(StrEnum):
    """How chance spreads retries out, so that jobs that failed together do not return together."""

    FULL = "full"
    """Anywhere from the floor to the backoff."""
    ADDED = "added"
    """The backoff plus `spread_min` to `spread` seconds."""
    SPREAD = "spread"
    """The backoff plus or minus the fraction `spread`."""
    NONE = "none"
    """Exactly the backoff."""


_FULL: Final = Jitter.FULL
_ADDED: Final = Jitter.ADDED
_SPREAD: Final = Jitter.SPREAD

_SPREAD_LIMITS: Final = {
    Jitter.FULL: (0.0, "full jitter has no spread"),
    Jitter.ADDED: (MAX_DELAY_S, "seconds"),
    Jitter.SPREAD: (1.0, "a fraction"),
    Jitter.NONE: (0.0, "without jitter there is no spread"),
}


@dataclass(frozen=True, slots=True)
class Retry:
    """A stage's attempt budget and the delays between its attempts. All times are in seconds.

    The n-th failure is followed by a backoff of `base * factor ** (n - 1)`, kept between `floor`
    and `cap`, or by the n-th of `delays`, whose last repeats. Jitter then moves it; the result
    stays between `floor` and `cap` (24 hours without a cap). A Retry-After sent by the upstream
    lengthens that one delay, by itself up to `retry_after_ceiling`, even past `cap`.
    `attempts` counts the first attempt too.
    """

    attempts: int = 5
    base: float = 1.0
    factor: float = 2.0
    cap: float | None = 60.0
    floor: float = 0.0
    jitter: Jitter | Literal["full", "added", "spread", "none"] = Jitter.FULL
    spread: float = 0.0
    spread_min: float = 0.0
    delays: Sequence[float] | None = None
    retry_after_ceiling: float = 300.0
    honour_retry_after: bool = True

    # Worked out once, because a delay is computed inside every decision about a failure.
    _floor_us: float = field(init=False, repr=False, compare=False)
    _limit_us: float = field(init=False, repr=False, compare=False)
    _ceiling_us: int = field(init=False, repr=False, compare=False)
    _backoffs_us: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._check()
        limit = UNCAPPED_DELAY_S if self.cap is None else self.cap
        put = object.__setattr__
        put(self, "_floor_us", self.floor * _US)
        put(self, "_limit_us", limit * _US)
        put(self, "_ceiling_us", int(self.retry_after_ceiling * _US))
        backoffs = (max(min(backoff, limit), self.floor) * _US for backoff in self._backoffs(limit))
        put(self, "_backoffs_us", tuple(backoffs))

    def _backoffs(self, limit: float) -> Iterable[float]:
        """Return the waits before jitter, in seconds; the last one stands for all that follow."""
        if self.delays:
            return self.delays
        # Past the last exponent the cap has been reached, and the power might overflow.
        last = _exponent_reaching(limit, base=self.base, factor=self.factor)
        return (
            self.base * self.factor**exponent for exponent in range(min(last, MAX_ATTEMPTS) + 1)
        )

    def delay_us(self, *, failures: int, roll: float, retry_after_us: int | None) -> int:
        """Return the wait after the `failures`-th failed attempt of a stage (the first is 1).

        `roll` is chance, from 0 up to but not including 1. `retry_after_us` is what the upstream
        asked for, if it did; it is a floor for this one delay.
        """
        limit = self._limit_us
        floor = self._floor_us
        backoffs = self._backoffs_us
        place = failures - 1 if failures > 0 else 0
        backoff = backoffs[place] if place < len(backoffs) else backoffs[-1]

        jitter = self.jitter
        if jitter is _FULL:
            delay = floor + roll * (backoff - floor)
        elif jitter is _ADDED:
            delay = backoff + (self.spread_min + roll * (self.spread - self.spread_min)) * _US
        elif jitter is _SPREAD:
            delay = backoff * (1.0 + self.spread * (2.0 * roll - 1.0))
        else:
            delay = backoff
        if delay > limit:
            delay = limit
        elif delay < floor:
            delay = floor

        wait_us = int(delay)
        if retry_after_us is None or not self.honour_retry_after or wait_us >= self._ceiling_us:
            return wait_us
        return wait_us if wait_us >= retry_after_us else min(self._ceiling_us, retry_after_us)

    def exhausted(self, attempt: int) -> bool:
        """Return whether no attempt may follow this one (the first attempt is 1)."""
        return attempt >= self.attempts

    def allowed_at(self, attempt: int) -> int:
        """How many attempts there may be: a failure with a budget of its own allowed those made."""
        return max(self.attempts, attempt)

    def to_document(self) -> dict[str, Any]:
        """Plain JSON values in a stable order; equal policies give equal documents."""
        return {
            "attempts": self.attempts,
            "base": self.base,
            "factor": self.factor,
            "cap": self.cap,
            "floor": self.floor,
            "jitter": str(self.jitter),
            "spread": self.spread,
            "spread_min": self.spread_min,
            "delays": None if self.delays is None else list(self.delays),
            "retry_after_ceiling": self.retry_after_ceiling,
            "honour_retry_after": self.honour_retry_after,
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Retry:
        """Return the policy that `to_document` wrote; a field left out has its default.

        A field this holdfast does not know is refused: ignoring it would decide differently.
        """
        known = [each.name for each in fields(cls) if each.init]
        for name in document:
            if name not in known:
                raise InvalidPolicy(
                    "Retry", field=str(name), value=document[name], limit=f"one of {known}"
                )
        return cls(**document)

    def _check(self) -> None:
        """Refuse what makes no sense; store every number as one type, so that equals are equal."""
        put = object.__setattr__
        attempts = self.attempts
        if type(attempts) is not int or not 1 <= attempts <= MAX_ATTEMPTS:
            raise _invalid("attempts", attempts, f"a whole number from 1 to {MAX_ATTEMPTS}")
        if type(self.honour_retry_after) is not bool:
            raise _invalid("honour_retry_after", self.honour_retry_after, "True or False")
        try:
            jitter = Jitter(self.jitter)
        except ValueError:
            raise _invalid("jitter", self.jitter, f"one of {', '.join(Jitter)}") from None
        self._check_spread(jitter)

        put(self, "factor", _number("factor", self.factor, at_least=1.0, at_most=MAX_FACTOR))
        limit = UNCAPPED_DELAY_S
        if self.cap is not None:
            limit = _number("cap", self.cap, at_most=MAX_DELAY_S)
            put(self, "cap", limit)
        bound = "24 hours without a cap" if self.cap is None else "cap"
        base = _number("base", self.base, at_most=limit, bound=bound)
        if 0.0 < base < MIN_BASE_S:
            raise _invalid("base", base, f"0, or at least {MIN_BASE_S} (a microsecond)")
        put(self, "base", base)
        put(self, "floor", _number("floor", self.floor, at_most=limit, bound=bound))
        ceiling = _number("retry_after_ceiling", self.retry_after_ceiling, at_most=MAX_DELAY_S)
        put(self, "retry_after_ceiling", ceiling)
        if self.delays is not None:
            put(self, "delays", _checked_delays(self.delays, limit=limit, bound=bound))

    def _check_spread(self, jitter: Jitter) -> None:
        put = object.__setattr__
        put(self, "jitter", jitter)
        most, bound = _SPREAD_LIMITS[jitter]
        spread = _number("spread", self.spread, at_most=most, bound=bound)
        put(self, "spread", spread)
        least = spread if jitter is _ADDED else 0.0
        put(self, "spread_min", _number("spread_min", self.spread_min, at_most=least))


def _invalid(name: str, value: object, limit: str) -> InvalidPolicy:
    return InvalidPolicy("Retry", field=name, value=value, limit=limit)


def _number(
    name: str, value: object, *, at_least: float = 0.0, at_most: float, bound: str = ""
) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not at_least <= value <= at_most
    ):
        reason = f" ({bound})" if bound else ""
        raise _invalid(name, value, f"a number from {at_least:g} to {at_most:g}{reason}")
    return float(value)


def _checked_delays(delays: object, *, limit: float, bound: str) -> tuple[float, ...]:
    if not isinstance(delays, list | tuple) or not 1 <= len(delays) <= MAX_ATTEMPTS:
        raise _invalid("delays", delays, f"a tuple of 1 to {MAX_ATTEMPTS} numbers of seconds")
    return tuple(
        _number(f"delays[{index}]", delay, at_most=limit, bound=bound)
        for index, delay in enumerate(delays)
    )


def _exponent_reaching(limit: float, *, base: float, factor: float) -> int:
    """Return the smallest exponent at which `base * factor ** exponent` is at or over the limit.

    Zero when it never gets there: the backoff is then the base forever.
    """
    if base <= 0.0 or factor <= 1.0:
        return 0
    return math.ceil(math.log(limit / base) / math.log(factor))
