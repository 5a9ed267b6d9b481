"""Where tests keep their files: in memory, where there is room for all of them.

Thousands of new databases and commits wait for a disk otherwise, and take several times the
processor time. No test could notice what it is spared: to lose a commit takes a power cut. Those
about syncing look at the calls.
"""

import os
import tempfile
from pathlib import Path

import pytest

VARIABLE = "TMPDIR"
MEMORY = Path("/dev/shm")
LEAST_FREE_BYTES = 4 * 1024**3
"""What has to be free before memory is used; a run that needs more finds no space left."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Decide before anybody asks for a temporary folder; processes inherit the answer."""
    if VARIABLE not in os.environ and has_room(MEMORY, LEAST_FREE_BYTES):
        os.environ[VARIABLE] = tempfile.tempdir = str(MEMORY)


def has_room(folder: Path, bytes_needed: int) -> bool:
    """Whether files of that size fit into a folder, programs among them."""
    try:
        found = os.statvfs(folder)
    except FileNotFoundError:
        return False
    free = min(found.f_bavail * found.f_frsize, free_memory_bytes())
    may_execute = not found.f_flag & os.ST_NOEXEC
    return may_execute and os.access(folder, os.W_OK) and free >= bytes_needed


def free_memory_bytes() -> int:
    """What new processes and files may take before others have to give memory back."""
    facts = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return int(facts["MemAvailable"].split()[0]) * 1024
