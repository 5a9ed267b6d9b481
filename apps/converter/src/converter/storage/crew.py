"""Threads that do for coroutines what blocks."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

T = TypeVar("T")

MOST_THREADS: Final = 32
IDLE_S: Final = 2.0
"""How long a thread waits for something to do before it ends."""


class _Task(NamedTuple):
    do: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[Any]


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
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        with self._lock:
            self._busy += 1
            wanted = self._threads < min(self._busy, self._most)
            self._threads += wanted
        self._tasks.put(_Task(do, loop, done))
        if wanted:
            threading.Thread(target=self._work, name="converter-storage", daemon=True).start()
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            if not done.done():
                await asyncio.wait([done])
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
                task.loop.call_soon_threadsafe(_settle, task.done, value, error)
            except RuntimeError:  # the loop has ended, and whoever waited with it
                continue


def _outcome(do: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return do(), None
    except BaseException as error:  # noqa: BLE001 - whoever waits is told
        return None, error


def _settle(done: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:  # noqa: ANN401
    if done.done():
        return
    if error is None:
        done.set_result(value)
    else:
        done.set_exception(error)
