"""Breakers that open by failures in a row, against their numbers."""

import pytest

from holdfast.core.upstream.breaker import Admits, admission
from holdfast.core.upstream.breaker_policy import BreakerMode
from holdfast.core.values.instant import SECOND_US
from holdfast.presets import FIVE_IN_A_ROW, THREE_IN_A_ROW
from tests.presets.driving import Drive


@pytest.mark.parametrize(
    ("policy", "failures", "seconds"), [(FIVE_IN_A_ROW, 5, 60), (THREE_IN_A_ROW, 3, 30)]
)
class TestInARow:
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
