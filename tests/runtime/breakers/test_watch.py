"""What a worker tells of many calls between two looks is what the rules would have seen."""

import random

import pytest

from holdfast.core.job.event import Done, Failed
from holdfast.core.upstream.breaker import Observed, decide_breaker
from holdfast.core.upstream.breaker_policy import Breaker
from holdfast.core.upstream.upstream import Gate, UpstreamState
from holdfast.core.values.failure import Category, Failure
from holdfast.core.values.instant import Instant
from holdfast.runtime.breakers.watch import Ticket, Watch
from holdfast.runtime.kernel.clock import Chance
from holdfast.runtime.kernel.stage import UpstreamTerms

NOW = Instant(1_000_000_000)
DOWN = Failed(
    Failure(
        error_class="NETWORK",
        message="hung up",
        category=Category.TRANSIENT,
        retryable=True,
        blames_upstream=True,
    )
)
FINE = Done("null")


def told(policy: Breaker, calls: list[bool]) -> UpstreamState:
    """The upstream after one worker's calls, told at once."""
    watch = Watch(UpstreamTerms("gateway", breaker=policy), chance=Chance())
    for fine in calls:
        watch.add()
        watch.leave(Ticket(0, None, NOW), FINE if fine else DOWN, NOW)
    before = UpstreamState("gateway")
    return decide_breaker(before, Observed("w1", 0, watch.take_runs()), policy, NOW) or before


def mixture(failing: float, count: int, seed: int = 7) -> list[bool]:
    chance = random.Random(seed)
    return [chance.random() >= failing for _ in range(count)]


@pytest.mark.parametrize("over_calls", [20, 100, 1_000])
@pytest.mark.parametrize("count", [50, 500, 5_000])
def test_many_calls_told_at_once_are_judged_by_the_share_that_failed(over_calls, count):
    policy = Breaker(failure_rate=0.6, over_calls=over_calls, minimum_calls=20)
    assert told(policy, mixture(0.3, count)).gate is Gate.CLOSED
    assert told(policy, mixture(0.9, count)).gate is Gate.OPEN


def test_only_the_latest_calls_are_judged_however_many_went_before():
    policy = Breaker(failure_rate=0.5, over_calls=20)
    was_bad = [*mixture(1.0, 500), *mixture(0.1, 200)]
    is_bad = [*mixture(0.1, 500), *mixture(0.0, 11), *mixture(1.0, 9), False]

    assert told(policy, was_bad).gate is Gate.CLOSED
    assert told(policy, is_bad).gate is Gate.OPEN


@pytest.mark.parametrize("before", [0, 15, 40, 1_000])
def test_failures_in_a_row_are_counted_from_the_end(before):
    policy = Breaker(consecutive=5)
    taking_turns = [number % 2 == 0 for number in range(before)]

    assert told(policy, [*taking_turns, True, *[False] * 4]).gate is Gate.CLOSED
    assert told(policy, [*taking_turns, True, *[False] * 5]).gate is Gate.OPEN


def test_what_a_watch_remembers_between_two_looks_is_bounded():
    watch = Watch(
        UpstreamTerms("gateway", breaker=Breaker(failure_rate=0.5, over_calls=100)),
        chance=Chance(),
    )
    for fine in mixture(0.5, 20_000):
        watch.add()
        watch.leave(Ticket(0, None, NOW), FINE if fine else DOWN, NOW)
    runs = watch.take_runs()

    assert len(runs) <= 102
    assert sum(fine + failed for fine, failed in runs) == 20_000
