"""Each preset against the numbers of the system it is made for."""

import socket
from dataclasses import replace

import httpx2
import pytest

from holdfast.classify import classify
from holdfast.core.breaker import (
    Admits,
    Observed,
    PermitsAsked,
    TrialEnded,
    admission,
    decide_breaker,
)
from holdfast.core.breaker_policy import BreakerMode
from holdfast.core.failure import Category
from holdfast.core.instant import SECOND_US
from holdfast.core.retry import Jitter, Retry
from holdfast.core.upstream import UpstreamState
from holdfast.errors import GiveUp, InvalidPolicy, InvalidSetting, UsageError
from holdfast.presets import (
    ADDED_JITTER,
    CAPPED,
    FIVE_IN_A_ROW,
    FIXED_SPREAD,
    FULL_JITTER,
    HOLD_QUEUE,
    OVER_MINUTES,
    OVER_MINUTES_FAIL_FAST,
    THREE_IN_A_ROW,
    THREE_TRIALS,
    RetryConfig,
    added_jitter,
    fixed_spread,
    hold_queue,
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


class Drive:
    """A breaker driven call by call, by a worker alone."""

    def __init__(self, policy):
        self.policy = policy
        self.now = NOW
        self.upstream = UpstreamState("gateway")

    @property
    def gate(self):
        return self.upstream.gate.value

    @property
    def admits(self):
        return admission(self.upstream, self.policy, self.now).admits

    def meet(self, event):
        decided = decide_breaker(self.upstream, event, self.policy, self.now)
        self.upstream = self.upstream if decided is None else decided
        return decided is not None

    def calls(self, how):
        """Tell how calls ended, one by one: `.` was fine, `x` failed."""
        for each in how:
            run = (1, 0) if each == "." else (0, 1)
            self.meet(Observed("w", self.upstream.generation, (run,)))
        return self.gate

    def begin_trials(self, wanted):
        self.meet(PermitsAsked("w", wanted))
        return len(self.upstream.permits)

    def end_trial(self, *, fine):
        upstream = self.upstream
        self.meet(TrialEnded(upstream.generation, upstream.permits[0].number, fine))
        return self.gate

    def wait(self, seconds):
        self.now += int(seconds * SECOND_US)
        return self.admits


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

    def test_its_breaker_opens_when_half_of_the_last_20_calls_have_failed(self):
        drive = Drive(HOLD_QUEUE)

        assert drive.calls("x" + "." * 10 + "x" * 8) == "closed"
        assert drive.calls("x") == "open"
        assert HOLD_QUEUE.mode is BreakerMode.HOLD

    def test_fewer_than_20_calls_or_9_of_20_open_nothing(self):
        assert Drive(HOLD_QUEUE).calls("x" * 19) == "closed"
        assert Drive(HOLD_QUEUE).calls("x" * 9 + "." * 11) == "closed"

    def test_its_breaker_recovers_by_itself_after_30_s(self):
        drive = Drive(HOLD_QUEUE)
        drive.calls("x" * 20)

        assert drive.wait(29.999) is Admits.NOTHING
        assert drive.wait(0.001) is Admits.TRIALS
        assert drive.begin_trials(9) == 1
        assert drive.end_trial(fine=True) == "closed"
        assert drive.admits is Admits.ALL

    def test_while_trials_fail_it_tries_every_30_s(self):
        drive = Drive(HOLD_QUEUE)
        drive.calls("x" * 20)
        for _ in range(5):
            drive.wait(30)
            drive.begin_trials(1)
            drive.end_trial(fine=False)

            assert drive.upstream.open_until - drive.now == 30 * SECOND_US

    def test_the_numbers_of_its_breaker_come_from_the_environment(self):
        policy = hold_queue(
            {
                "CIRCUIT_WINDOW": "10",
                "CIRCUIT_FAIL_THRESHOLD": " 0.8 ",
                "CIRCUIT_COOLDOWN_MS": "1500",
                "UNRELATED": "x",
            }
        )
        drive = Drive(policy)

        assert drive.calls("x" * 7 + "." * 3 + "x" * 7) == "closed"
        assert drive.calls("x") == "open"
        assert drive.upstream.open_until - drive.now == 1_500_000
        assert hold_queue({}) == HOLD_QUEUE

    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            ("CIRCUIT_WINDOW", "0"),
            ("CIRCUIT_WINDOW", "1001"),
            ("CIRCUIT_WINDOW", "twenty"),
            ("CIRCUIT_FAIL_THRESHOLD", "0"),
            ("CIRCUIT_FAIL_THRESHOLD", "50"),
            ("CIRCUIT_FAIL_THRESHOLD", "50%"),
            ("CIRCUIT_FAIL_THRESHOLD", "1.1"),
            ("CIRCUIT_FAIL_THRESHOLD", "-0.5"),
            ("CIRCUIT_FAIL_THRESHOLD", "nan"),
            ("CIRCUIT_FAIL_THRESHOLD", "٠.٥"),
            ("CIRCUIT_FAIL_THRESHOLD", "0." + "5" * 5_000),
            ("CIRCUIT_COOLDOWN_MS", "0"),
            ("CIRCUIT_COOLDOWN_MS", "30s"),
            ("CIRCUIT_COOLDOWN_MS", "86400001"),
        ],
    )
    def test_a_bad_number_of_its_breaker_is_refused_by_name(self, variable, value):
        with pytest.raises(InvalidSetting) as caught:
            hold_queue({variable: value})

        assert caught.value.field == variable


@pytest.mark.parametrize("policy", [OVER_MINUTES, OVER_MINUTES_FAIL_FAST])
class TestConverterOverMinutes:
    def test_half_of_the_calls_of_some_minutes_open_it(self, policy):
        drive = Drive(policy)

        assert drive.calls("x" + "." * 10) == "closed"
        drive.wait(100)
        assert drive.calls("x" * 8) == "closed"
        assert drive.calls("x") == "open"

    def test_what_failed_before_those_minutes_counts_for_nothing(self, policy):
        drive = Drive(policy)
        drive.calls("x" * 9)
        drive.wait(5 * 60)

        assert drive.calls("x" + "." * 9) == "closed"

    def test_its_window_may_be_from_2_to_5_minutes(self, policy):
        assert 2 * 60 <= policy.over_seconds <= 5 * 60
        for minutes in (2, 5):
            drive = Drive(replace(policy, over_seconds=minutes * 60))
            drive.calls("x" * 9)
            drive.wait(minutes * 60 - 1)

            assert drive.calls("x") == "open"

    def test_it_closes_when_a_trial_succeeds(self, policy):
        drive = Drive(policy)
        drive.calls("x" * 10)

        assert drive.wait(30) is Admits.TRIALS
        assert drive.begin_trials(5) == 1
        assert drive.end_trial(fine=True) == "closed"


def test_over_minutes_comes_in_both_modes():
    assert OVER_MINUTES.mode is BreakerMode.HOLD
    assert OVER_MINUTES_FAIL_FAST.mode is BreakerMode.FAIL_FAST
    assert replace(OVER_MINUTES_FAIL_FAST, mode="hold") == OVER_MINUTES


class TestGrading:
    def test_its_breaker_opens_when_more_than_half_of_20_requests_failed(self):
        drive = Drive(THREE_TRIALS)

        assert drive.calls("x" * 10 + "." * 10 + "x" * 10) == "closed"
        assert drive.calls("x") == "open"
        assert drive.upstream.open_until - drive.now == 30 * SECOND_US

    def test_fewer_than_20_requests_open_nothing(self):
        assert Drive(THREE_TRIALS).calls("x" * 19) == "closed"

    def test_after_the_cooldown_three_requests_may_try_and_must_succeed(self):
        drive = Drive(THREE_TRIALS)
        drive.calls("x" * 20)

        assert drive.wait(30) is Admits.TRIALS
        assert drive.begin_trials(9) == 3
        assert drive.end_trial(fine=True) == "half_open"
        assert drive.begin_trials(9) == 2
        assert drive.end_trial(fine=True) == "half_open"
        assert drive.end_trial(fine=True) == "closed"

    def test_one_failed_trial_opens_it_for_another_30_s(self):
        drive = Drive(THREE_TRIALS)
        drive.calls("x" * 20)
        drive.wait(30)
        drive.begin_trials(3)

        assert drive.end_trial(fine=False) == "open"
        assert drive.upstream.open_until - drive.now == 30 * SECOND_US

    def test_whoever_waits_is_told(self):
        assert THREE_TRIALS.mode is BreakerMode.NOTICE

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
