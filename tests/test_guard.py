"""A call by a guard's policies, plain and awaited."""

import asyncio
import inspect
import threading
from contextlib import suppress
from datetime import UTC, datetime
from email.message import Message
from urllib.error import HTTPError

import pytest

from holdfast import Breaker, CircuitOpen, GiveUp, Guard, Retry, RetryLater, Rule, Verdict
from holdfast.classify import classify
from holdfast.core.upstream import Gate
from holdfast.errors import InvalidPolicy, InvalidValue, UnavailableError, UsageError
from holdfast.runtime.clock import Chance
from holdfast.testing import ManualClock, Script

DOWN = ConnectionResetError("gone")
STEADY = Retry(attempts=4, base=1, factor=2, jitter="none")
PATIENCE_S = 20.0


def http_error(status: int, retry_after: str | None = None) -> HTTPError:
    headers = Message()
    if retry_after is not None:
        headers["Retry-After"] = retry_after
    return HTTPError("https://payments.example", status, "said no", headers, None)


class Sleeper:
    """Moves a clock instead of waiting, and remembers how far."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.waits: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.clock.advance(seconds)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def sleeper(clock: ManualClock) -> Sleeper:
    return Sleeper(clock)


@pytest.fixture
def guarded(clock: ManualClock, sleeper: Sleeper):
    """Makes guards on a clock that stands still."""

    def make(**policies) -> Guard:
        return Guard("payments", clock=clock, chance=Chance(1), sleep=sleeper, **policies)

    return make


@pytest.fixture(params=["call", "acall", "decorated", "decorated async"])
def ask(request: pytest.FixtureRequest):
    """Makes a call in each of the ways there are."""

    def through(guard: Guard, upstream, *args, **kwargs):
        async def awaited(*args, **kwargs):
            return upstream(*args, **kwargs)

        def plain(*args, **kwargs):
            return upstream(*args, **kwargs)

        match request.param:
            case "call":
                return guard.call(plain, *args, **kwargs)
            case "acall":
                return asyncio.run(guard.acall(awaited, *args, **kwargs))
            case "decorated":
                return guard(plain)(*args, **kwargs)
        return asyncio.run(guard(awaited)(*args, **kwargs))

    return through


def fail(guard: Guard, ask, times: int, error: BaseException = DOWN) -> None:
    for _ in range(times):
        with pytest.raises(type(error)):
            ask(guard, Script(error))


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
        assert asyncio.run(guard.acall(_awaiting(Script(DOWN, "paid")))) == "paid"


def _awaiting(upstream):
    async def call():
        return upstream()

    return call


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

        assert asyncio.run(guard.acall(_awaiting(Script(DOWN, "paid")))) == "paid"
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


def guard_call(guard: Guard, upstream):
    return guard.call(upstream)


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
        assert line.paused_until == clock.now() + 20_000_000

    def test_who_was_told_so_waits_and_tries_again(self, guarded, ask, sleeper):
        guard = guarded(breaker=Breaker(), retry=STEADY)

        assert ask(guard, Script(http_error(429, "20"), "paid")) == "paid"
        assert sleeper.waits == [20]

    def test_without_a_breaker_nobody_else_is_held_up(self, guarded, ask):
        guard = guarded()
        fail(guard, ask, 1, http_error(429, "20"))

        assert ask(guard, Script("paid")) == "paid"


class TestTheTimeout:
    def test_a_coroutine_is_cancelled_and_counts_as_a_failure_of_the_upstream(self):
        stopped = []

        async def hang():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                stopped.append(True)
                raise

        guard = Guard("payments", timeout=0.01, breaker=Breaker(consecutive=2))

        async def scenario():
            for _ in range(2):
                with pytest.raises(TimeoutError, match="payments did not answer in time"):
                    await guard.acall(hang)
            assert asyncio.current_task().cancelling() == 0

        asyncio.run(scenario())

        assert stopped == [True, True]
        assert guard.gate is Gate.OPEN

    def test_what_timed_out_is_tried_again(self):
        upstream = Script(60, 0)

        async def hang():
            await asyncio.sleep(upstream())
            return "paid"

        guard = Guard("payments", timeout=0.01, retry=Retry(attempts=2, base=0))

        assert asyncio.run(guard.acall(hang)) == "paid"

    def test_the_deadline_cuts_the_last_attempt_short(self):
        async def hang():
            await asyncio.sleep(60)

        guard = Guard("payments", timeout=60, deadline=0.02, breaker=Breaker(consecutive=1))

        with pytest.raises(TimeoutError):
            asyncio.run(guard.acall(hang))
        assert guard.gate is Gate.CLOSED

    def test_a_plain_function_is_not_stopped_and_its_result_counts(self, guarded, clock):
        guard = guarded(timeout=1, breaker=Breaker(consecutive=1))

        def slow():
            clock.advance(5)
            return guard.time_left

        assert guard.call(slow) == 0
        assert guard.gate is Gate.CLOSED

    def test_who_is_cancelled_from_outside_is_cancelled(self):
        guard = Guard("payments", timeout=60, retry=Retry(), breaker=Breaker(consecutive=1))
        begun = []

        async def hang():
            begun.append(True)
            await asyncio.sleep(60)

        async def scenario():
            task = asyncio.create_task(guard.acall(hang))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(scenario())

        assert (begun, guard.gate) == ([True], Gate.CLOSED)

    def test_a_timeout_around_the_guard_is_not_taken_for_its_own(self):
        guard = Guard("payments", timeout=60, retry=Retry(), breaker=Breaker(consecutive=1))

        async def scenario():
            async with asyncio.timeout(0.01):
                await guard.acall(asyncio.sleep, 60)

        with pytest.raises(TimeoutError):
            asyncio.run(scenario())
        assert guard.gate is Gate.CLOSED

    def test_a_function_that_takes_no_notice_of_it_may_answer_late(self):
        async def stubborn():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                return "paid"

        async def scenario():
            assert await guard.acall(stubborn) == "paid"
            assert asyncio.current_task().cancelling() == 0

        guard = Guard("payments", timeout=0.01)

        asyncio.run(scenario())

    def test_many_calls_at_once_each_have_their_own(self):
        guard = Guard("payments", timeout=0.05)

        async def take(seconds: float) -> float:
            await asyncio.sleep(seconds)
            return seconds

        async def scenario():
            calls = [guard.acall(take, seconds) for seconds in (60, 0, 60, 0.01, 60)]
            return await asyncio.gather(*calls, return_exceptions=True)

        slow, quick, *rest = asyncio.run(scenario())

        assert isinstance(slow, TimeoutError)
        assert (quick, rest[1]) == (0, 0.01)
        assert isinstance(rest[0], TimeoutError)
        assert isinstance(rest[2], TimeoutError)

    def test_a_guard_works_on_one_loop_after_another(self):
        guard = Guard("payments", timeout=0.01)
        for _ in range(3):
            assert asyncio.run(guard.acall(_awaiting(Script("paid")))) == "paid"
            with pytest.raises(TimeoutError):
                asyncio.run(guard.acall(asyncio.sleep, 60))


class TestTheDecorator:
    def test_the_function_keeps_its_name_and_kind(self):
        guard = Guard("payments")

        @guard
        def charge(order: int) -> str:
            """Take the money."""

        @guard
        async def refund(order: int) -> str:
            """Give it back."""

        assert (charge.__name__, charge.__doc__) == ("charge", "Take the money.")
        assert not inspect.iscoroutinefunction(charge)
        assert inspect.iscoroutinefunction(refund)
        assert list(inspect.signature(refund).parameters) == ["order"]

    def test_methods_are_bound(self):
        guard = Guard("payments")

        class Client:
            currency = "EUR"

            @guard
            def charge(self, amount: int) -> str:
                return f"{amount} {self.currency}"

        assert Client().charge(7) == "7 EUR"

    def test_functions_of_one_guard_share_its_breaker(self):
        guard = Guard("payments", breaker=Breaker(consecutive=2))
        for _ in range(2):
            with pytest.raises(ConnectionResetError):
                guard(Script(DOWN))()

        with pytest.raises(CircuitOpen):
            guard(Script())()

    def test_a_generator_is_refused(self):
        guard = Guard("payments")

        def pages():
            yield 1

        async def apages():
            yield 1

        for function in (pages, apages):
            with pytest.raises(UsageError, match="guard the calls inside it"):
                guard(function)

    def test_a_coroutine_function_is_not_for_call(self, guarded, clock):
        guard = guarded(breaker=Breaker(consecutive=1, cooldown=30))
        fail(guard, guard_call, 1)
        clock.advance(30)
        for one in (guard, Guard("other")):
            with pytest.raises(UsageError, match="use acall"):
                one.call(asyncio.sleep, 0)

        assert guard.gate is Gate.HALF_OPEN
        assert guard.call(Script("paid")) == "paid"


class TestManyAtOnce:
    THREADS = 8

    def at_once(self, action) -> list:
        barrier = threading.Barrier(self.THREADS)
        results = []

        def run():
            barrier.wait(PATIENCE_S)
            results.append(action())

        threads = [threading.Thread(target=run, daemon=True) for _ in range(self.THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        return results

    def test_of_many_threads_one_makes_the_only_trial(self, guarded, clock):
        guard = guarded(breaker=Breaker(consecutive=1, cooldown=30))
        fail(guard, guard_call, 1)
        clock.advance(30)
        refused = threading.Semaphore(0)
        calls = []

        def trial():
            calls.append(True)
            # Over when all the others have come and gone.
            return all(refused.acquire(timeout=PATIENCE_S) for _ in range(self.THREADS - 1))

        def attempt():
            try:
                return guard.call(trial)
            except CircuitOpen:
                refused.release()
                return None

        answers = self.at_once(attempt)

        assert (answers.count(True), answers.count(None)) == (1, self.THREADS - 1)
        assert (len(calls), guard.gate) == (1, Gate.CLOSED)

    def test_no_answer_of_many_threads_is_lost(self, guarded):
        calls = 200
        policy = Breaker(failure_rate=1.0, over_calls=1_000)
        guard = guarded(breaker=policy)

        def work():
            for number in range(calls):
                with suppress(ConnectionResetError):
                    guard.call(Script(DOWN if number % 10 == 0 else "paid"))

        self.at_once(work)

        # Of 1,600 calls the last 1,000 are looked at; what is not told yet are fine ones.
        samples = guard._breaker.state.samples
        assert sum(one.fine + one.failed for one in samples) == 1_000
        assert guard._breaker._fine < 10 * self.THREADS


class TestItIsTheSameMachine:
    """A guard tells the machine of fine calls late; it has to come to the same."""

    @pytest.mark.parametrize(
        "policy",
        [
            Breaker(failure_rate=0.5, over_calls=20),
            Breaker(failure_rate=0.5, over_calls=20, minimum_calls=5),
            Breaker(failure_rate=0.5, over_seconds=60, minimum_calls=5),
            Breaker(consecutive=3),
            Breaker(consecutive=9, failure_rate=0.5, over_seconds=60),
        ],
    )
    @pytest.mark.parametrize("seed", range(20))
    def test_it_opens_at_the_very_call_at_which_a_window_over_all_calls_would(
        self, guarded, clock, policy, seed
    ):
        guard, rolls = guarded(breaker=policy), Chance(seed)
        calls: list[tuple[int, bool]] = []
        for number in range(400):
            clock.advance(rolls.roll())
            fine = rolls.roll() > (0.05 if number < 200 else 0.45)
            calls.append((clock.now(), fine))
            with suppress(ConnectionResetError):
                guard.call(Script("paid" if fine else DOWN))
            if fine and policy.over_seconds:
                # That fine calls of long ago have left the span shows at the next failure.
                continue

            assert (guard.gate is Gate.OPEN) == self.breaks(policy, calls, clock), number
            if guard.gate is Gate.OPEN:
                return

    @pytest.mark.parametrize(
        ("policy", "failures", "fine"),
        [
            (Breaker(failure_rate=0.5, over_calls=20), 19, 1),
            (Breaker(failure_rate=0.5, over_calls=20), 12, 8),
            (Breaker(failure_rate=0.5, over_seconds=60), 7, 3),
        ],
    )
    def test_a_fine_call_may_be_the_one_that_makes_a_rate_count(
        self, guarded, policy, failures, fine
    ):
        guard = guarded(breaker=policy)
        fail(guard, guard_call, failures)
        gates = []
        for _ in range(fine):
            guard.call(Script("paid"))
            gates.append(guard.gate)

        assert gates == [*[Gate.CLOSED] * (fine - 1), Gate.OPEN]

    @staticmethod
    def breaks(policy: Breaker, calls: list[tuple[int, bool]], clock: ManualClock) -> bool:
        tail = [fine for _, fine in calls[-(policy.consecutive or 1) :]]
        if policy.consecutive and len(tail) == policy.consecutive and not any(tail):
            return True
        if policy.failure_rate is None:
            return False
        window = calls[-(policy.over_calls or 10**6) :]
        if policy.over_seconds:
            window = in_whole_buckets(calls, policy, clock.now())
        failures = sum(not fine for _, fine in window)
        enough = len(window) >= policy.minimum_calls
        return enough and failures > 0 and failures / len(window) >= policy.failure_rate


def in_whole_buckets(calls, policy: Breaker, now: int) -> list[tuple[int, bool]]:
    """The calls of a span of time, as it is divided: by when the first of a bucket was made."""
    span_us = int(policy.over_seconds * 1_000_000)
    bucket_us = span_us // 30
    firsts: dict[int, int] = {}
    for at, _ in calls:
        firsts.setdefault(at // bucket_us, at)
    return [call for call in calls if now - firsts[call[0] // bucket_us] <= span_us]


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
