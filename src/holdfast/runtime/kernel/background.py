"""Work that may be slow, done beside what must not wait for it."""

from __future__ import annotations

import atexit
import logging
import queue
import threading
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from holdfast.runtime.kernel.clock import monotonic_s

LOGGER: Final = logging.getLogger("holdfast.worker")
ROOM: Final = 10_000
CLOSE_S: Final = 5.0
COMPLAIN_EVERY_S: Final = 60.0

_Item = TypeVar("_Item")


class BackgroundQueue(Generic[_Item]):
    """Does something with each item, in order, on a thread of its own.

    To hand an item over never waits and never fails: what finds no room is left out, what
    fails is left out, and both are logged, once a minute at most.
    """

    def __init__(self, do: Callable[[_Item], None], *, name: str, room: int = ROOM) -> None:
        self._do = do
        self._name = name
        self._pending: queue.Queue[_Item | None] = queue.Queue(room)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._complained_at_s: float | None = None
        self.left_out = 0
        """How many items were not done."""

    def __call__(self, item: _Item) -> None:
        """Have the item done soon."""
        self._start()
        try:
            self._pending.put_nowait(item)
        except queue.Full:
            self._leave_out("there is no room for more")

    def close(self, within_s: float = CLOSE_S) -> None:
        """Wait until everything is done, but not forever."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is None:
            return
        atexit.unregister(self.close)
        until_s = monotonic_s() + within_s
        try:
            self._pending.put(None, timeout=within_s)
        except queue.Full:
            self._leave_out("it did not end in time")
            return
        thread.join(max(until_s - monotonic_s(), 0.0))

    def _start(self) -> None:
        if self._thread is not None:
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._serve, name=f"holdfast-{self._name}", daemon=True
                )
                self._thread.start()
                # A program that ends without closing has its last items done as well.
                atexit.register(self.close)

    def _serve(self) -> None:
        while (item := self._pending.get()) is not None:
            try:
                self._do(item)
            except Exception as error:  # noqa: BLE001 - the next item may do better
                self._leave_out(error)

    def _leave_out(self, why: object) -> None:
        self.left_out += 1
        now_s = monotonic_s()
        if self._complained_at_s is None or now_s - self._complained_at_s >= COMPLAIN_EVERY_S:
            self._complained_at_s = now_s
            LOGGER.warning(
                "%s leaves something out: %s",
                self._name,
                why,
                extra={"event": "left_out", "service": self._name, "left_out": self.left_out},
            )
