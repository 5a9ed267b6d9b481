"""Awaited calls whose task is cancelled: they end first, and their threads do not pile up."""

import asyncio
import threading

import pytest

from holdfast.engine.threads import CallThreads


@pytest.fixture
def threads():
    made = CallThreads(2)
    yield made
    made.close()


def test_a_cancelled_call_has_ended_when_the_cancellation_is_raised(threads):
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        may_end.wait(30)
        ended.set()

    async def main() -> None:
        task = asyncio.create_task(threads.run(call))
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()

    asyncio.run(main())


def test_an_error_of_the_call_is_raised_where_it_is_awaited(threads):
    async def main() -> None:
        with pytest.raises(ZeroDivisionError):
            await threads.run(lambda: 1 // 0)

    asyncio.run(main())


def test_the_loop_goes_on_while_a_call_waits(threads):
    may_end = threading.Event()

    async def main() -> str:
        async def free() -> None:
            may_end.set()

        waited, _ = await asyncio.gather(threads.run(lambda: may_end.wait(30)), free())
        return "went on" if waited else "blocked"

    assert asyncio.run(main()) == "went on"
