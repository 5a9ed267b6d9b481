"""Small files that a process of their own keeps, whatever becomes of it."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from converter.storage.awaited import AwaitedDraft
from converter.storage.clerk import Clerk, ClerkBusy
from converter.storage.clerk_process import KEEPERS, MOST_BYTES
from converter.storage.crew import Crew
from converter.storage.disk import DiskStorage
from converter.storage.errors import StorageError, StorageFull

PATIENCE_S = 30.0
XML = b"<a/>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "kept"
    made.mkdir()
    return made


async def ready(folder: Path) -> Clerk:
    clerk = Clerk(str(folder))
    await until(lambda: clerk.ready)
    return clerk


async def until(holds) -> None:
    given_up_at_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < given_up_at_s, "it has not come about in time"
        await asyncio.sleep(0.005)


def test_many_files_are_kept_whole_and_each_is_told_of(folder):
    async def kept():
        clerk = await ready(folder)
        names = [f"job-{number}.xml" for number in range(200)]
        return await asyncio.gather(
            *(clerk.keep(name, name.encode() * 100) for name in names), return_exceptions=True
        )

    made = asyncio.run(kept())

    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert all(content == name.encode() * 100 for name, content in found.items())
    # What is more than the way to it can hold is to be kept otherwise.
    assert len(found) == made.count(True)
    assert all(each is True or isinstance(each, ClerkBusy) for each in made)
    assert made.count(True) > 10


def test_what_is_there_stays_and_is_told(folder):
    async def twice():
        clerk = await ready(folder)
        return [await clerk.keep("job-1.xml", content) for content in (b"<first/>", b"<second/>")]

    assert asyncio.run(twice()) == [True, False]
    assert (folder / "job-1.xml").read_bytes() == b"<first/>"


def test_what_the_disk_refuses_is_raised_as_it_is(folder):
    async def refused():
        clerk = await ready(folder)
        folder.rmdir()
        await clerk.keep("job-1.xml", XML)

    with pytest.raises(FileNotFoundError):
        asyncio.run(refused())


def test_what_is_too_long_is_not_taken(folder):
    async def long():
        await (await ready(folder)).keep("job-1.xml", b"x" * (MOST_BYTES + 1))

    with pytest.raises(ClerkBusy):
        asyncio.run(long())


def test_when_it_is_killed_what_it_had_is_kept_otherwise(folder):
    storage = DiskStorage(folder, label="results", min_free_bytes=0)

    async def killed():
        crew = Crew()
        clerk = storage._clerk()
        await until(lambda: clerk.ready)
        os.kill(clerk.pid, signal.SIGSTOP)
        drafts = [AwaitedDraft(storage, f"job-{number}.xml", crew=crew) for number in range(5)]
        for draft in drafts:
            await draft.write(XML)
        commits = [asyncio.create_task(draft.commit()) for draft in drafts]
        await until(lambda: clerk.under_way == len(drafts))
        os.kill(clerk.pid, signal.SIGKILL)
        sizes = await asyncio.wait_for(asyncio.gather(*commits), PATIENCE_S)
        assert storage._clerk() is None
        return sizes

    assert asyncio.run(killed()) == [len(XML)] * 5
    assert {path.read_bytes() for path in folder.iterdir()} == {XML}


def test_when_one_of_its_children_is_killed_what_it_had_is_kept_otherwise(folder):
    storage = DiskStorage(folder, label="results", min_free_bytes=0)

    async def killed():
        clerk = storage._clerk()
        await until(lambda: clerk.ready)
        keepers = _children(clerk.pid)
        # One that is stopped before it has let go of the clerk's own ends would hold them open.
        await until(lambda: all(_handles(keeper) <= _handles(clerk.pid) for keeper in keepers))
        for keeper in keepers:
            os.kill(keeper, signal.SIGSTOP)
        commits = []
        for number in range(5):
            draft = AwaitedDraft(storage, f"job-{number}.xml", crew=Crew())
            await draft.write(XML)
            commits.append(asyncio.create_task(draft.commit()))
        await until(lambda: clerk.under_way == len(commits))
        os.kill(keepers[0], signal.SIGKILL)
        sizes = await asyncio.wait_for(asyncio.gather(*commits), PATIENCE_S)
        for keeper in keepers[1:]:
            os.kill(keeper, signal.SIGCONT)
        await until(lambda: not any(map(_runs, keepers)))
        return sizes

    assert asyncio.run(killed()) == [len(XML)] * 5
    assert sorted(path.read_bytes() for path in folder.iterdir()) == [XML] * 5


def test_its_children_end_when_it_is_killed(folder):
    async def killed():
        clerk = await ready(folder)
        keepers = _children(clerk.pid)
        os.kill(clerk.pid, signal.SIGKILL)
        await until(lambda: not any(map(_runs, keepers)))
        return len(keepers)

    assert asyncio.run(killed()) == KEEPERS


def test_files_that_come_together_are_sent_together_and_told_of_each(folder):
    async def kept():
        clerk = await ready(folder)
        sizes = [1, MOST_BYTES, *range(10, 90, 10)]
        return await asyncio.gather(
            *(clerk.keep(f"job-{size}-{n}.xml", b"x" * size) for n, size in enumerate(sizes))
        )

    assert asyncio.run(kept()) == [True] * 10
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert all(int(name.split("-")[1]) == size for name, size in sizes.items())
    assert len(sizes) == 10


def test_a_file_without_a_byte_is_kept_otherwise(folder):
    # Nothing is written of it, so that nothing would be synced.
    async def empty():
        await (await ready(folder)).keep("job-1.xml", b"")

    with pytest.raises(ClerkBusy):
        asyncio.run(empty())


def test_whoever_is_cancelled_hears_of_it_once_it_is_over(folder):
    async def cancelled():
        clerk = await ready(folder)
        os.kill(clerk.pid, signal.SIGSTOP)
        task = asyncio.create_task(clerk.keep("job-1.xml", XML))
        await until(lambda: clerk.under_way)
        task.cancel()
        await asyncio.sleep(0.05)
        assert not task.done()
        os.kill(clerk.pid, signal.SIGCONT)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, PATIENCE_S)

    asyncio.run(cancelled())

    assert (folder / "job-1.xml").read_bytes() == XML


def test_it_ends_with_its_loop(folder):
    async def used():
        clerk = await ready(folder)
        assert await clerk.keep("job-1.xml", XML)
        return clerk.pid

    pid = asyncio.run(used())
    gc.collect()

    assert not _runs(pid)


KEEPS_AND_DIES = """
import asyncio, os, select, sys
from converter.storage.clerk import Clerk

async def main():
    clerk = Clerk(sys.argv[1])
    while not clerk.ready:
        await asyncio.sleep(0.005)
    keeping = [asyncio.create_task(clerk.keep(f"job-{n}.xml", b"<a/>")) for n in range(20)]
    for _ in range(2):  # asked, then sent
        await asyncio.sleep(0)
    # Told of some, and unaware of it.
    select.select([clerk._told], [], [])
    print(clerk.pid, flush=True)
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


def test_when_the_worker_is_killed_it_finishes_what_it_was_sent_and_ends(folder):
    done = subprocess.run(
        [sys.executable, "-c", KEEPS_AND_DIES, str(folder)],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )

    assert done.returncode == -signal.SIGKILL
    given_up_at_s = time.monotonic() + PATIENCE_S
    while _runs(int(done.stdout)):
        assert time.monotonic() < given_up_at_s, "it goes on without its worker"
        time.sleep(0.01)
    assert sorted(path.read_bytes() for path in folder.iterdir()) == [XML] * 20


def test_where_no_process_can_be_started_threads_keep_the_file(folder, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    storage = DiskStorage(folder, label="results", min_free_bytes=0)

    async def kept():
        async with AwaitedDraft(storage, "job-1.xml", crew=Crew()) as draft:
            await draft.write(XML)
            return await draft.commit()

    assert asyncio.run(kept()) == len(XML)
    assert (folder / "job-1.xml").read_bytes() == XML


def test_a_full_disk_is_told_before_anything_is_sent(folder):
    storage = DiskStorage(folder, label="results", min_free_bytes=2**60)

    with pytest.raises(StorageFull):
        asyncio.run(storage.keep("job-1.xml", XML))


def test_a_name_that_the_server_does_not_make_is_refused(folder):
    storage = DiskStorage(folder, label="results", min_free_bytes=0)

    with pytest.raises(StorageError):
        asyncio.run(storage.keep("../job-1.xml", XML))


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _handles(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # it may end while it is read
        return False
    return state != "Z"
