"""How the circuit breaker of a service stands, and how it moves.

While the system runs, the engine keeps the breakers, in the database and for the whole fleet, by
the same numbers; `collabiq.circuits` shows them in this form. By itself a state is for programs
that call a service without the engine: it is kept in memory and begins closed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TypedDict

from holdfast.errors import InvalidValue

SERVICES: Final = ("gmail", "gemini", "notion", "infisical")


class CircuitState(StrEnum):
    """Whether calls pass."""

    CLOSED = "CLOSED"
    OPEN = "OPEN"
    """No call passes until the timeout is over."""
    HALF_OPEN = "HALF_OPEN"
    """Calls pass to find out whether the service has recovered."""


class CircuitConfig(TypedDict):
    """The numbers of a breaker."""

    failure_threshold: int
    success_threshold: int
    timeout: float


STANDARD_CIRCUIT_CONFIG: Final[CircuitConfig] = {
    "failure_threshold": 5,
    "success_threshold": 2,
    "timeout": 60.0,
}
"""Of Gmail, Gemini and Notion."""
INFISICAL_CIRCUIT_CONFIG: Final[CircuitConfig] = {
    "failure_threshold": 3,
    "success_threshold": 2,
    "timeout": 30.0,
}
"""There is a fallback, so it opens sooner."""


def circuit_config_of(service_name: str) -> CircuitConfig:
    """Return the numbers of a service's breaker."""
    if service_name == "infisical":
        return INFISICAL_CIRCUIT_CONFIG
    return STANDARD_CIRCUIT_CONFIG


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - without the engine there is none of its clocks


@dataclass(slots=True)
class CircuitBreakerState:
    """How one breaker stands; it moves by `should_allow_request` and what calls came to.

    `clock` says what time it is, in UTC.
    """

    service_name: str
    state: CircuitState = CircuitState.CLOSED
    failure_count: int = 0
    """Failures in a row while closed."""
    success_count: int = 0
    """Successes in a row while half open."""
    last_failure_time: datetime | None = None
    open_timestamp: datetime | None = None
    failure_threshold: int = 5
    success_threshold: int = 2
    timeout: float = 60.0
    """For how many seconds it stays open."""
    clock: Callable[[], datetime] = field(default=_now, repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.service_name not in SERVICES:
            raise _invalid("service_name", self.service_name, f"one of {', '.join(SERVICES)}")
        try:
            self.state = CircuitState(str(self.state))
        except ValueError:
            raise _invalid("state", self.state, f"one of {', '.join(CircuitState)}") from None
        for name, least in (
            ("failure_count", 0),
            ("success_count", 0),
            ("failure_threshold", 1),
            ("success_threshold", 1),
        ):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise _invalid(name, value, f"a whole number, {least} at least")
        timeout: object = self.timeout
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
            raise _invalid("timeout", timeout, "a number above 0")
        self.timeout = float(timeout)
        for name in ("last_failure_time", "open_timestamp"):
            setattr(self, name, _moment(name, getattr(self, name)))

    @classmethod
    def for_service(
        cls, service_name: str, *, clock: Callable[[], datetime] = _now
    ) -> CircuitBreakerState:
        """Return a closed breaker with the numbers of that service."""
        return cls(service_name, **circuit_config_of(service_name), clock=clock)

    def should_allow_request(self) -> bool:
        """Return whether a call may be made now; half opens the breaker once its time is over."""
        if self.state is not CircuitState.OPEN:
            return True
        if self.open_timestamp is None:
            return False
        if (self.clock() - self.open_timestamp).total_seconds() < self.timeout:
            return False
        self.state = CircuitState.HALF_OPEN
        self.success_count = 0
        return True

    def record_success(self) -> None:
        """Count a call that went well."""
        self.failure_count = 0
        if self.state is CircuitState.HALF_OPEN:
            self.success_count += 1
            if self.success_count >= self.success_threshold:
                self.state = CircuitState.CLOSED
                self.success_count = 0

    def record_failure(self) -> None:
        """Count a call that failed."""
        now = self.clock()
        self.last_failure_time = now
        if self.state is CircuitState.CLOSED:
            self.failure_count += 1
            if self.failure_count >= self.failure_threshold:
                self._open(now)
        elif self.state is CircuitState.HALF_OPEN:
            self._open(now)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values in the order of the fields."""
        return {
            "service_name": self.service_name,
            "state": self.state.value,
            "failure_count": self.failure_count,
            "success_count": self.success_count,
            "last_failure_time": _text(self.last_failure_time),
            "open_timestamp": _text(self.open_timestamp),
            "failure_threshold": self.failure_threshold,
            "success_threshold": self.success_threshold,
            "timeout": self.timeout,
        }

    def _open(self, now: datetime) -> None:
        self.state = CircuitState.OPEN
        self.open_timestamp = now
        self.success_count = 0


def _moment(name: str, value: object) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise _invalid(name, value, "a moment, or None")
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _invalid(name: str, value: object, limit: str) -> InvalidValue:
    return InvalidValue("CircuitBreakerState", field=name, value=value, limit=limit)
