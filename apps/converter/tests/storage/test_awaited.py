"""Storage from coroutines: nothing blocks them, and what is cancelled leaves nothing behind."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from converter.storage.awaited import GATHERED_BYTES, AwaitedDraft, AwaitedReading
from converter.storage.crew import Crew
from converter.storage.disk import DiskStorage
from converter.storage.errors import StorageMissing

NAME = "job-1.xml"
BIG = [bytes([number]) * 60_000 for number in range(20)]
PATIENCE_S = 30.0


def content_of(storage, name=NAME):
    with storage.open(name) as reading:
        return b"".join(reading)


async def read(storage, name):
    crew = Crew()
    parts = []
    async with await crew.run(lambda: AwaitedReading.open(storage, name, crew=crew)) as reading:
        while part := await reading.read():
            parts.append(part)
    return reading.size, parts


async def written(storage, chunks):
    async with AwaitedDraft(storage, NAME, crew=Crew()) as draft:
        for chunk in chunks:
            await draft.write(chunk)
        return await draft.commit()


@pytest.mark.parametrize("chunks", [[], [b"<a/>"], BIG])
def test_what_is_kept_is_read_in_order_and_to_its_end(storage, chunks):
    storage.put(NAME, chunks)

    size, parts = asyncio.run(read(storage, NAME))

    assert b"".join(parts) == b"".join(chunks)
    assert size == sum(map(len, chunks))
    assert all(len(part) <= 64 * 1024 for part in parts)


@pytest.mark.parametrize(("chunks", "whole"), [([b"<a/>"], b"<a/>"), (BIG, None)])
def test_what_is_small_is_there_whole_until_it_is_read(tmp_path, chunks, whole):
    async def looked():
        storage = DiskStorage(tmp_path, label="uploads", min_free_bytes=0)
        storage.put(NAME, chunks)
        async with AwaitedReading.open(storage, NAME, crew=Crew()) as reading:
            before = reading.whole
            await reading.read()
            return before, reading.whole

    assert asyncio.run(looked()) == (whole, None)


def test_what_is_not_there_cannot_be_read(storage):
    with pytest.raises(StorageMissing):
        asyncio.run(read(storage, NAME))


@pytest.mark.parametrize("chunks", [[b"<a>", b"</a>"], BIG])
def test_what_is_written_is_there_once_it_is_committed(storage, chunks):
    size = asyncio.run(written(storage, chunks))

    assert content_of(storage) == b"".join(chunks)
    assert size == sum(map(len, chunks))


def test_what_is_there_already_is_kept(storage):
    storage.put(NAME, [b"<before/>"])

    assert asyncio.run(written(storage, BIG)) == len(b"<before/>")
    assert content_of(storage) == b"<before/>"


@pytest.mark.parametrize("chunk", [b"<half", b"<half" * GATHERED_BYTES])
def test_what_is_not_committed_leaves_nothing(storage, folder, location, chunk):
    async def given_up():
        async with AwaitedDraft(storage, NAME, crew=Crew()) as draft:
            await draft.write(chunk)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(given_up())

    assert not storage.exists(NAME)
    if not location.startswith("s3://"):
        assert list(folder.iterdir()) == []


class TestCrew:
    def test_what_fails_is_raised_where_it_is_waited_for(self):
        with pytest.raises(ZeroDivisionError):
            asyncio.run(Crew().run(lambda: 1 / 0))

    def test_as_many_run_at_a_time_as_there_may_be_threads(self):
        crew, together = Crew(3), threading.Barrier(3)

        async def six():
            return await asyncio.gather(
                *(
                    crew.run(lambda: together.wait(PATIENCE_S) and threading.get_ident())
                    for _ in range(6)
                )
            )

        asyncio.run(six())

        assert not together.broken

    def test_what_is_told_later_holds_no_thread(self):
        crew, tellers = Crew(1), []

        async def told_later():
            waiting = [asyncio.create_task(crew.run_told(tellers.append)) for _ in range(3)]
            assert await asyncio.wait_for(crew.run(lambda: "meanwhile"), PATIENCE_S) == "meanwhile"
            error = StorageMissing("results", "gone")
            for told, outcome in zip(tellers, [(1, None), (2, None), (None, error)], strict=True):
                told(*outcome)
            return await asyncio.gather(*waiting, return_exceptions=True)

        first, second, third = asyncio.run(told_later())

        assert (first, second) == (1, 2)
        assert isinstance(third, StorageMissing)

    def test_a_thread_that_is_held_up_holds_up_nobody_else(self):
        crew, may_end = Crew(), threading.Event()

        async def held_up():
            first = asyncio.create_task(crew.run(lambda: may_end.wait(PATIENCE_S)))
            for _ in range(20):
                await asyncio.wait_for(crew.run(lambda: None), PATIENCE_S)
            blocked = [
                asyncio.create_task(crew.run(lambda: may_end.wait(PATIENCE_S))) for _ in range(10)
            ]
            await asyncio.wait_for(crew.run(lambda: None), PATIENCE_S)
            assert not first.done()
            may_end.set()
            return await asyncio.gather(first, *blocked)

        assert asyncio.run(held_up()) == [True] * 11

    def test_it_serves_one_loop_after_another_and_several_at_once(self):
        crew = Crew()

        async def some():
            return await asyncio.gather(*(crew.run(lambda: 1) for _ in range(50)))

        with ThreadPoolExecutor(4) as loops:
            for _ in range(5):
                counted = [loops.submit(asyncio.run, some()) for _ in range(4)]
                assert [sum(each.result(PATIENCE_S)) for each in counted] == [50] * 4

    def test_whoever_is_cancelled_goes_on_only_when_nothing_runs_any_more(self):
        begun, may_end, ended = threading.Event(), threading.Event(), []

        def work():
            begun.set()
            may_end.wait(PATIENCE_S)
            ended.append(True)

        async def cancelled():
            task = asyncio.create_task(Crew().run(work))
            assert await asyncio.to_thread(begun.wait, PATIENCE_S)
            task.cancel()
            await asyncio.sleep(0.05)
            assert not task.done()
            may_end.set()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(cancelled())

        assert ended == [True]

    def test_whoever_is_cancelled_at_any_moment_hears_of_it(self):
        async def cancelled(steps):
            task = asyncio.create_task(Crew().run(lambda: None))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task], timeout=PATIENCE_S)
            return task.done()

        assert all(asyncio.run(cancelled(number % 40)) for number in range(200))

    def test_threads_with_nothing_to_do_end(self):
        before = threading.active_count()
        asyncio.run(Crew().run(lambda: None))

        given_up_at_s = time.monotonic() + PATIENCE_S
        while threading.active_count() > before:
            assert time.monotonic() < given_up_at_s, "the threads stay"
            time.sleep(0.05)
