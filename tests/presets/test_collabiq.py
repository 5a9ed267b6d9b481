"""The presets of a system that reads mail, against its numbers."""

import socket

import httpx2
import pytest

from holdfast.classify import classify
from holdfast.core.breaker import Admits, admission
from holdfast.core.breaker_policy import BreakerMode
from holdfast.core.failure import Category
from holdfast.core.instant import SECOND_US
from holdfast.core.retry import Jitter, Retry
from holdfast.errors import GiveUp, InvalidPolicy
from holdfast.presets import FIVE_IN_A_ROW, THREE_IN_A_ROW, RetryConfig
from tests.presets.driving import NOW, Drive, delays


class ResourceExhausted(Exception):
    pass


class HTTPError2(Exception):
    def __init__(self, status):
        super().__init__("http")
        self.status = status


@pytest.mark.parametrize(
    ("policy", "failures", "seconds"), [(FIVE_IN_A_ROW, 5, 60), (THREE_IN_A_ROW, 3, 30)]
)
class TestCollabiqBreakers:
    def opened(self, policy, failures):
        drive = Drive(policy)
        drive.calls("x" * failures)
        return drive

    def test_closed_to_open_by_failures_in_a_row(self, policy, failures, seconds):
        drive = Drive(policy)

        assert drive.calls("x" * (failures - 1)) == "closed"
        assert drive.calls(".") == "closed"
        assert drive.calls("x" * (failures - 1)) == "closed"
        assert drive.calls("x") == "open"

    def test_open_to_half_open_when_the_time_is_over(self, policy, failures, seconds):
        drive = self.opened(policy, failures)

        assert drive.wait(seconds - 0.001) is Admits.NOTHING
        assert drive.wait(0.001) is Admits.TRIALS
        assert drive.begin_trials(1) == 1
        assert drive.gate == "half_open"

    def test_half_open_to_closed_by_two_successes(self, policy, failures, seconds):
        drive = self.opened(policy, failures)
        drive.wait(seconds)

        drive.begin_trials(1)
        assert drive.end_trial(fine=True) == "half_open"
        drive.begin_trials(1)
        assert drive.end_trial(fine=True) == "closed"
        assert admission(drive.upstream, policy, drive.now).share == 1.0

    def test_half_open_to_open_by_any_failure(self, policy, failures, seconds):
        drive = self.opened(policy, failures)
        drive.wait(seconds)
        drive.begin_trials(1)
        drive.end_trial(fine=True)
        drive.begin_trials(1)

        assert drive.end_trial(fine=False) == "open"
        assert drive.upstream.open_until - drive.now == seconds * SECOND_US

    def test_the_time_is_the_same_however_often_it_fails(self, policy, failures, seconds):
        drive = self.opened(policy, failures)
        for _ in range(5):
            drive.wait(seconds)
            drive.begin_trials(1)
            drive.end_trial(fine=False)

            assert drive.upstream.open_until - drive.now == seconds * SECOND_US

    def test_an_open_one_rejects_all_calls(self, policy, failures, seconds):
        assert self.opened(policy, failures).admits is Admits.NOTHING
        assert policy.mode is BreakerMode.FAIL_FAST


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
