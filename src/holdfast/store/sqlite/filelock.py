"""One writer at a time among all processes that share a database file.

SQLite before 3.51.3 may corrupt a database when one connection commits while another checkpoints.
Everything holdfast writes, it writes under this lock, so the two never coincide.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

_FIRST_PAUSE_S: Final = 0.000_2
_LONGEST_PAUSE_S: Final = 0.005
_NOTE: Final = b"Locked while holdfast writes; modified by the latest commit.\n"


class FileLock:
    """An exclusive lock on a file of its own, awaited for a bounded time.

    The file is modified by every commit and emptied when the database file holds them all. That
    tells, when the write-ahead log is gone, whether commits went with it.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def acquire(self, *, timeout_s: float) -> bool:
        """Take the lock; False when another process kept it all that time.

        A holder may be a stopped process, so there is no waiting without end.
        """
        gives_up_at = time.monotonic() + timeout_s
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= gives_up_at:
                    return False
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                return True

    def release(self) -> None:
        """Let the next writer in."""
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def note_commit(self) -> None:
        """Record that something was committed just now."""
        with suppress(OSError):  # the commit stands, whether or not the disk has room for a note
            os.pwrite(self._file, _NOTE, 0)

    def forget_commits(self) -> None:
        """Record that the database file holds every commit."""
        with suppress(OSError):
            os.ftruncate(self._file, 0)

    def last_commit_ns(self) -> int | None:
        """Return when something was last committed to the log, by the file system's clock."""
        status = os.fstat(self._file)
        return status.st_mtime_ns if status.st_size else None

    def close(self) -> None:
        """Give the file back to the system."""
        os.close(self._file)
