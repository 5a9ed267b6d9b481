"""A guard around a function."""

import asyncio
import inspect

import pytest

from holdfast import Breaker, CircuitOpen, Guard
from holdfast.core.upstream.upstream import Gate
from holdfast.errors import UsageError
from holdfast.testing import Script
from tests.guard.calls import DOWN, fail, guard_call


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
