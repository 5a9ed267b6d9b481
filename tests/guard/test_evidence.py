"""What a guard makes of many calls, at once and one after the other."""

import threading
from contextlib import suppress

import pytest

from holdfast import Breaker, CircuitOpen
from holdfast.core.upstream.upstream import Gate
from holdfast.runtime.kernel.clock import Chance
from holdfast.testing import ManualClock, Script
from tests.guard.calls import DOWN, PATIENCE_S, fail, guard_call


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
