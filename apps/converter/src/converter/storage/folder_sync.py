"""One sync of a folder for all who wait for one at the same time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path


class _Round:
    """A sync that many wait for."""

    def __init__(self) -> None:
        self.over = False
        self.error: OSError | None = None


class FolderSync:
    """Has the names in a folder safe on disk, for any number of threads."""

    def __init__(self, folder: Path, *, sync: Callable[[Path], None] | None = None) -> None:
        """`sync` has the system write the names of a folder; without it, as the system does."""
        self._folder, self._sync = folder, sync or _sync
        self._turn = threading.Condition()
        self._running = False
        self._next = _Round()

    def sync(self) -> None:
        """Return once a sync that began after this call is over, or raise its `OSError`.

        Whoever comes while one runs waits for the next and shares it with the others.
        """
        with self._turn:
            mine = self._next
            while not mine.over:
                if self._running:
                    self._turn.wait()
                else:
                    self._run_next()
        if mine.error is not None:
            raise OSError(mine.error.errno, mine.error.strerror) from mine.error

    def _run_next(self) -> None:
        now, self._next = self._next, _Round()
        self._running = True
        self._turn.release()
        try:
            self._sync(self._folder)
        except OSError as error:
            now.error = error
        finally:
            self._turn.acquire()
            self._running = False
            now.over = True
            self._turn.notify_all()


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
