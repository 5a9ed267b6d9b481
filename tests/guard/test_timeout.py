"""How long a guarded call may take."""

import asyncio

import pytest

from holdfast import Breaker, Guard, Retry
from holdfast.core.upstream.upstream import Gate
from holdfast.testing import Script
from tests.guard.calls import awaiting


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
            assert asyncio.run(guard.acall(awaiting(Script("paid")))) == "paid"
            with pytest.raises(TimeoutError):
                asyncio.run(guard.acall(asyncio.sleep, 60))
