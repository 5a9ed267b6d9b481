"""Guards on a clock that stands still, and the ways to call through them."""

import asyncio

import pytest

from holdfast import Guard
from holdfast.runtime.kernel.clock import Chance
from holdfast.testing import ManualClock
from tests.guard.calls import Sleeper


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
