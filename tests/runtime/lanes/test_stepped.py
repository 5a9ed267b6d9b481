"""A coroutine that is run as far as it goes at once, and then where it is awaited."""

import asyncio

import pytest

from holdfast.runtime.lanes.stepped import Stepped


async def through(stepped):
    return await stepped if stepped.waits() else stepped.value


def test_one_that_does_not_wait_has_its_value_at_once():
    async def at_once():
        return 1

    stepped = Stepped(at_once())

    assert not stepped.waits()
    assert stepped.value == 1


def test_what_it_raises_before_it_waits_is_raised_at_once():
    async def fails():
        raise ValueError("at once")

    with pytest.raises(ValueError, match="at once"):
        Stepped(fails()).waits()


@pytest.mark.parametrize("waits", [1, 3])
def test_one_that_waits_goes_on_where_it_is_awaited(waits):
    async def slow():
        for _ in range(waits):
            await asyncio.sleep(0)
        return "done"

    assert asyncio.run(through(Stepped(slow()))) == "done"


def test_what_it_raises_later_is_raised_where_it_is_awaited():
    async def fails():
        await asyncio.sleep(0)
        raise ValueError("later")

    with pytest.raises(ValueError, match="later"):
        asyncio.run(through(Stepped(fails())))


def test_what_the_future_it_waits_for_raises_is_its_to_handle():
    async def careful():
        future = asyncio.get_running_loop().create_future()
        future.get_loop().call_soon(future.set_exception, KeyError("gone"))
        try:
            return await future
        except KeyError:
            await asyncio.sleep(0)
            return "handled"

    assert asyncio.run(through(Stepped(careful()))) == "handled"


def test_being_cancelled_reaches_it():
    seen = []

    async def stubborn():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def cancel():
        task = asyncio.create_task(through(Stepped(stubborn())))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())
    assert seen == ["cancelled"]


def test_one_that_is_given_up_is_closed():
    seen = []

    async def tidy():
        try:
            await asyncio.sleep(3600)
        finally:
            seen.append("closed")

    async def give_up():
        stepped = Stepped(tidy())
        assert stepped.waits()
        steps = stepped.__await__()
        next(steps)
        steps.close()

    asyncio.run(give_up())
    assert seen == ["closed"]
