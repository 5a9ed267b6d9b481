"""The presets of a system that grades, against its numbers."""

import pytest

from holdfast.core.upstream.breaker import Admits
from holdfast.core.upstream.breaker_policy import BreakerMode
from holdfast.core.values.instant import SECOND_US
from holdfast.presets import CAPPED, THREE_TRIALS
from tests.presets.driving import ALMOST_ONE, Drive, delays, retries


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
