"""Syncs that the coroutines of a worker share."""

import asyncio
import errno
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from converter.storage.shared_sync import MAX_THREADS, MAX_TOGETHER, SharedSync

PATIENCE_S = 30.0
FOLDER = "/a/folder"


class Disk:
    """Syncs when it may, and fails for what it was told to."""

    def __init__(self):
        self.begun = []
        self.has_begun = threading.Semaphore(0)
        self.may_end = threading.Semaphore(0)
        self.bad = set()

    def sync(self, target):
        self.begun.append(target)
        self.has_begun.release()
        assert self.may_end.acquire(timeout=PATIENCE_S)
        if target in self.bad:
            raise OSError(errno.EIO, "Input/output error")

    async def begins(self):
        assert await asyncio.to_thread(self.has_begun.acquire, timeout=PATIENCE_S)


@pytest.fixture
def disk():
    return Disk()


@pytest.fixture
def syncs(disk):
    return SharedSync(sync=disk.sync)


async def asked(syncs, *targets):
    tasks = [asyncio.create_task(syncs.sync(target)) for target in targets]
    await asyncio.sleep(0)
    return tasks


def test_who_comes_while_a_folder_is_synced_shares_the_next_sync_of_it(syncs, disk):
    async def several():
        [first] = await asked(syncs, FOLDER)
        await disk.begins()
        others = await asked(syncs, FOLDER, FOLDER, FOLDER)
        disk.may_end.release()
        await first
        await disk.begins()
        assert not any(task.done() for task in others)
        disk.may_end.release()
        await asyncio.wait_for(asyncio.gather(*others), PATIENCE_S)

    asyncio.run(several())

    assert disk.begun == [FOLDER, FOLDER]


def test_a_sync_that_fails_fails_for_those_who_share_it_alone(syncs, disk):
    disk.bad = {7}
    disk.may_end.release(10)

    async def several():
        tasks = await asked(syncs, 6, 7, 7, FOLDER)
        return await asyncio.gather(*tasks, return_exceptions=True)

    fine, *failed, folder = asyncio.run(several())

    assert fine is None
    assert folder is None
    assert [error.errno for error in failed] == [errno.EIO] * 2


@pytest.mark.parametrize("bad", [{6}, set()])
def test_a_cancelled_caller_goes_on_only_when_the_sync_is_over(syncs, disk, bad):
    disk.bad = bad

    async def cancelled():
        [task] = await asked(syncs, 6)
        await disk.begins()
        task.cancel()
        await asyncio.wait([task], timeout=0.05)
        was_done = task.done()
        disk.may_end.release()
        with pytest.raises(asyncio.CancelledError):
            await task
        return was_done

    assert not asyncio.run(cancelled())


def test_a_disk_that_is_slow_is_asked_by_more_threads_up_to_a_limit(syncs, disk):
    async def many():
        tasks = await asked(syncs, *range(MAX_THREADS * (MAX_TOGETHER + 2)))
        for _ in range(MAX_THREADS):
            await disk.begins()
        assert len(disk.begun) == MAX_THREADS
        disk.may_end.release(len(tasks))
        await asyncio.gather(*tasks)

    asyncio.run(many())


def test_it_serves_several_loops_and_survives_one_that_ends(syncs, disk):
    async def left_behind():
        task = asyncio.create_task(syncs.sync(1))
        await disk.begins()
        return task

    with asyncio.Runner() as runner:
        runner.get_loop().call_later(0.05, disk.may_end.release, 100)
        runner.run(left_behind())

    async def some():
        await asyncio.gather(*(syncs.sync(number) for number in range(2, 12)))

    with ThreadPoolExecutor(3) as loops:
        for each in [loops.submit(asyncio.run, some()) for _ in range(3)]:
            each.result(PATIENCE_S)

    assert set(disk.begun) == set(range(1, 12))
