"""One sync of a folder for all who wait for one at the same time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from converter.storage.unnamed import sync_folder

IDLE_S: Final = 2.0
"""How long the thread that syncs waits for somebody before it ends."""

Synced: TypeAlias = Callable[[OSError | None], None]
"""Is told that a sync is over, and what was wrong with it; it returns at once and never raises."""


class FolderSync:
    """Has the names in a folder safe on disk, for any number of threads.

    A thread of its own syncs, so that those who only want to be told need not wait.
    """

    def __init__(self, folder: Path, *, sync: Callable[[Path], None] | None = None) -> None:
        """`sync` has the system write the names of a folder; without it, as the system does."""
        self._folder, self._sync = folder, sync or sync_folder
        self._waiting: queue.SimpleQueue[Synced] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._runs = False

    def sync(self) -> None:
        """Return once a sync that began after this call is over, or raise its `OSError`."""
        over: queue.SimpleQueue[OSError | None] = queue.SimpleQueue()
        self.sync_then(over.put)
        error = over.get()
        if error is not None:
            raise OSError(error.errno, error.strerror) from error

    def sync_then(self, told: Synced) -> None:
        """Call `told`, in another thread, once a sync that began after this call is over.

        Whoever comes while one runs shares the next with all others who do.
        """
        with self._lock:
            self._waiting.put(told)
            if self._runs:
                return
            self._runs = True
        threading.Thread(target=self._serve, name="converter-names", daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                together = [self._waiting.get(timeout=IDLE_S)]
            except queue.Empty:
                with self._lock:
                    if not self._waiting.empty():
                        continue
                    self._runs = False
                return
            while not self._waiting.empty():
                together.append(self._waiting.get())
            error = self._error_of_sync()
            for told in together:
                told(error)
            # Until somebody comes it would keep what they are told by.
            del together, told

    def _error_of_sync(self) -> OSError | None:
        try:
            self._sync(self._folder)
        except OSError as error:
            return error
        return None
