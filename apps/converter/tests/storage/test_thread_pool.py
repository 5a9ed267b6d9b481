"""Threads that do what blocks for coroutines."""

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from converter.storage.thread_pool import ThreadPool

PATIENCE_S = 30.0


def test_what_fails_is_raised_where_it_is_waited_for():
    with pytest.raises(ZeroDivisionError):
        asyncio.run(ThreadPool(1).run(lambda: 1 / 0))


def test_as_many_calls_run_at_a_time_as_there_may_be_threads():
    threads, together = ThreadPool(3), threading.Barrier(3)

    async def six():
        await asyncio.gather(*(threads.run(lambda: together.wait(PATIENCE_S)) for _ in range(6)))

    asyncio.run(six())

    assert not together.broken


def test_it_serves_one_loop_after_another_and_several_at_once():
    threads = ThreadPool(2)

    async def some():
        return await asyncio.gather(*(threads.run(lambda: 1) for _ in range(20)))

    with ThreadPoolExecutor(4) as loops:
        for _ in range(3):
            counted = [loops.submit(asyncio.run, some()) for _ in range(4)]
            assert [sum(each.result(PATIENCE_S)) for each in counted] == [20] * 4


@pytest.mark.parametrize("fails", [False, True])
def test_a_cancelled_caller_goes_on_only_when_its_call_is_over(fails):
    begun, may_end, ended = threading.Event(), threading.Event(), []

    def work():
        begun.set()
        may_end.wait(PATIENCE_S)
        ended.append(True)
        if fails:
            raise ZeroDivisionError

    async def cancelled():
        task = asyncio.create_task(ThreadPool(1).run(work))
        assert await asyncio.to_thread(begun.wait, PATIENCE_S)
        task.cancel()
        await asyncio.wait([task], timeout=0.05)
        was_done = task.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return was_done

    assert not asyncio.run(cancelled())
    assert ended == [True]


def test_a_call_that_waits_for_a_thread_is_made_although_its_caller_is_cancelled():
    threads, may_end, made = ThreadPool(1), threading.Event(), []

    async def cancelled():
        first = asyncio.create_task(threads.run(lambda: may_end.wait(PATIENCE_S)))
        second = asyncio.create_task(threads.run(lambda: made.append(True)))
        await asyncio.sleep(0)
        second.cancel()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await second
        assert made == [True]
        assert await first

    asyncio.run(cancelled())


def test_a_caller_that_is_cancelled_at_any_moment_hears_of_it():
    threads = ThreadPool(1)

    async def cancelled(steps):
        task = asyncio.create_task(threads.run(lambda: None))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task], timeout=PATIENCE_S)
        return task.done()

    async def at_each_moment():
        return [await cancelled(number % 20) for number in range(100)]

    assert all(asyncio.run(at_each_moment()))


def test_its_threads_end_with_it():
    threads = ThreadPool(1)
    thread = asyncio.run(threads.run(threading.current_thread))

    del threads
    gc.collect()
    thread.join(PATIENCE_S)

    assert not thread.is_alive()
