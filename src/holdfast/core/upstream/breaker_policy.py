"""When a breaker opens, how it recovers, and what becomes of calls meanwhile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from holdfast.core.values.instant import SECOND_US
from holdfast.errors import InvalidPolicy

MAX_CALLS: Final = 1_000
"""What is remembered of single calls stays in one row, so no rule looks at more of them."""
MAX_SECONDS: Final = 86_400.0
USUAL_CAP_S: Final = 600.0
_OWNER: Final = "Breaker"


class BreakerMode(StrEnum):
    """What becomes of a job whose upstream's breaker is open."""

    HOLD = "hold"
    """It stays queued until the upstream is back. No attempt is spent."""
    FAIL_FAST = "fail_fast"
    """It fails at once, as `CIRCUIT_OPEN`."""
    NOTICE = "notice"
    """It is put off past the cooldown and a `CIRCUIT_OPEN` entry goes into its history, for
    those who wait. No attempt is spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """The gate before an upstream. Times are in seconds.

    It opens after `consecutive` failures in a row, or when `failure_rate` of the last
    `over_calls` calls, or of the calls of the last `over_seconds`, have failed. Without either
    rule it opens after 5 failures in a row. With both, either is enough.
    """

    consecutive: int | None = None
    failure_rate: float | None = None
    over_calls: int | None = None
    over_seconds: float | None = None
    minimum_calls: int | None = None
    """The rate means nothing below this many calls; all of `over_calls`, or 10, by default."""
    strictly_above: bool = False
    """Whether the rate must be above `failure_rate` and not just reach it."""
    minimum_workers: int = 2
    """How many workers must have seen failures, where several call the upstream at all."""
    cooldown: float = 30.0
    growth: float = 2.0
    """By how much the cooldown grows each time a trial fails."""
    cooldown_cap: float | None = None
    """The longest it grows to; 10 minutes by default, or `cooldown` if that is longer."""
    trials: int = 1
    """How many trial calls the whole fleet may have under way after the cooldown."""
    successes: int | None = None
    """How many trials must succeed before it closes; as many as `trials` by default."""
    trial_timeout: float = 60.0
    """After this long a trial that nobody reported no longer counts as under way."""
    release: float = 10.0
    """Over this long after closing, the share of calls let through rises to all of them."""
    mode: BreakerMode | Literal["hold", "fail_fast", "notice"] = BreakerMode.HOLD

    def __post_init__(self) -> None:
        put = object.__setattr__
        try:
            put(self, "mode", BreakerMode(self.mode))
        except ValueError:
            raise _invalid("mode", self.mode, f"one of {', '.join(BreakerMode)}") from None
        if self.consecutive is None and self.failure_rate is None:
            put(self, "consecutive", 5)
        if self.consecutive is not None:
            _whole("consecutive", self.consecutive)
        self._check_rate()
        _whole("minimum_workers", self.minimum_workers)
        _number("cooldown", self.cooldown, at_least=0.001, at_most=MAX_SECONDS)
        _number("growth", self.growth, at_least=1.0, at_most=100.0)
        if self.cooldown_cap is None:
            put(self, "cooldown_cap", max(USUAL_CAP_S, self.cooldown))
        _number("cooldown_cap", self.cooldown_cap, at_least=self.cooldown, at_most=MAX_SECONDS)
        _whole("trials", self.trials)
        if self.successes is None:
            put(self, "successes", self.trials)
        _whole("successes", self.successes)
        _number("trial_timeout", self.trial_timeout, at_least=0.001, at_most=MAX_SECONDS)
        _number("release", self.release, at_least=0.0, at_most=MAX_SECONDS)

    def _check_rate(self) -> None:
        if type(self.strictly_above) is not bool:
            raise _invalid("strictly_above", self.strictly_above, "True or False")
        if self.failure_rate is None:
            if self.strictly_above:
                raise _invalid("strictly_above", value=True, limit="False, or with failure_rate")
            for name in ("over_calls", "over_seconds", "minimum_calls"):
                if getattr(self, name) is not None:
                    raise _invalid(name, getattr(self, name), "left out, or with failure_rate")
            return
        _number("failure_rate", self.failure_rate, at_least=0.01, at_most=1.0)
        if (self.over_calls is None) == (self.over_seconds is None):
            raise _invalid("failure_rate", self.failure_rate, "with over_calls or over_seconds")
        if self.strictly_above and self.failure_rate == 1.0:
            raise _invalid("failure_rate", 1.0, "below 1 with strictly_above: no rate is above")
        if self.over_calls is not None:
            _whole("over_calls", self.over_calls)
        if self.over_seconds is not None:
            _number("over_seconds", self.over_seconds, at_least=0.1, at_most=MAX_SECONDS)
        if self.minimum_calls is None:
            object.__setattr__(self, "minimum_calls", self.over_calls or 10)
        _whole("minimum_calls", self.minimum_calls)
        if self.over_calls is not None and (self.minimum_calls or 1) > self.over_calls:
            raise _invalid("minimum_calls", self.minimum_calls, "at most over_calls")

    def cooldown_us(self, reopenings: int) -> int:
        """Return the cooldown after trials have failed this often in a row."""
        cap = self.cooldown_cap or USUAL_CAP_S
        # Compared by logarithms, because the power itself may overflow.
        if reopenings * math.log(self.growth) >= math.log(cap / self.cooldown):
            return round(cap * SECOND_US)
        return round(self.cooldown * self.growth**reopenings * SECOND_US)


def _invalid(name: str, value: object, limit: str) -> InvalidPolicy:
    return InvalidPolicy(_OWNER, field=name, value=value, limit=limit)


def _whole(name: str, value: object) -> None:
    if type(value) is not int or not 1 <= value <= MAX_CALLS:
        raise _invalid(name, value, f"a whole number from 1 to {MAX_CALLS}")


def _number(name: str, value: object, *, at_least: float, at_most: float) -> None:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not at_least <= value <= at_most
    ):
        raise _invalid(name, value, f"a number from {at_least:g} to {at_most:g}")
