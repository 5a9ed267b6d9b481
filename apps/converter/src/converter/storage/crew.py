"""Threads that do for coroutines what blocks."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

T = TypeVar("T")

MOST_THREADS: Final = 32
IDLE_S: Final = 2.0
"""How long a thread waits for something to do before it ends."""


class _Task:
    """Something to do; everything but `do` is for the event loop alone."""

    __slots__ = ("do", "done", "loop", "over", "settled")

    def __init__(self, do: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.do, self.loop = do, loop
        self.done: asyncio.Future[Any] = loop.create_future()
        self.settled = False
        self.over: asyncio.Future[None] | None = None
        """For whoever was cancelled while it ran."""


class Crew:
    """A few threads that come when there is something to do and go when there is not."""

    def __init__(self, most: int = MOST_THREADS) -> None:
        self._most = most
        self._tasks: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._busy = 0

    async def run(self, do: Callable[[], T]) -> T:
        """Return what it returns, or raise what it raises.

        Whoever is cancelled meanwhile hears of it once it is over: nothing goes on unseen.
        """
        task = _Task(do, asyncio.get_running_loop())
        with self._lock:
            self._busy += 1
            wanted = self._threads < min(self._busy, self._most)
            self._threads += wanted
        self._tasks.put(task)
        if wanted:
            threading.Thread(target=self._work, name="converter-storage", daemon=True).start()
        try:
            return cast("T", await task.done)
        except asyncio.CancelledError:
            if not task.settled:
                task.over = task.loop.create_future()
                await task.over
            raise

    def _work(self) -> None:
        while True:
            try:
                task = self._tasks.get(timeout=IDLE_S)
            except queue.Empty:
                with self._lock:
                    if not self._tasks.empty():
                        continue
                    self._threads -= 1
                return
            value, error = _outcome(task.do)
            with self._lock:
                self._busy -= 1
            try:
                task.loop.call_soon_threadsafe(_settle, task, value, error)
            except RuntimeError:  # the loop has ended, and whoever waited with it
                continue


def _outcome(do: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return do(), None
    except BaseException as error:  # noqa: BLE001 - whoever waits is told
        return None, error


def _settle(task: _Task, value: Any, error: BaseException | None) -> None:  # noqa: ANN401
    task.settled = True
    if task.over is not None:
        if not task.over.done():
            task.over.set_result(None)
    elif task.done.done():
        return
    elif error is None:
        task.done.set_result(value)
    else:
        task.done.set_exception(error)
