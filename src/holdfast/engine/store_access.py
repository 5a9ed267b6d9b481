"""A store that is made ready when it is first used, and the clock that judges it."""

from __future__ import annotations

import threading
from typing import Final

from holdfast.core.values.instant import SECOND_US
from holdfast.runtime.kernel.clock import Clock, StoreClock
from holdfast.store.contract import Store

LEARN_EVERY_US: Final = 60 * SECOND_US


class StoreAccess:
    """What every verb of `Holdfast` stands on."""

    def __init__(self, store: Store, *, auto_migrate: bool, clock: Clock | None) -> None:
        self.clock: Clock = clock or StoreClock(store.read_clock, learn_every_us=LEARN_EVERY_US)
        self._closed_store = store
        self._auto_migrate = auto_migrate
        self._opened = False
        self._opening = threading.Lock()

    @property
    def store(self) -> Store:
        """The store, its schema brought up to date or checked on first use."""
        self._open()
        return self._closed_store

    @property
    def unopened_store(self) -> Store:
        """The store as it is, for commands that look at its schema."""
        return self._closed_store

    def _open(self) -> None:
        if self._opened:
            return
        with self._opening:
            if self._auto_migrate:
                self._closed_store.migrate()
            self._closed_store.check_schema()
            self._opened = True
