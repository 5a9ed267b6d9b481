"""Whether a folder lies on this machine, where looking at a file takes less than a thread would.

A file system elsewhere may take any time to answer.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_LOCAL: Final = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "tmpfs", "overlay"}
)
_MOUNTS: Final = Path("/proc/self/mountinfo")
_DEVICE: Final = 2
"""The place of a mount's device in its line; after a dash follows the kind of its file system."""


def is_local(folder: str, *, mounts: Path = _MOUNTS) -> bool:
    """Return whether a folder is known to lie on this machine; False where nobody can tell.

    `mounts` is the list of what is mounted, as Linux has it.
    """
    try:
        device = os.stat(folder).st_dev  # noqa: PTH116 - beside the other calls of the system
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    wanted = f"{os.major(device)}:{os.minor(device)}"
    kinds = {_kind_of(line) for line in lines if line.split(" ")[_DEVICE : _DEVICE + 1] == [wanted]}
    return bool(kinds) and kinds <= _LOCAL


def _kind_of(line: str) -> str:
    return line.partition(" - ")[2].partition(" ")[0]
