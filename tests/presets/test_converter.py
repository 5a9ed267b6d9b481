"""The presets of a system that converts documents, against its numbers."""

from dataclasses import replace

import pytest

from holdfast.core.upstream.breaker import Admits
from holdfast.core.upstream.breaker_policy import BreakerMode
from holdfast.core.values.instant import SECOND_US
from holdfast.errors import InvalidSetting, UsageError
from holdfast.presets import (
    ADDED_JITTER,
    FIXED_SPREAD,
    HOLD_QUEUE,
    OVER_MINUTES,
    OVER_MINUTES_FAIL_FAST,
    added_jitter,
    fixed_spread,
    hold_queue,
)
from tests.presets.driving import ALMOST_ONE, Drive, delays, retries


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

    def test_an_empty_environment_or_variable_gives_the_defaults(self):
        assert added_jitter({}) == added_jitter({"RETRY_MAX_ATTEMPTS": " "}) == ADDED_JITTER

    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            ("RETRY_MAX_ATTEMPTS", "0"),
            ("RETRY_MAX_ATTEMPTS", "-1"),
            ("RETRY_MAX_ATTEMPTS", "three"),
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

    @pytest.mark.parametrize("policy", [HOLD_QUEUE, OVER_MINUTES, OVER_MINUTES_FAIL_FAST])
    def test_it_does_not_matter_which_workers_made_the_calls(self, policy):
        drive = Drive(policy, fleet=8)

        assert drive.calls("x" + "." * 10 + "x" * 8) == "closed"
        assert drive.calls("x") == "open"

    def test_failures_of_several_workers_are_wanted_where_that_is_set(self):
        drive = Drive(hold_queue({"CIRCUIT_MIN_WORKERS": "2"}), fleet=8)

        assert drive.calls("x" + "." * 10 + "x" * 9) == "closed"
        assert drive.calls("x", worker="another") == "open"

    @pytest.mark.parametrize(
        ("window", "seconds"), [("1m", 60), ("90s", 90), ("2m", 120), ("5m", 300), ("1h", 3600)]
    )
    def test_its_window_may_be_a_time(self, window, seconds):
        policy = hold_queue({"CIRCUIT_WINDOW": window})
        drive = Drive(policy)

        assert (policy.over_seconds, policy.over_calls) == (seconds, None)
        assert drive.calls("x" + "." * 5 + "x" * 3) == "closed"
        drive.wait(seconds - 1)
        assert drive.calls("x") == "open"
        again = Drive(policy)
        again.calls("x" * 9)
        again.wait(seconds * 2)
        assert again.calls("x" + "." * 9) == "closed"

    def test_how_many_calls_a_rate_needs_may_be_set(self):
        few = Drive(hold_queue({"CIRCUIT_WINDOW": "2m", "CIRCUIT_MIN_CALLS": "3"}))

        assert few.calls("xx") == "closed"
        assert few.calls("x") == "open"
        assert Drive(hold_queue({"CIRCUIT_MIN_CALLS": "4"})).calls("x..x") == "open"

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
            ("CIRCUIT_WINDOW", "0s"),
            ("CIRCUIT_WINDOW", "2h"),
            ("CIRCUIT_WINDOW", "2 m"),
            ("CIRCUIT_MIN_CALLS", "0"),
            ("CIRCUIT_MIN_CALLS", "21"),
            ("CIRCUIT_MIN_WORKERS", "0"),
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
