"""Wake-ups: from this process at once, from others by watching for their commits."""

from __future__ import annotations

import sqlite3
import threading
import time
from typing import Final

from holdfast.store.sqlite.connection import Database

LOOK_EVERY_S: Final = 0.025


class SqliteListener:
    """Hears announcements of this process, and that any other connection committed something."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._woken = threading.Event()
        self._closed = False
        self._looking = threading.Lock()
        self._watching = None if database.in_memory else database.open_reader()
        self._version = self._data_version()
        database.add_waker(self._woken)

    def wait(self, timeout_s: float) -> bool:
        """Return True when something was announced, False after `timeout_s` of silence."""
        ends_at = time.monotonic() + timeout_s
        while not self._closed:
            version = self._data_version()
            if version != self._version:
                self._version = version
                self._woken.clear()
                return True
            left_s = ends_at - time.monotonic()
            step_s = left_s if self._watching is None else min(left_s, LOOK_EVERY_S)
            if self._woken.wait(max(step_s, 0.0)):
                self._woken.clear()
                return not self._closed
            if left_s <= 0:
                return False
        return False

    def close(self) -> None:
        """Stop listening; a `wait` under way in another thread returns soon."""
        self._closed = True
        self._database.remove_waker(self._woken)
        self._woken.set()
        with self._looking:
            if self._watching is not None:
                self._watching.close()

    def _data_version(self) -> int:
        with self._looking:
            if self._watching is None or self._closed:
                return 0
            try:
                version: int = self._watching.execute("pragma data_version").fetchone()[0]
            except sqlite3.Error as error:
                self._database.raise_named(error)
            return version
