"""How calls of one API are retried."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from typing import Any, Final

from collabiq.records.named_exceptions import NamedExceptions
from holdfast import Retry
from holdfast.classify import Rule
from holdfast.errors import InvalidPolicy
from holdfast.policies import Jitter
from holdfast.presets import retry_only

MAX_ATTEMPTS: Final = 10_000
MAX_S: Final = 365 * 24 * 3600.0
MIN_S: Final = 0.000_001
"""The engine counts in whole microseconds."""


@dataclass(frozen=True, slots=True)
class RetryConfig:
    """Backoff as tenacity users know it, with the exceptions that are worth a retry.

    The n-th failure is followed by `backoff_multiplier * 2 ** (n - 1)` seconds kept between
    `backoff_min` and `backoff_max`, plus `jitter_min` to `jitter_max` seconds, `backoff_max` at
    most in all. `max_attempts` counts the first attempt. `timeout` is for each call.
    """

    max_attempts: int = 3
    backoff_multiplier: float = 1.0
    backoff_min: float = 1.0
    backoff_max: float = 10.0
    jitter_min: float = 0.0
    jitter_max: float = 2.0
    timeout: float = 30.0
    retryable_exceptions: AbstractSet[type[Exception]] = frozenset()
    """Has to be given: an empty set is refused."""
    respect_retry_after: bool = True

    def __post_init__(self) -> None:
        attempts = self.max_attempts
        if type(attempts) is not int or not 1 <= attempts <= MAX_ATTEMPTS:
            raise _invalid("max_attempts", attempts, f"a whole number from 1 to {MAX_ATTEMPTS}")
        for name, least in (
            ("backoff_multiplier", MIN_S),
            ("backoff_min", 0.0),
            ("backoff_max", 0.0),
            ("jitter_min", 0.0),
            ("jitter_max", 0.0),
            ("timeout", MIN_S),
        ):
            object.__setattr__(self, name, _seconds(name, getattr(self, name), at_least=least))
        if not self.backoff_min < self.backoff_max:
            raise _invalid("backoff_min", self.backoff_min, f"below backoff_max {self.backoff_max}")
        if not self.jitter_min < self.jitter_max:
            raise _invalid("jitter_min", self.jitter_min, f"below jitter_max {self.jitter_max}")
        if type(self.respect_retry_after) is not bool:
            raise _invalid("respect_retry_after", self.respect_retry_after, "True or False")
        kinds = _exception_kinds(self.retryable_exceptions)
        object.__setattr__(self, "retryable_exceptions", kinds)

    def to_retry(self) -> Retry:
        """Return the same policy as a stage takes it."""
        return Retry(
            attempts=self.max_attempts,
            base=min(self.backoff_multiplier, self.backoff_max),
            factor=2.0,
            cap=self.backoff_max,
            floor=self.backoff_min,
            jitter=Jitter.ADDED,
            spread=self.jitter_max,
            spread_min=self.jitter_min,
            honour_retry_after=self.respect_retry_after,
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values in the order of the fields, exceptions by their names."""
        kinds = self.retryable_exceptions
        names = sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)
        document = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**document, "retryable_exceptions": names}

    def rules(self) -> tuple[Rule, ...]:
        """Return rules by which the listed exceptions are retried and no others are."""
        return retry_only(self.retryable_exceptions)


def _exception_kinds(kinds: object) -> AbstractSet[type[Exception]]:
    if isinstance(kinds, NamedExceptions):
        return kinds
    if (
        not isinstance(kinds, AbstractSet)
        or not kinds
        or not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds)
    ):
        raise _invalid("retryable_exceptions", kinds, "a set of one or more exception classes")
    return frozenset(kinds)


def _seconds(name: str, value: object, *, at_least: float) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not at_least <= value <= MAX_S
    ):
        raise _invalid(name, value, f"a number from {at_least:g} to {MAX_S:g}")
    return float(value)


def _invalid(name: str, value: object, limit: str) -> InvalidPolicy:
    return InvalidPolicy("RetryConfig", field=name, value=value, limit=limit)
