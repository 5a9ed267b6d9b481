"""Each rule of a retry configuration has a test that breaks it; delays are those it promises."""

import socket

import pytest

from collabiq.records import RetryConfig
from holdfast.core.values.retry import Jitter, Retry
from holdfast.errors import InvalidPolicy
from tests.presets.driving import delays


def config(**changes):
    return RetryConfig(**{"retryable_exceptions": {ConnectionError}, **changes})


def test_its_defaults():
    made = config()

    assert made.max_attempts == 3
    assert made.backoff_multiplier == 1.0
    assert (made.backoff_min, made.backoff_max) == (1.0, 10.0)
    assert (made.jitter_min, made.jitter_max) == (0.0, 2.0)
    assert made.timeout == 30.0
    assert made.respect_retry_after is True


def test_the_exceptions_have_no_default():
    with pytest.raises(InvalidPolicy, match="retryable_exceptions"):
        RetryConfig()


def test_delays_are_clamped_then_jittered_and_bounded_in_all():
    policy = config().to_retry()

    assert policy.attempts == 3
    assert delays(policy, 0.0, [1, 2, 3, 4, 5, 6]) == [1, 2, 4, 8, 10, 10]
    assert delays(policy, 0.5, [1, 2, 3, 4, 5, 6]) == [2, 3, 5, 9, 10, 10]


def test_the_minimum_lifts_small_backoffs():
    policy = config(backoff_multiplier=0.1, backoff_min=2, jitter_min=1).to_retry()

    assert delays(policy, 0.0, [1, 6]) == pytest.approx([3, 4.2])


def test_a_multiplier_over_the_maximum_waits_the_maximum():
    policy = config(backoff_multiplier=50).to_retry()

    assert delays(policy, 0.3, [1, 2, 10**6]) == [10, 10, 10]


def test_the_settings_of_infisical():
    config = RetryConfig(
        max_attempts=2,
        backoff_max=5.0,
        jitter_max=1.0,
        timeout=10.0,
        retryable_exceptions={socket.timeout, ConnectionError},
        respect_retry_after=False,
    )

    policy = config.to_retry()

    assert policy == Retry(
        attempts=2,
        base=1.0,
        cap=5.0,
        floor=1.0,
        jitter=Jitter.ADDED,
        spread=1.0,
        honour_retry_after=False,
    )
    assert delays(policy, 0.0, failures=[1], retry_after=100) == [1]


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("max_attempts", {"max_attempts": 0}),
        ("max_attempts", {"max_attempts": 10_001}),
        ("max_attempts", {"max_attempts": True}),
        ("max_attempts", {"max_attempts": 2.5}),
        ("backoff_multiplier", {"backoff_multiplier": 0}),
        ("backoff_multiplier", {"backoff_multiplier": float("nan")}),
        ("backoff_min", {"backoff_min": 10, "backoff_max": 10}),
        ("backoff_min", {"backoff_min": 11}),
        ("backoff_min", {"backoff_min": -1}),
        ("backoff_max", {"backoff_max": float("inf")}),
        ("jitter_min", {"jitter_min": 2, "jitter_max": 2}),
        ("jitter_min", {"jitter_min": 3}),
        ("jitter_max", {"jitter_max": "2"}),
        ("timeout", {"timeout": 0}),
        ("timeout", {"timeout": -1.0}),
        ("timeout", {"timeout": False}),
        ("retryable_exceptions", {"retryable_exceptions": set()}),
        ("retryable_exceptions", {"retryable_exceptions": [ConnectionError]}),
        ("retryable_exceptions", {"retryable_exceptions": {"ConnectionError"}}),
        ("retryable_exceptions", {"retryable_exceptions": {KeyboardInterrupt}}),
        ("respect_retry_after", {"respect_retry_after": "yes"}),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(field, changes):
    with pytest.raises(InvalidPolicy) as caught:
        config(**changes)

    assert caught.value.field == field
