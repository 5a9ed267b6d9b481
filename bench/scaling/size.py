"""How long the table is to be, and whether this machine has the room for it."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.database import TMPFS

GIGABYTE = 1024**3
BYTES_PER_JOB = {"postgresql": 900, "sqlite": 1_000}
BYTES_PER_LEDGER_ENTRY = 250
SPARE_BYTES = {"postgresql": 4 * GIGABYTE, "sqlite": GIGABYTE // 2}
"""For the write-ahead log, and for the jobs of the measurement itself."""


class NoRoom(Exception):
    """The disk, or the memory where files lie in memory, is too small."""


@dataclass(frozen=True, slots=True)
class Size:
    """Numbers of jobs."""

    finished: int
    future: int
    ledger: bool = False

    def bytes_needed(self, store: str) -> int:
        entries = self.finished if self.ledger else 0
        jobs = self.finished + self.future
        return jobs * BYTES_PER_JOB[store] + entries * BYTES_PER_LEDGER_ENTRY + SPARE_BYTES[store]


def checked_room(store: str, size: Size, *, in_memory: bool) -> str:
    """What is needed and where, in words; raise `NoRoom` where there is less."""
    place = TMPFS if in_memory else Path(tempfile.gettempdir())
    needed, free = size.bytes_needed(store), shutil.disk_usage(place).free
    words = (
        f"{store}: {size.finished:,} finished and {size.future:,} future jobs need about"
        f" {needed / GIGABYTE:.1f} GB in {place}, where {free / GIGABYTE:.1f} GB are free"
    )
    if free < needed:
        raise NoRoom(words)
    return words
