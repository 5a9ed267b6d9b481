import math

import pytest

from holdfast.core.upstream.breaker_policy import MAX_CALLS, Breaker, BreakerMode
from holdfast.core.values.instant import SECOND_US
from holdfast.errors import InvalidPolicy


def test_without_a_rule_it_opens_after_five_failures_in_a_row():
    assert Breaker().consecutive == 5
    assert Breaker(failure_rate=0.5, over_calls=20).consecutive is None


def test_its_defaults():
    policy = Breaker()

    assert (policy.cooldown, policy.growth, policy.cooldown_cap) == (30.0, 2.0, 600.0)
    assert (policy.trials, policy.successes, policy.trial_timeout) == (1, 1, 60.0)
    assert (policy.release, policy.minimum_workers) == (10.0, 2)
    assert policy.mode is BreakerMode.HOLD


def test_as_many_successes_as_trials_are_wanted_unless_told_otherwise():
    assert Breaker(trials=3).successes == 3
    assert Breaker(trials=3, successes=1).successes == 1


def test_a_rate_means_nothing_before_the_calls_it_is_about():
    assert Breaker(failure_rate=0.5, over_calls=20).minimum_calls == 20
    assert Breaker(failure_rate=0.5, over_seconds=120).minimum_calls == 10
    assert Breaker(failure_rate=0.5, over_calls=20, minimum_calls=5).minimum_calls == 5


def test_a_mode_may_be_given_by_its_name():
    assert Breaker(mode="fail_fast") == Breaker(mode=BreakerMode.FAIL_FAST)


def test_equal_policies_are_equal_and_can_be_kept_in_sets():
    assert len({Breaker(), Breaker(cooldown=30), Breaker(cooldown=30.0)}) == 1


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("mode", {"mode": "wait"}),
        ("mode", {"mode": None}),
        ("consecutive", {"consecutive": 0}),
        ("consecutive", {"consecutive": 2.0}),
        ("consecutive", {"consecutive": True}),
        ("consecutive", {"consecutive": MAX_CALLS + 1}),
        ("strictly_above", {"strictly_above": 1}),
        ("strictly_above", {"strictly_above": True}),
        ("over_calls", {"over_calls": 20}),
        ("over_seconds", {"over_seconds": 60}),
        ("minimum_calls", {"minimum_calls": 5}),
        ("failure_rate", {"failure_rate": 0.5}),
        ("failure_rate", {"failure_rate": 0.5, "over_calls": 20, "over_seconds": 60}),
        ("failure_rate", {"failure_rate": 0, "over_calls": 20}),
        ("failure_rate", {"failure_rate": 1.1, "over_calls": 20}),
        ("failure_rate", {"failure_rate": 50, "over_calls": 20}),
        ("failure_rate", {"failure_rate": "half", "over_calls": 20}),
        ("failure_rate", {"failure_rate": math.nan, "over_calls": 20}),
        ("failure_rate", {"failure_rate": 1, "over_calls": 20, "strictly_above": True}),
        ("over_calls", {"failure_rate": 0.5, "over_calls": 0}),
        ("over_calls", {"failure_rate": 0.5, "over_calls": MAX_CALLS + 1}),
        ("over_seconds", {"failure_rate": 0.5, "over_seconds": 0.05}),
        ("over_seconds", {"failure_rate": 0.5, "over_seconds": 86_401}),
        ("minimum_calls", {"failure_rate": 0.5, "over_calls": 20, "minimum_calls": 21}),
        ("minimum_calls", {"failure_rate": 0.5, "over_calls": 20, "minimum_calls": 0}),
        ("minimum_workers", {"minimum_workers": 0}),
        ("cooldown", {"cooldown": 0}),
        ("cooldown", {"cooldown": -1}),
        ("cooldown", {"cooldown": False}),
        ("cooldown", {"cooldown": math.inf}),
        ("growth", {"growth": 0.5}),
        ("growth", {"growth": 101}),
        ("cooldown_cap", {"cooldown": 60, "cooldown_cap": 59}),
        ("cooldown_cap", {"cooldown_cap": 86_401}),
        ("trials", {"trials": 0}),
        ("successes", {"successes": 0}),
        ("trial_timeout", {"trial_timeout": 0}),
        ("release", {"release": -1}),
        ("release", {"release": None}),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_by_the_field_that_is_wrong(field, given):
    with pytest.raises(InvalidPolicy, match=field) as caught:
        Breaker(**given)

    assert (caught.value.owner, caught.value.field) == ("Breaker", field)


class TestTheCooldown:
    def lengths(self, policy: Breaker, reopenings=range(5)) -> list[float]:
        return [policy.cooldown_us(number) / SECOND_US for number in reopenings]

    def test_it_grows_up_to_its_cap(self):
        assert self.lengths(Breaker(cooldown=30, growth=2)) == [30, 60, 120, 240, 480]
        assert self.lengths(Breaker(cooldown=30, growth=3, cooldown_cap=200)) == [
            *(30, 90, 200, 200, 200),
        ]

    def test_without_growth_it_stays(self):
        assert self.lengths(Breaker(cooldown=60, growth=1)) == [60] * 5
        assert self.lengths(Breaker(cooldown=60, growth=1, cooldown_cap=60)) == [60] * 5

    def test_one_longer_than_the_usual_cap_is_its_own_cap(self):
        assert self.lengths(Breaker(cooldown=3_600)) == [3_600] * 5

    @pytest.mark.parametrize("growth", [1.0, 1.000_001, 2.0, 100.0])
    def test_it_never_overflows(self, growth: float):
        policy = Breaker(cooldown=0.001, growth=growth, cooldown_cap=86_400)

        assert 1_000 <= policy.cooldown_us(10**6) <= 86_400 * SECOND_US

    def test_slow_growth_reaches_the_cap_in_the_end(self):
        assert self.lengths(Breaker(cooldown=30, growth=1.01), [0, 302]) == [30, 600]
