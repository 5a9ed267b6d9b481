"""One sync of a folder for all threads that wait for one at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from converter.storage.anonymous_files import sync_folder


class FolderSync:
    """Makes the names in a folder safe on disk, for any number of threads."""

    def __init__(self, folder: Path, *, sync: Callable[[Path], None] = sync_folder) -> None:
        """`sync` has the system write the names of a folder to the disk."""
        self._folder, self._sync = folder, sync
        self._one_at_a_time = threading.Lock()
        self._next = _Sync()

    def sync(self) -> None:
        """Return once a sync that began after this call is over, or raise its `OSError`.

        Threads that come while one runs share the next.
        """
        mine = self._next
        with self._one_at_a_time:
            if not mine.is_over:
                # Names that are made from here on may be too late for it.
                self._next = _Sync()
                self._run(mine)
        if mine.error is not None:
            raise OSError(mine.error.errno, mine.error.strerror) from mine.error

    def _run(self, sync: _Sync) -> None:
        try:
            self._sync(self._folder)
        except OSError as error:
            sync.error = error
        sync.is_over = True


class _Sync:
    """A sync that is to come, and then how it ended."""

    __slots__ = ("error", "is_over")

    def __init__(self) -> None:
        self.is_over = False
        self.error: OSError | None = None
