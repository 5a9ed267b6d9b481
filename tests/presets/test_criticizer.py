"""The preset of a system that reviews changes, against its numbers."""

import pytest

from holdfast.presets import FULL_JITTER, full_jitter
from tests.presets.driving import ALMOST_ONE, delays


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

    def test_its_numbers_come_from_the_environment(self):
        quick = full_jitter({"RETRY_MAX_ATTEMPTS": "3", "RETRY_BASE_DELAY_MS": "20"})

        assert quick.attempts == 3
        assert delays(quick, ALMOST_ONE, failures=[1, 2, 3]) == pytest.approx(
            [0.02, 0.04, 0.08], abs=0.000_002
        )
        assert full_jitter({}) == FULL_JITTER

    def test_a_first_delay_beyond_a_minute_is_not_cut(self):
        assert delays(full_jitter({"RETRY_BASE_DELAY_MS": "90000"}), 0.5, failures=[1]) == [45]
