"""A call by a guard's policies, plain and awaited."""

import asyncio
import threading
from urllib.error import HTTPError

import pytest

from holdfast import Breaker, CircuitOpen, GiveUp, Guard, Retry
from holdfast.classify import Rule, Verdict, classify
from holdfast.core.upstream.upstream import Gate
from holdfast.errors import InvalidPolicy, InvalidValue
from holdfast.runtime.kernel.clock import Chance
from holdfast.testing import ManualClock, Script
from tests.guard.calls import DOWN, PATIENCE_S, STEADY, awaiting, fail, http_error


class TestACall:
    def test_it_returns_what_the_function_returns(self, guarded, ask):
        guard = guarded(breaker=Breaker(), timeout=5, retry=STEADY)
        upstream = Script("paid")

        assert ask(guard, upstream, 7, currency="EUR") == "paid"
        assert upstream.calls == [((7,), {"currency": "EUR"})]

    def test_without_policies_it_is_just_a_call(self, guarded, ask):
        guard = guarded()

        assert ask(guard, Script("paid")) == "paid"
        fail(guard, ask, 20)
        assert guard.gate is Gate.CLOSED

    def test_a_guard_says_who_it_is_and_how_it_stands(self, guarded, ask):
        guard = guarded(breaker=Breaker(consecutive=1))
        fail(guard, ask, 1)

        assert repr(guard) == "Guard('payments', open)"

    def test_the_clock_chance_and_waits_are_its_own_unless_given(self):
        guard = Guard("payments", breaker=Breaker(), retry=Retry(attempts=2, base=0.001))

        assert guard.call(Script(DOWN, "paid")) == "paid"
        assert asyncio.run(guard.acall(awaiting(Script(DOWN, "paid")))) == "paid"


class TestRetries:
    def test_what_is_worth_a_retry_is_tried_again_after_the_policys_waits(
        self, guarded, ask, sleeper
    ):
        upstream = Script(DOWN, TimeoutError(), http_error(503), "paid")

        assert ask(guarded(retry=STEADY), upstream) == "paid"
        assert sleeper.waits == [1, 2, 4]

    def test_when_the_budget_is_used_up_the_last_error_is_raised_as_it_is(
        self, guarded, ask, sleeper
    ):
        last = http_error(503)
        upstream = Script(DOWN, DOWN, DOWN, last)

        with pytest.raises(HTTPError) as caught:
            ask(guarded(retry=STEADY), upstream)

        assert caught.value is last
        assert (len(upstream.calls), sleeper.waits) == (4, [1, 2, 4])

    @pytest.mark.parametrize("error", [http_error(404), ValueError("a bug"), GiveUp("INVALID")])
    def test_what_no_retry_can_mend_is_not_tried_again(self, guarded, ask, error):
        upstream = Script(error)

        with pytest.raises(type(error)):
            ask(guarded(retry=STEADY), upstream)

        assert len(upstream.calls) == 1

    def test_rules_say_what_is(self, guarded, ask, sleeper):
        rules = [Rule(ValueError, Verdict("SATURATED", retryable=True, attempts=2))]
        upstream = Script(ValueError("busy"), ValueError("busy"))

        with pytest.raises(ValueError, match="busy"):
            ask(guarded(retry=STEADY, rules=rules), upstream)

        assert (len(upstream.calls), sleeper.waits) == (2, [1])

    def test_retry_after_is_a_floor(self, guarded, ask, sleeper):
        upstream = Script(http_error(503, "20"), "paid")

        assert ask(guarded(retry=STEADY), upstream) == "paid"
        assert sleeper.waits == [20]

    def test_jitter_comes_by_chance(self, clock, sleeper, ask):
        retry = Retry(attempts=3, base=8, jitter="full")
        rolls = Chance(5)
        guard = Guard("payments", clock=clock, chance=Chance(5), sleep=sleeper, retry=retry)

        assert ask(guard, Script(DOWN, DOWN, "paid")) == "paid"
        assert sleeper.waits == pytest.approx([8 * rolls.roll(), 16 * rolls.roll()], abs=1e-5)

    def test_a_wait_may_be_awaited(self, clock):
        waits = []

        async def sleep(seconds: float) -> None:
            waits.append(seconds)

        guard = Guard("payments", clock=clock, retry=STEADY, sleep=sleep)

        assert asyncio.run(guard.acall(awaiting(Script(DOWN, "paid")))) == "paid"
        assert waits == [1]


class TestTheDeadline:
    def test_no_attempt_begins_at_or_after_it(self, guarded, ask, sleeper):
        upstream = Script(DOWN, DOWN, then=DOWN)

        with pytest.raises(ConnectionResetError):
            ask(guarded(retry=STEADY, deadline=3), upstream)

        assert (len(upstream.calls), sleeper.waits) == (2, [1])

    def test_it_is_counted_anew_for_every_call(self, guarded, ask, sleeper):
        guard = guarded(retry=STEADY, deadline=3.5)
        for _ in range(2):
            assert ask(guard, Script(DOWN, DOWN, "paid")) == "paid"

        assert sleeper.waits == [1, 2, 1, 2]

    def test_what_it_cut_short_is_no_evidence(self, guarded, ask, clock):
        guard = guarded(breaker=Breaker(consecutive=2), deadline=5, timeout=60)

        def slow():
            clock.advance(5)
            raise TimeoutError

        for _ in range(9):
            with pytest.raises(TimeoutError):
                ask(guard, slow)

        assert guard.gate is Gate.CLOSED


class TestTheTimeLeft:
    def test_there_is_none_without_a_limit(self, guarded, ask):
        guard = guarded(breaker=Breaker(), retry=STEADY)

        assert ask(guard, lambda: guard.time_left) is None
        assert guard.time_left is None

    def test_it_is_the_timeout_of_the_attempt_and_shrinks(self, guarded, ask, clock):
        guard = guarded(timeout=10)

        def look():
            clock.advance(4)
            return guard.time_left

        assert ask(guard, look) == 6
        assert guard.time_left is None

    def test_it_is_never_past_the_deadline_nor_below_zero(self, guarded, ask, clock):
        guard = guarded(timeout=10, deadline=15, retry=STEADY)
        seen = []

        def look():
            seen.append(guard.time_left)
            clock.advance(9)
            if len(seen) < 2:
                raise DOWN
            clock.advance(9)
            return guard.time_left

        assert ask(guard, look) == 0
        assert seen == [10, 5]

    def test_a_deadline_alone_is_the_limit(self, guarded, ask):
        guard = guarded(deadline=15)

        assert ask(guard, lambda: guard.time_left) == 15

    def test_threads_do_not_see_each_others(self, guarded):
        guard = guarded(timeout=10)
        found = []

        def look():
            thread = threading.Thread(target=lambda: found.append(guard.time_left))
            thread.start()
            thread.join(PATIENCE_S)

        guard.call(look)

        assert found == [None]


@pytest.mark.parametrize(
    ("field", "policies"),
    [
        ("timeout", {"timeout": 0}),
        ("timeout", {"timeout": "10"}),
        ("deadline", {"deadline": -1}),
        ("breaker", {"breaker": 5}),
        ("retry", {"retry": 3}),
    ],
)
def test_policies_that_make_no_sense_are_refused_by_name(field, policies):
    with pytest.raises(InvalidPolicy) as caught:
        Guard("payments", **policies)

    assert (caught.value.owner, caught.value.field) == ("guard payments", field)


def test_a_name_that_is_none_is_refused():
    with pytest.raises(InvalidValue):
        Guard("the payments")


def test_a_guard_that_refuses_inside_a_job_has_the_job_retried_when_it_may():
    refused = CircuitOpen("payments", reason="its breaker is open", until=None, wait_s=12.5)

    failure = classify(refused, now=ManualClock().now())

    assert (failure.error_class, failure.retryable) == ("CIRCUIT_OPEN", True)
    assert failure.retry_after_us == 12_500_000
    assert failure.blames_upstream is False
    unknown = CircuitOpen("payments", reason="x", until=None, wait_s=None)
    assert classify(unknown, now=ManualClock().now()).retry_after_us is None
