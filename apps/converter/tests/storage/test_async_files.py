"""Storage from coroutines: nothing blocks them, and what is cancelled leaves nothing behind."""

import asyncio

import pytest

from converter.storage.async_files import GATHERED_BYTES, AsyncDraft, AsyncReading
from converter.storage.disk import DiskStorage
from converter.storage.errors import StorageMissing
from converter.storage.thread_pool import ThreadPool

NAME = "job-1.xml"
BIG = [bytes([number]) * 60_000 for number in range(20)]


def content_of(storage, name=NAME):
    with storage.open(name) as reading:
        return b"".join(reading)


async def read(storage, name):
    threads = ThreadPool(2)
    parts = []
    opened = await threads.run(lambda: AsyncReading.open(storage, name, threads=threads))
    async with opened as reading:
        while part := await reading.read():
            parts.append(part)
    return reading.size, parts


async def written(storage, chunks):
    async with AsyncDraft(storage, NAME, threads=ThreadPool(2)) as draft:
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
        async with AsyncReading.open(storage, NAME, threads=ThreadPool(2)) as reading:
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
        async with AsyncDraft(storage, NAME, threads=ThreadPool(2)) as draft:
            await draft.write(chunk)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(given_up())

    assert not storage.exists(NAME)
    if not location.startswith("s3://"):
        assert list(folder.iterdir()) == []
