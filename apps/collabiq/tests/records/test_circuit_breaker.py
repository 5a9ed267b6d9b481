"""Each rule and each transition of a circuit breaker."""

from datetime import UTC, datetime, timedelta

import pytest

from collabiq import (
    INFISICAL_CIRCUIT_CONFIG,
    STANDARD_CIRCUIT_CONFIG,
    CircuitBreakerState,
    CircuitState,
)
from collabiq.records import SERVICES
from holdfast.errors import InvalidValue
from holdfast.presets import FIVE_IN_A_ROW, THREE_IN_A_ROW


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=SERVICES)
def breaker(request: pytest.FixtureRequest, clock: Clock) -> CircuitBreakerState:
    return CircuitBreakerState.for_service(request.param, clock=clock)


def opened(breaker: CircuitBreakerState) -> None:
    for _ in range(breaker.failure_threshold):
        breaker.record_failure()


def half_opened(breaker: CircuitBreakerState, clock: Clock) -> None:
    opened(breaker)
    clock.advance(breaker.timeout)
    assert breaker.should_allow_request()


RULES = {
    "service_name that is unknown": ("service_name", "fax"),
    "state that is unknown": ("state", "AJAR"),
    "failure_count below 0": ("failure_count", -1),
    "failure_count that is no whole number": ("failure_count", 1.5),
    "success_count below 0": ("success_count", -1),
    "failure_threshold of 0": ("failure_threshold", 0),
    "success_threshold of 0": ("success_threshold", 0),
    "success_threshold that is true": ("success_threshold", True),
    "timeout of 0": ("timeout", 0),
    "timeout below 0": ("timeout", -1.0),
    "timeout that is no number": ("timeout", float("nan")),
    "open_timestamp that is no moment": ("open_timestamp", "yesterday"),
}


@pytest.mark.parametrize(("field", "value"), RULES.values(), ids=RULES)
def test_a_state_that_breaks_a_rule_is_refused_by_the_name_of_its_field(field: str, value: object):
    with pytest.raises(InvalidValue) as raised:
        CircuitBreakerState(**{"service_name": "notion", field: value})

    assert raised.value.field == field


def test_its_defaults():
    breaker = CircuitBreakerState("gmail")

    assert breaker.to_json() == {
        "service_name": "gmail",
        "state": "CLOSED",
        "failure_count": 0,
        "success_count": 0,
        "last_failure_time": None,
        "open_timestamp": None,
        "failure_threshold": 5,
        "success_threshold": 2,
        "timeout": 60.0,
    }


@pytest.mark.parametrize("service", ["gmail", "gemini", "notion"])
def test_the_services_without_a_fallback_have_the_standard_numbers(service: str):
    breaker = CircuitBreakerState.for_service(service)

    numbers = (breaker.failure_threshold, breaker.success_threshold, breaker.timeout)
    assert numbers == tuple(STANDARD_CIRCUIT_CONFIG.values()) == (5, 2, 60.0)


def test_infisical_opens_sooner_and_for_less_long():
    breaker = CircuitBreakerState.for_service("infisical")

    numbers = (breaker.failure_threshold, breaker.success_threshold, breaker.timeout)
    assert numbers == tuple(INFISICAL_CIRCUIT_CONFIG.values()) == (3, 2, 30.0)


def test_the_breakers_of_the_engine_have_the_same_numbers():
    for policy, config in (
        (FIVE_IN_A_ROW, STANDARD_CIRCUIT_CONFIG),
        (THREE_IN_A_ROW, INFISICAL_CIRCUIT_CONFIG),
    ):
        assert policy.consecutive == config["failure_threshold"]
        assert policy.successes == config["success_threshold"]
        assert policy.cooldown == config["timeout"]


def test_closed_to_open_at_the_last_failure_in_a_row(breaker: CircuitBreakerState, clock: Clock):
    for _ in range(breaker.failure_threshold - 1):
        breaker.record_failure()
    assert breaker.state is CircuitState.CLOSED
    assert breaker.should_allow_request()

    breaker.record_failure()

    assert breaker.state is CircuitState.OPEN
    assert breaker.open_timestamp == breaker.last_failure_time == clock.now
    assert not breaker.should_allow_request()


def test_a_success_resets_the_count_of_failures(breaker: CircuitBreakerState):
    for _ in range(breaker.failure_threshold - 1):
        breaker.record_failure()

    breaker.record_success()

    assert breaker.failure_count == 0
    for _ in range(breaker.failure_threshold - 1):
        breaker.record_failure()
    assert breaker.state is CircuitState.CLOSED


def test_open_to_half_open_when_its_time_is_over(breaker: CircuitBreakerState, clock: Clock):
    opened(breaker)

    clock.advance(breaker.timeout - 0.001)
    assert not breaker.should_allow_request()
    clock.advance(0.001)

    assert breaker.should_allow_request()
    assert breaker.state is CircuitState.HALF_OPEN
    assert breaker.should_allow_request()


def test_half_open_to_closed_by_successes_in_a_row(breaker: CircuitBreakerState, clock: Clock):
    half_opened(breaker, clock)

    breaker.record_success()
    assert (breaker.state, breaker.success_count) == (CircuitState.HALF_OPEN, 1)
    breaker.record_success()

    assert (breaker.state, breaker.success_count) == (CircuitState.CLOSED, 0)
    assert breaker.failure_count == 0


def test_half_open_to_open_by_one_failure(breaker: CircuitBreakerState, clock: Clock):
    half_opened(breaker, clock)
    breaker.record_success()

    breaker.record_failure()

    assert (breaker.state, breaker.success_count) == (CircuitState.OPEN, 0)
    assert breaker.open_timestamp == clock.now
    assert not breaker.should_allow_request()
    clock.advance(breaker.timeout)
    assert breaker.should_allow_request()


def test_one_that_is_open_stays_so_whatever_late_calls_came_to(breaker: CircuitBreakerState):
    opened(breaker)

    breaker.record_success()
    breaker.record_failure()

    assert breaker.state is CircuitState.OPEN
    assert not breaker.should_allow_request()


def test_one_that_was_open_without_a_moment_stays_open():
    assert not CircuitBreakerState("gmail", "OPEN").should_allow_request()
