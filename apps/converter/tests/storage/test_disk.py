"""What only files in a folder have to promise: real kills, real full disks, real links."""

import asyncio
import fcntl
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from converter.storage.anonymous_files import HiddenFile, NamelessFile
from converter.storage.async_files import AsyncDraft
from converter.storage.disk import MAX_SMALL_BYTES, DiskStorage
from converter.storage.errors import BadName, StorageFailed, StorageFull, StorageMissing
from converter.storage.thread_pool import ThreadPool

NAME = "job-1.xml"

WRITES_UNTIL_KILLED = """
import sys
import time
from pathlib import Path
from converter.storage.disk import DiskStorage

def endless():
    while True:
        yield b"x" * 4096
        print("writing", flush=True)

nameless = sys.argv[3] == "nameless"
DiskStorage(Path(sys.argv[1]), label="results", nameless=nameless).put(sys.argv[2], endless())
"""

WRITES_ONE_AFTER_ANOTHER = """
import sys
import time
from pathlib import Path
from converter.storage.disk import DiskStorage
from converter.storage.names import new_name

nameless = sys.argv[2] == "nameless"
storage = DiskStorage(Path(sys.argv[1]), label="results", min_free_bytes=0, nameless=nameless)
print("ready", flush=True)
while True:
    storage.put_if_absent(new_name(".xml"), [b"x" * 1000] * 10)
"""

FILLS_A_SMALL_DISK = """
import os, sys
from pathlib import Path
from converter.storage.disk import DiskStorage
from converter.storage.errors import StorageFull

folder = Path(sys.argv[1])
storage = DiskStorage(folder, label="results", min_free_bytes=0)
storage.put("small.xml", [b"<small/>"])
try:
    storage.put("big.xml", (b"x" * 4096 for _ in range(1000)))
except StorageFull as error:
    print(error)
print(sorted(os.listdir(folder)))
storage.put("after.xml", [b"<fits/>"])
print(sorted(os.listdir(folder)))
"""


@pytest.fixture(params=["nameless", "hidden"])
def kind(request) -> str:
    """How a draft is kept from being seen."""
    return request.param


@pytest.fixture
def disk(folder, kind) -> DiskStorage:
    made = DiskStorage(folder, label="results", min_free_bytes=0, nameless=kind == "nameless")
    if made._nameless is not (kind == "nameless"):
        pytest.skip("this file system has no files without a name")
    return made


def killed_while_writing(folder: Path, kind: str, name: str = NAME) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", WRITES_UNTIL_KILLED, str(folder), name, kind],
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    for _ in range(3):
        assert child.stdout.readline() == b"writing\n"
    child.send_signal(signal.SIGKILL)
    assert child.wait(30) == -signal.SIGKILL
    child.stdout.close()


@pytest.fixture(params=["nameless", "hidden"])
def watched(request, tmp_path, monkeypatch) -> tuple[DiskStorage, list[tuple[str, bool]]]:
    """A storage, and what is synced of it: a file or its folder, and whether the name is there."""
    folder = tmp_path / "watched"
    synced: list[tuple[str, bool]] = []
    really = os.fsync

    def fsync(handle: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file"
        synced.append((kind, (folder / NAME).exists()))
        really(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return DiskStorage(folder, label="results", nameless=request.param == "nameless"), synced


@pytest.mark.parametrize("put", [DiskStorage.put, DiskStorage.put_if_absent])
def test_a_file_is_on_disk_before_it_has_its_name_and_then_the_name_is(watched, put):
    storage, synced = watched

    put(storage, NAME, [b"x" * 1000])

    assert synced == [("file", False), ("folder", True)]


def test_a_coroutine_goes_on_once_the_name_of_its_file_is_on_disk(watched):
    storage, synced = watched

    async def written():
        draft = AsyncDraft(storage, NAME, threads=ThreadPool(1))
        await draft.write(b"x" * 1000)
        return await draft.commit(), list(synced)

    assert asyncio.run(written()) == (1000, [("file", False), ("folder", True)])


@pytest.mark.parametrize("content", [b"", b"x" * (MAX_SMALL_BYTES + 1)])
def test_a_coroutine_may_write_a_file_of_any_length(disk, folder, content):
    async def written():
        draft = AsyncDraft(disk, NAME, threads=ThreadPool(1))
        await draft.write(content)
        return await draft.commit()

    assert asyncio.run(written()) == len(content)
    assert [path.read_bytes() for path in folder.iterdir()] == [content]


def test_what_the_disk_refuses_of_a_coroutine_is_told(disk, folder):
    folder.rename(folder.with_name("elsewhere"))

    async def written():
        draft = AsyncDraft(disk, NAME, threads=ThreadPool(1))
        await draft.write(b"abc")
        await draft.commit()

    with pytest.raises(StorageFailed):
        asyncio.run(written())


def test_a_process_killed_in_the_middle_of_a_write_leaves_nothing_to_be_seen(disk, folder, kind):
    killed_while_writing(folder, kind)

    assert not disk.exists(NAME)
    left = [path.name[0] for path in folder.iterdir()]
    assert left == ([] if kind == "nameless" else ["."])


def test_a_process_killed_in_the_middle_of_a_write_leaves_what_was_there(disk, folder, kind):
    disk.put(NAME, [b"whole"])

    killed_while_writing(folder, kind)

    assert disk.describe(NAME).size == 5


def test_wherever_a_process_is_killed_what_can_be_seen_is_whole(disk, folder, kind):
    for kill_after_s in (0.0, 0.023, 0.053):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITES_ONE_AFTER_ANOTHER, str(folder), kind],
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(kill_after_s)
        child.kill()
        child.wait(30)
        child.stdout.close()
    disk.sweep()

    assert {path.stat().st_size for path in folder.iterdir()} <= {10_000}
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_what_a_killed_process_left_is_swept(disk, folder):
    killed_while_writing(folder, "hidden")
    disk.put("other.xml", [b"abc"])

    assert disk.sweep() == 1
    assert [path.name for path in folder.iterdir()] == ["other.xml"]
    assert disk.sweep() == 0


def test_what_somebody_is_writing_is_not_swept(disk, folder):
    with disk.draft(NAME) as draft:
        draft.write(b"abc")
        swept = DiskStorage(folder, label="results").sweep()
        draft.commit()

    assert swept == 0
    assert disk.describe(NAME).size == 3


def test_what_takes_the_place_of_another_leaves_nothing_else(disk, folder):
    disk.put(NAME, [b"first"])
    disk.put(NAME, [b"second"])

    assert [path.name for path in folder.iterdir()] == [NAME]
    assert (folder / NAME).read_bytes() == b"second"


@pytest.mark.parametrize("begin", [NamelessFile, lambda folder: HiddenFile(f"{folder}/{NAME}")])
def test_what_takes_the_place_of_another_is_not_swept_meanwhile(folder, begin):
    DiskStorage(folder, label="results", min_free_bytes=0).put(NAME, [b"first"])
    file = begin(str(folder))
    file.replace(f"{folder}/{NAME}")

    with (folder / NAME).open() as seen, pytest.raises(BlockingIOError):
        fcntl.flock(seen, fcntl.LOCK_EX | fcntl.LOCK_NB)
    file.discard()


def test_a_small_file_is_read_whole(disk, folder):
    disk.put(NAME, [b"abc"])

    assert disk.read_whole(NAME, most_bytes=3) == b"abc"
    with pytest.raises(StorageMissing):
        disk.read_whole("other.xml", most_bytes=3)
    (folder / "link.xml").symlink_to(folder / NAME)
    with pytest.raises(BadName):
        disk.read_whole("link.xml", most_bytes=3)


def test_a_file_is_for_its_owner_alone(disk, folder):
    disk.put(NAME, [b"abc"])
    disk.put_if_absent("other.xml", [b"abc"])

    assert [stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()] == [0o600, 0o600]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("place", ["outside", "inside"])
def test_a_link_is_refused_wherever_it_leads(disk, folder, tmp_path, place):
    target = tmp_path / "secret" if place == "outside" else folder / "real.xml"
    target.write_bytes(b"secret")
    (folder / NAME).symlink_to(target)

    for use in (disk.size, disk.exists, disk.remove, disk.size_or_room, disk.describe):
        with pytest.raises(BadName):
            use(NAME)
    for put in (disk.put, disk.put_if_absent):
        with pytest.raises(BadName):
            put(NAME, [b"abc"])
    assert target.read_bytes() == b"secret"


def test_a_link_that_leads_nowhere_is_refused(disk, folder):
    (folder / NAME).symlink_to(folder / "nothing.xml")

    with pytest.raises(BadName):
        disk.put_if_absent(NAME, [b"abc"])
    assert not (folder / "nothing.xml").exists()


def test_what_is_no_file_is_refused_at_once(disk, folder):
    os.mkfifo(folder / "pipe.xml")
    (folder / "folder.xml").mkdir()

    for name in ("pipe.xml", "folder.xml"):
        with pytest.raises(BadName), disk.open(name):
            pass
        with pytest.raises(BadName):
            disk.exists(name)


def test_a_folder_may_itself_be_reached_by_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    disk = DiskStorage(tmp_path / "link", label="results", min_free_bytes=0)

    disk.put(NAME, [b"abc"])

    assert (tmp_path / "real" / NAME).read_bytes() == b"abc"


def test_a_full_disk_is_told_and_nothing_half_written_is_left(tmp_path):
    if shutil.which("unshare") is None:
        pytest.skip("unshare, which makes a small disk for one process, is not installed")
    mount = 'mount -t tmpfs -o size=512k small-disk "$1" && exec "$0" -c "$2" "$1"'
    ran = subprocess.run(
        ["unshare", "-rm", "sh", "-c", mount, sys.executable, str(tmp_path), FILLS_A_SMALL_DISK],
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0 and ("unshare" in ran.stderr or "mount" in ran.stderr):
        pytest.skip(f"no small disk can be made here: {ran.stderr.strip()}")

    assert ran.stdout.splitlines() == [
        "results: the disk is full; free some space on it",
        "['small.xml']",
        "['after.xml', 'small.xml']",
    ], ran.stderr


def test_a_file_that_outgrows_what_the_system_allows_leaves_nothing(disk, folder):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))
    try:
        with pytest.raises(StorageFailed, match="could not write the file: File too large"):
            disk.put(NAME, [b"x" * 4096] * 4)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert list(folder.iterdir()) == []


def test_writing_is_refused_while_too_little_is_free(folder):
    disk = DiskStorage(folder, label="results", min_free_bytes=2**62)

    with pytest.raises(StorageFull, match="free some space"):
        disk.check_room()
    with pytest.raises(StorageFull):
        disk.put(NAME, [b"abc"])
    assert list(folder.iterdir()) == []


def test_a_folder_that_is_gone_is_not_taken_for_files_that_are_gone(disk, folder):
    disk.put(NAME, [b"abc"])
    folder.rename(folder.with_name("elsewhere"))

    with pytest.raises(StorageFailed, match="mounted"):
        disk.exists(NAME)
    with pytest.raises(StorageFailed, match="mounted"), disk.open(NAME):
        pass
    with pytest.raises(StorageFailed):
        disk.put(NAME, [b"abc"])


def test_a_place_that_cannot_be_a_folder_is_told(tmp_path):
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(StorageFailed, match="uploads: could not make the folder"):
        DiskStorage(tmp_path / "file" / "kept", label="uploads")


def test_errors_do_not_tell_where_the_folder_is(disk, folder):
    folder.rename(folder.with_name("elsewhere"))

    with pytest.raises(StorageFailed) as raised:
        disk.put(NAME, [b"abc"])

    assert str(folder.parent) not in str(raised.value)


def test_a_result_that_is_there_is_found_also_on_a_full_disk(disk, folder):
    disk.put(NAME, [b"abc"])
    full = DiskStorage(folder, label="results", min_free_bytes=2**62)

    assert full.size_or_room(NAME) == 3
    with pytest.raises(StorageFull):
        full.size_or_room("other.xml")
