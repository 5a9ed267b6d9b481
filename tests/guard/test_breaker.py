"""When a guard lets calls through, and when it stays away."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from holdfast import Breaker, CircuitOpen, GiveUp, Guard, RetryLater
from holdfast.core.upstream.upstream import Gate
from holdfast.core.values.instant import later, to_rfc3339
from holdfast.errors import UnavailableError
from holdfast.testing import Script
from tests.guard.calls import DOWN, STEADY, fail, guard_call, http_error


class TestTheBreaker:
    def test_it_opens_and_no_call_is_made_until_the_cooldown_is_over(self, guarded, ask, clock):
        guard = guarded(breaker=Breaker(consecutive=3, cooldown=30, release=0))
        fail(guard, ask, 3)
        unused = Script("paid")

        with pytest.raises(CircuitOpen) as caught:
            ask(guard, unused)
        clock.advance(30)

        assert unused.calls == []
        assert caught.value.upstream == "payments"
        assert caught.value.wait_s == 30
        assert caught.value.until == datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC)
        assert isinstance(caught.value, UnavailableError)
        assert ask(guard, unused) == "paid"
        assert guard.gate is Gate.CLOSED

    def test_a_trial_that_fails_opens_it_for_longer(self, guarded, ask, clock):
        guard = guarded(breaker=Breaker(consecutive=3, cooldown=30))
        fail(guard, ask, 3)
        clock.advance(30)
        fail(guard, ask, 1)

        with pytest.raises(CircuitOpen) as caught:
            ask(guard, Script())

        assert caught.value.wait_s == 60

    def test_several_successes_may_be_wanted(self, guarded, ask, clock):
        guard = guarded(breaker=Breaker(consecutive=1, cooldown=30, successes=2, release=0))
        fail(guard, ask, 1)
        clock.advance(30)

        gates = []
        for _ in range(2):
            ask(guard, Script("paid"))
            gates.append(guard.gate)

        assert gates == [Gate.HALF_OPEN, Gate.CLOSED]

    def test_while_a_trial_is_under_way_others_are_refused(self, guarded, ask, clock):
        guard = guarded(breaker=Breaker(consecutive=1, cooldown=30))
        fail(guard, ask, 1)
        clock.advance(30)

        def trial():
            with pytest.raises(CircuitOpen, match="half open") as caught:
                guard.call(Script())
            return caught.value

        refused = ask(guard, trial)

        assert (refused.until, refused.wait_s) == (None, None)
        assert str(refused).endswith("try again later")

    @pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit])
    def test_what_is_no_failure_gives_a_trial_back(self, guarded, clock, stop):
        guard = guarded(breaker=Breaker(consecutive=1, cooldown=30, release=0))
        fail(guard, guard_call, 1)
        clock.advance(30)
        for raised in (stop, asyncio.CancelledError, RetryLater(after=5)):
            with pytest.raises(raised if isinstance(raised, type) else type(raised)):
                guard.call(Script(raised))

        assert guard.gate is Gate.HALF_OPEN
        assert guard.call(Script("paid")) == "paid"
        assert guard.gate is Gate.CLOSED

    @pytest.mark.parametrize("raised", [asyncio.CancelledError, KeyboardInterrupt, SystemExit])
    def test_what_is_no_failure_opens_nothing_and_is_not_tried_again(self, guarded, raised):
        guard = guarded(breaker=Breaker(consecutive=1), retry=STEADY)
        upstream = Script(raised)

        with pytest.raises(raised):
            guard.call(upstream)

        assert (len(upstream.calls), guard.gate) == (1, Gate.CLOSED)

    @pytest.mark.parametrize("error", [ValueError("a bug"), GiveUp("INVALID"), http_error(404)])
    def test_what_is_not_the_upstreams_fault_opens_nothing(self, guarded, ask, error):
        guard = guarded(breaker=Breaker(consecutive=2))
        fail(guard, ask, 9, error)

        assert guard.gate is Gate.CLOSED

    def test_an_answer_of_any_kind_ends_a_row_of_failures(self, guarded, ask):
        guard = guarded(breaker=Breaker(consecutive=2))
        for _ in range(5):
            fail(guard, ask, 1)
            fail(guard, ask, 1, http_error(404))

        assert guard.gate is Gate.CLOSED

    def test_a_mistake_of_ours_does_not(self, guarded, ask):
        guard = guarded(breaker=Breaker(consecutive=2))
        fail(guard, ask, 1)
        fail(guard, ask, 1, ValueError("a bug"))
        fail(guard, ask, 1)

        assert guard.gate is Gate.OPEN

    def test_a_trial_that_is_refused_with_a_reason_is_a_success(self, guarded, ask, clock):
        guard = guarded(breaker=Breaker(consecutive=1, cooldown=30))
        fail(guard, ask, 1)
        clock.advance(30)
        fail(guard, ask, 1, http_error(404))

        assert guard.gate is Gate.CLOSED

    def test_every_attempt_is_evidence_and_no_wait_is_spent_on_an_open_breaker(
        self, guarded, ask, sleeper
    ):
        guard = guarded(breaker=Breaker(consecutive=2, cooldown=30), retry=STEADY)
        upstream = Script(DOWN, DOWN, then=DOWN)

        with pytest.raises(ConnectionResetError):
            ask(guard, upstream)

        assert (len(upstream.calls), sleeper.waits) == (2, [1])
        assert guard.gate is Gate.OPEN

    def test_a_retry_outlasts_a_short_cooldown_and_is_its_trial(self, guarded, ask, sleeper):
        guard = guarded(breaker=Breaker(consecutive=2, cooldown=1.5, release=0), retry=STEADY)

        assert ask(guard, Script(DOWN, DOWN, "paid")) == "paid"
        assert sleeper.waits == [1, 2]
        assert guard.gate is Gate.CLOSED

    def test_a_retry_that_is_not_let_through_raises_what_failed_before(self, clock):
        policy = Breaker(consecutive=1, cooldown=1)
        waits = []

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            clock.advance(seconds)
            guard._breaker.enter(clock.now())  # somebody else is faster, and takes the only trial

        guard = Guard("payments", breaker=policy, retry=STEADY, clock=clock, sleep=sleep)

        with pytest.raises(ConnectionResetError):
            guard.call(Script(DOWN))

        assert waits == [1]

    def test_a_late_answer_to_a_call_begun_before_it_opened_changes_nothing(self, guarded, clock):
        guard = guarded(breaker=Breaker(consecutive=2, cooldown=30))

        def slow():
            fail(guard, guard_call, 2)
            assert guard.gate is Gate.OPEN
            clock.advance(30)
            return "paid"

        assert guard.call(slow) == "paid"
        assert guard.gate is Gate.OPEN

    def test_a_late_failure_of_a_call_begun_before_it_opened_changes_nothing(self, guarded, clock):
        guard = guarded(breaker=Breaker(consecutive=1, cooldown=30, release=0))

        def slow():
            fail(guard, guard_call, 1)
            clock.advance(30)
            guard.call(Script("paid"))
            assert guard.gate is Gate.CLOSED
            raise DOWN

        with pytest.raises(ConnectionResetError):
            guard.call(slow)
        assert guard.gate is Gate.CLOSED

    def test_after_closing_more_is_let_through_step_by_step(self, guarded, clock):
        guard = guarded(breaker=Breaker(consecutive=1, cooldown=30, release=10))
        fail(guard, guard_call, 1)
        clock.advance(30)
        guard.call(Script("paid"))

        def let_through() -> int:
            count = 0
            for _ in range(1_000):
                with suppress(CircuitOpen):
                    count += guard.call(Script(1))
            return count

        refused = guard._breaker.refusal(clock.now())
        assert ("step by step" in str(refused), refused.wait_s) == (True, 10)

        shares = []
        for _ in range(11):
            shares.append(let_through() / 1_000)
            clock.advance(1)

        assert shares == pytest.approx([0.1 * step for step in range(1, 11)] + [1.0], abs=0.05)
        assert shares[-1] == shares[-2] == 1.0

    def test_a_reset_forgets_everything(self, guarded, ask):
        guard = guarded(breaker=Breaker(consecutive=1, release=0))
        fail(guard, ask, 1)
        guard.reset()

        assert ask(guard, Script("paid")) == "paid"
        guarded().reset()

    def test_its_moves_are_logged(self, guarded, ask, clock, caplog):
        caplog.set_level("INFO", logger="holdfast.breaker")
        guard = guarded(breaker=Breaker(consecutive=1, cooldown=30))
        fail(guard, ask, 1)
        clock.advance(30)
        ask(guard, Script("paid"))

        assert [(line.event, line.levelname, line.upstream) for line in caplog.records] == [
            ("breaker_open", "WARNING", "payments"),
            ("breaker_half_open", "INFO", "payments"),
            ("breaker_closed", "INFO", "payments"),
        ]


class TestARateLimit:
    def test_everybody_stays_away_as_long_as_the_upstream_asks(self, guarded, ask, clock):
        guard = guarded(breaker=Breaker())
        fail(guard, ask, 1, http_error(429, "20"))

        with pytest.raises(CircuitOpen, match="asked to be left alone") as caught:
            ask(guard, Script())
        clock.advance(20)

        assert caught.value.wait_s == 20
        assert ask(guard, Script("paid")) == "paid"

    def test_it_is_logged(self, guarded, ask, clock, caplog):
        fail(guarded(breaker=Breaker()), ask, 1, http_error(429, "20"))

        (line,) = caplog.records
        assert (line.event, line.upstream) == ("rate_limited", "payments")
        assert line.paused_until == to_rfc3339(later(clock.now(), 20_000_000))

    def test_who_was_told_so_waits_and_tries_again(self, guarded, ask, sleeper):
        guard = guarded(breaker=Breaker(), retry=STEADY)

        assert ask(guard, Script(http_error(429, "20"), "paid")) == "paid"
        assert sleeper.waits == [20]

    def test_without_a_breaker_nobody_else_is_held_up(self, guarded, ask):
        guard = guarded()
        fail(guard, ask, 1, http_error(429, "20"))

        assert ask(guard, Script("paid")) == "paid"
