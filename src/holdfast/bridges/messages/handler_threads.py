"""Threads that handlers run in, used again: to start one takes longer than many a handler."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context

_Work = Callable[[], None]


class HandlerThreads:
    """As many threads as there are handlers at work, and those that were.

    One whose handler does not end is left alone. None keeps the process from ending.
    """

    def __init__(self) -> None:
        self._idle: deque[_Thread] = deque()
        self._closed = False

    def run(self, work: _Work) -> None:
        """Run something in a thread that has nothing else to do; it must not raise."""
        try:
            thread = self._idle.pop()
        except IndexError:
            thread = _Thread(self._keep)
        thread.give(work)

    def close(self) -> None:
        """End the threads that have nothing to do, and the others once they are done."""
        self._closed = True
        with suppress(IndexError):  # of several who close, one finds none left
            while True:
                self._idle.pop().give(None)

    def _keep(self, thread: _Thread) -> None:
        self._idle.append(thread)
        if self._closed:
            self.close()


class _Thread:
    """A thread that does what it is given."""

    def __init__(self, keep: Callable[[_Thread], None]) -> None:
        self._keep = keep
        self._given: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        threading.Thread(target=self._serve, name="holdfast-consumer", daemon=True).start()

    def give(self, work: _Work | None) -> None:
        """Have it do something, or end."""
        self._given.put(work)

    def _serve(self) -> None:
        while (work := self._given.get()) is not None:
            # What a handler leaves in context variables is not for the next one.
            Context().run(work)
            del work
            self._keep(self)
