"""Each preset against the numbers of the system it is made for."""

import socket

import httpx2
import pytest

from holdfast.classify import classify
from holdfast.core.failure import Category
from holdfast.core.retry import Jitter, Retry
from holdfast.errors import GiveUp, InvalidPolicy, InvalidSetting, UsageError
from holdfast.presets import (
    ADDED_JITTER,
    CAPPED,
    FIXED_SPREAD,
    FULL_JITTER,
    RetryConfig,
    added_jitter,
    fixed_spread,
)

NOW = 1_445_412_480_000_000
ALMOST_ONE = 1 - 2**-53


class ResourceExhausted(Exception):
    pass


class HTTPError2(Exception):
    def __init__(self, status):
        super().__init__("http")
        self.status = status


def delays(policy, roll, failures=range(1, 10), retry_after=None):
    retry_after_us = None if retry_after is None else retry_after * 1_000_000
    return [
        policy.delay_us(failures=n, roll=roll, retry_after_us=retry_after_us) / 1_000_000
        for n in failures
    ]


def retries(policy):
    """The failure counts after which the policy still tries again."""
    return range(1, policy.attempts)


class TestCriticizer:
    def test_five_attempts_including_the_first(self):
        assert [FULL_JITTER.exhausted(n) for n in range(1, 6)] == [False] * 4 + [True]

    def test_delays_lie_between_nothing_and_the_doubling_backoff_of_at_most_60_s(self):
        bounds = [1, 2, 4, 8, 16, 32, 60, 60, 60]

        assert delays(FULL_JITTER, 0.0) == [0] * 9
        assert delays(FULL_JITTER, 0.5) == [bound / 2 for bound in bounds]
        assert delays(FULL_JITTER, ALMOST_ONE) == pytest.approx(bounds, abs=0.000_002)

    def test_retry_after_is_a_floor_up_to_five_minutes(self):
        assert delays(FULL_JITTER, 0.5, failures=[1], retry_after=120) == [120]
        assert delays(FULL_JITTER, 0.5, failures=[1], retry_after=3_600) == [300]
        assert delays(FULL_JITTER, 0.5, failures=[9], retry_after=10) == [30]


class TestConverter:
    def test_three_attempts(self):
        assert ADDED_JITTER.attempts == 3

    def test_delays_are_5_s_doubled_plus_up_to_5_s(self):
        assert delays(ADDED_JITTER, 0.0, retries(ADDED_JITTER)) == [5, 10]
        assert delays(ADDED_JITTER, 0.5, retries(ADDED_JITTER)) == [7.5, 12.5]
        assert delays(ADDED_JITTER, ALMOST_ONE, [1, 2, 3, 4]) == pytest.approx([10, 15, 25, 45])

    def test_its_numbers_come_from_the_environment(self):
        policy = added_jitter(
            {
                "RETRY_MAX_ATTEMPTS": "7",
                "RETRY_BASE_DELAY_MS": "1500",
                "RETRY_JITTER_MAX_MS": " 0 ",
                "UNRELATED": "x",
            }
        )

        assert policy.attempts == 7
        assert delays(policy, 0.9, [1, 2, 3]) == [1.5, 3, 6]

    def test_a_single_attempt_may_be_asked_for(self):
        assert added_jitter({"RETRY_MAX_ATTEMPTS": "1"}).exhausted(1)

    def test_an_empty_environment_gives_the_defaults(self):
        assert added_jitter({}) == ADDED_JITTER

    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            ("RETRY_MAX_ATTEMPTS", "0"),
            ("RETRY_MAX_ATTEMPTS", "-1"),
            ("RETRY_MAX_ATTEMPTS", "three"),
            ("RETRY_MAX_ATTEMPTS", ""),
            ("RETRY_MAX_ATTEMPTS", "10001"),
            ("RETRY_MAX_ATTEMPTS", "3.0"),
            ("RETRY_MAX_ATTEMPTS", "9" * 5_000),
            ("RETRY_BASE_DELAY_MS", "5s"),
            ("RETRY_BASE_DELAY_MS", "86400001"),
            ("RETRY_JITTER_MAX_MS", "nan"),
            ("RETRY_JITTER_MAX_MS", "٣"),
        ],
    )
    def test_a_bad_number_is_refused_by_the_name_of_its_variable(self, variable, value):
        with pytest.raises(InvalidSetting, match=variable) as caught:
            added_jitter({variable: value})

        assert caught.value.field == variable
        assert isinstance(caught.value, UsageError)

    def test_fixed_delays_are_5_15_and_45_s_give_or_take_a_fifth(self):
        assert delays(FIXED_SPREAD, 0.0, [1, 2, 3, 4]) == pytest.approx([4, 12, 36, 36])
        assert delays(FIXED_SPREAD, 0.5, [1, 2, 3, 4]) == [5, 15, 45, 45]
        assert delays(FIXED_SPREAD, ALMOST_ONE, [1, 2, 3, 4]) == pytest.approx([6, 18, 54, 54])

    def test_fixed_delays_stop_after_three_attempts_unless_told_otherwise(self):
        assert FIXED_SPREAD.attempts == 3
        assert fixed_spread({"RETRY_MAX_ATTEMPTS": "4"}).attempts == 4
        with pytest.raises(InvalidSetting, match="RETRY_MAX_ATTEMPTS"):
            fixed_spread({"RETRY_MAX_ATTEMPTS": "many"})


class TestGrading:
    def test_three_retries_are_four_attempts(self):
        assert [CAPPED.exhausted(n) for n in range(1, 5)] == [False, False, False, True]

    def test_delays_are_powers_of_two_plus_jitter(self):
        assert delays(CAPPED, 0.0, retries(CAPPED)) == [1, 2, 4]
        assert delays(CAPPED, 0.5, retries(CAPPED)) == [1.5, 2.5, 4.5]

    def test_no_delay_passes_300_s(self):
        assert delays(CAPPED, ALMOST_ONE, [9, 10, 100, 10**6]) == pytest.approx(
            [257, 300, 300, 300], abs=0.000_002
        )

    def test_retry_after_is_honoured_within_the_cap(self):
        assert delays(CAPPED, 0.0, failures=[1], retry_after=200) == [200]
        assert delays(CAPPED, 0.0, failures=[1], retry_after=900) == [300]


class TestCollabiq:
    def config(self, **changes):
        return RetryConfig(**{"retryable_exceptions": {ConnectionError}, **changes})

    def test_its_defaults(self):
        config = self.config()

        assert config.max_attempts == 3
        assert config.backoff_multiplier == 1.0
        assert (config.backoff_min, config.backoff_max) == (1.0, 10.0)
        assert (config.jitter_min, config.jitter_max) == (0.0, 2.0)
        assert config.timeout == 30.0
        assert config.respect_retry_after is True

    def test_the_exceptions_have_no_default(self):
        with pytest.raises(TypeError, match="retryable_exceptions"):
            RetryConfig()

    def test_delays_are_clamped_then_jittered_and_bounded_in_all(self):
        policy = self.config().to_retry()

        assert policy.attempts == 3
        assert delays(policy, 0.0, [1, 2, 3, 4, 5, 6]) == [1, 2, 4, 8, 10, 10]
        assert delays(policy, 0.5, [1, 2, 3, 4, 5, 6]) == [2, 3, 5, 9, 10, 10]

    def test_the_minimum_lifts_small_backoffs(self):
        policy = self.config(backoff_multiplier=0.1, backoff_min=2, jitter_min=1).to_retry()

        assert delays(policy, 0.0, [1, 6]) == pytest.approx([3, 4.2])

    def test_a_multiplier_over_the_maximum_waits_the_maximum(self):
        policy = self.config(backoff_multiplier=50).to_retry()

        assert delays(policy, 0.3, [1, 2, 10**6]) == [10, 10, 10]

    def test_the_settings_of_infisical(self):
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
    def test_settings_that_make_no_sense_are_refused_by_name(self, field, changes):
        with pytest.raises(InvalidPolicy) as caught:
            self.config(**changes)

        assert caught.value.field == field

    def test_listed_exceptions_are_retried_and_others_are_not(self):
        rules = self.config(retryable_exceptions={ConnectionError, ResourceExhausted}).rules()

        reset = classify(ConnectionResetError(), rules, now=NOW)
        exhausted = classify(ResourceExhausted(), rules, now=NOW)
        timeout = classify(TimeoutError(), rules, now=NOW)
        odd = classify(ValueError(), rules, now=NOW)

        assert (reset.error_class, reset.retryable) == ("NETWORK", True)
        assert (exhausted.error_class, exhausted.retryable) == ("RESOURCE_EXHAUSTED", True)
        assert exhausted.outcome_known is False
        assert (timeout.error_class, timeout.retryable) == ("NETWORK_TIMEOUT", False)
        assert timeout.category is Category.TRANSIENT
        assert (odd.error_class, odd.retryable) == ("BUG", False)

    @pytest.mark.parametrize(
        ("status", "retryable", "category"),
        [
            (429, True, Category.TRANSIENT),
            (503, True, Category.TRANSIENT),
            (404, False, Category.PERMANENT),
            (401, False, Category.CRITICAL),
        ],
    )
    def test_a_listed_exception_with_a_status_is_judged_by_it(self, status, retryable, category):
        rules = self.config(retryable_exceptions={HTTPError2}).rules()

        failure = classify(HTTPError2(status), rules, now=NOW)

        assert failure.retryable is retryable
        assert failure.category is category

    @pytest.mark.parametrize(
        ("name", "error_class"),
        [
            ("HTTPError2", "HTTP_ERROR2"),
            ("APIResponseError", "API_RESPONSE_ERROR"),
            ("_Private", "PRIVATE"),
            ("é", "RETRYABLE"),
            ("_2", "RETRYABLE"),
            ("Very" * 40, "_".join(["VERY"] * 13)[:64].strip("_")),
        ],
    )
    def test_a_listed_exception_that_nothing_knows_is_named_after_its_class(
        self, name, error_class
    ):
        kind = type(name, (Exception,), {})
        rules = self.config(retryable_exceptions={kind}).rules()

        assert classify(kind(), rules, now=NOW).error_class == error_class

    def test_exceptions_of_libraries_keep_their_names(self):
        listed = self.config(retryable_exceptions={httpx2.TimeoutException}).rules()

        late = classify(httpx2.ReadTimeout("late"), listed, now=NOW)
        broken = classify(httpx2.ReadError("broken"), listed, now=NOW)

        assert (late.error_class, late.retryable) == ("NETWORK_TIMEOUT", True)
        assert (broken.error_class, broken.retryable) == ("NETWORK", False)

    def test_giving_up_is_not_undone_by_a_list(self):
        rules = self.config(retryable_exceptions={Exception}).rules()

        assert classify(GiveUp("NOT_FOUND"), rules, now=NOW).retryable is False
