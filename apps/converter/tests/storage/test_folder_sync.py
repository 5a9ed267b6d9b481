"""Syncs of a folder that many share."""

import errno
import threading
import time

import pytest

from converter.storage.folder_sync import FolderSync

PATIENCE_S = 30.0


class Disk:
    """Syncs when it is told to, and fails when it is told to."""

    def __init__(self):
        self.begun = 0
        self.may_end = threading.Semaphore(0)
        self.error = None

    def sync(self, _folder):
        self.begun += 1
        assert self.may_end.acquire(timeout=PATIENCE_S)
        if self.error is not None:
            raise self.error


def until(holds):
    given_up_at_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < given_up_at_s, "it has not come about in time"
        time.sleep(0.005)


@pytest.fixture
def disk():
    return Disk()


@pytest.fixture
def names(disk, tmp_path):
    return FolderSync(tmp_path, sync=disk.sync)


class Waiter(threading.Thread):
    def __init__(self, names):
        super().__init__(daemon=True)
        self._names, self.error, self.entered = names, None, False
        self.start()

    def run(self):
        self.entered = True
        try:
            self._names.sync()
        except OSError as error:
            self.error = error


def waiting(names, disk):
    """One whose sync runs, and three that came meanwhile."""
    first = Waiter(names)
    until(lambda: disk.begun == 1)
    others = [Waiter(names) for _ in range(3)]
    until(lambda: all(each.entered for each in others))
    time.sleep(0.05)  # for whoever would not wait to go on
    return first, others


def test_who_comes_while_one_runs_waits_for_the_next_and_shares_it(names, disk):
    first, others = waiting(names, disk)
    disk.may_end.release()
    first.join(PATIENCE_S)
    until(lambda: disk.begun == 2)
    assert all(each.is_alive() for each in others)

    disk.may_end.release()
    for each in others:
        each.join(PATIENCE_S)

    assert not any(each.is_alive() for each in (first, *others))
    assert disk.begun == 2


def test_a_sync_that_failed_failed_for_all_who_share_it(names, disk):
    first, others = waiting(names, disk)
    disk.may_end.release()
    first.join(PATIENCE_S)
    disk.error = OSError(errno.EIO, "Input/output error")
    disk.may_end.release()
    for each in others:
        each.join(PATIENCE_S)

    assert first.error is None
    assert [each.error.errno for each in others] == [errno.EIO] * 3


def test_a_folder_that_is_there_is_synced_as_the_system_does(tmp_path):
    FolderSync(tmp_path).sync()

    with pytest.raises(FileNotFoundError):
        FolderSync(tmp_path / "gone").sync()
