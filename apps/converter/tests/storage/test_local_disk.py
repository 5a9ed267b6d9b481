"""Which files may be looked at in an event loop."""

import os

import pytest

from converter.storage.disk import DiskStorage
from converter.storage.local_disk import is_local


def mounted(tmp_path, *kinds, device=None):
    """What Linux says of file systems of these kinds on the device of a folder."""
    found = tmp_path.stat().st_dev
    device = device or f"{os.major(found)}:{os.minor(found)}"
    lines = [
        f"{number} 1 {device} / /place rw,relatime shared:1 - {kind} /dev/x rw"
        for number, kind in enumerate(kinds, 20)
    ]
    told = tmp_path / "mountinfo"
    told.write_text("\n".join(["19 1 0:4 / /proc rw - proc proc rw", *lines]) + "\n")
    return told


@pytest.mark.parametrize("kind", ["ext4", "xfs", "tmpfs"])
def test_a_disk_of_this_machine_is_local(tmp_path, kind):
    assert is_local(str(tmp_path), mounts=mounted(tmp_path, kind))


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs", "9p", "ceph", "something", ""])
def test_what_may_lie_elsewhere_is_not(tmp_path, kind):
    assert not is_local(str(tmp_path), mounts=mounted(tmp_path, kind))


def test_nor_is_what_nobody_can_tell(tmp_path):
    assert not is_local(str(tmp_path), mounts=mounted(tmp_path))
    assert not is_local(str(tmp_path), mounts=mounted(tmp_path, "ext4", device="250:99"))
    assert not is_local(str(tmp_path), mounts=mounted(tmp_path, "ext4", "nfs4"))
    assert not is_local(str(tmp_path), mounts=tmp_path / "nothing")
    assert not is_local(str(tmp_path / "nothing"), mounts=mounted(tmp_path, "ext4"))


def test_lines_that_are_none_are_passed_over(tmp_path):
    told = mounted(tmp_path, "ext4")
    told.write_text(f"\nodd\n1 2\n{told.read_text()}")

    assert is_local(str(tmp_path), mounts=told)


def test_a_storage_in_a_folder_says_where_it_is(folder):
    assert DiskStorage(folder, label="results").is_local is is_local(str(folder))
