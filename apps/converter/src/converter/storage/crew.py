"""Threads that do for coroutines what blocks."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

T = TypeVar("T")
Told: TypeAlias = Callable[[Any, BaseException | None], None]
"""Is told what came of something, or what was raised, once and in any thread."""

FEW_THREADS: Final = 4
"""Enough for what is over soon. Every call of the system is a hand-over between threads that have
something to do, and many of them cost more than the calls themselves."""
MOST_THREADS: Final = 32
WAIT_S: Final = 0.02
"""How long something waits for a thread before there is one more."""
IDLE_S: Final = 2.0
"""How long a thread waits for something to do before it ends."""


class _Task:
    """Something to do, and what came of it."""

    __slots__ = ("_tray", "do", "done", "error", "over", "settled", "value")

    def __init__(self, do: Callable[[Told], None], tray: _Tray) -> None:
        self.do, self._tray = do, tray
        self.done: asyncio.Future[Any] = tray.loop.create_future()
        self.settled = False
        self.over: asyncio.Future[None] | None = None
        """For whoever was cancelled while it ran."""
        self.value: Any = None
        self.error: BaseException | None = None

    def told(self, value: Any, error: BaseException | None) -> None:  # noqa: ANN401
        """Note what came of it, for whoever waits."""
        self.value, self.error = value, error
        self._tray.put(self)


class _Tray:
    """Where threads put what they have done for one event loop, which is called once for many."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._done: deque[_Task] = deque()
        self._called = False

    def put(self, task: _Task) -> None:
        self._done.append(task)
        if self._called:
            return
        self._called = True
        try:
            self.loop.call_soon_threadsafe(self._empty)
        except RuntimeError:  # the loop has ended, and whoever waited with it
            self._done.clear()

    def _empty(self) -> None:
        # First: what is put here from now on calls again.
        self._called = False
        while self._done:
            _settle(self._done.popleft())


class Crew:
    """A few threads that come when there is something to do and go when there is not.

    There are more of them, up to a limit, while something waits although all are at work.
    """

    def __init__(self, most: int = MOST_THREADS) -> None:
        self._most, self._few = most, min(most, FEW_THREADS)
        self._tasks: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        self._trays: WeakKeyDictionary[asyncio.AbstractEventLoop, _Tray] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._threads = 0
        self._given = self._over = 0
        """How many tasks there have been, and how many of them are over."""
        self._looks: asyncio.AbstractEventLoop | None = None
        """The loop that is about to look whether something waits."""

    async def run(self, do: Callable[[], T]) -> T:
        """Return what it returns, or raise what it raises.

        Whoever is cancelled meanwhile hears of it once it is over: nothing goes on unseen.
        """
        return cast("T", await self.run_told(lambda told: told(do(), None)))

    async def run_told(self, do: Callable[[Told], None]) -> Any:  # noqa: ANN401 - what is told
        """Return what `do` tells, or raise it; until then no thread need be at work on it.

        What it raises instead counts as told. It is cancelled like what is `run`.
        """
        loop = asyncio.get_running_loop()
        tray = self._trays.get(loop)
        if tray is None:
            tray = self._trays.setdefault(loop, _Tray(loop))
        task = _Task(do, tray)
        with self._lock:
            self._tasks.put(task)
            self._given += 1
            under_way = self._given - self._over
            is_one_more = self._threads < min(self._few, under_way)
            self._threads += is_one_more
        if is_one_more:
            self._start()
        elif self._threads < min(self._most, under_way):
            self._look_soon(loop)
        try:
            return await task.done
        except asyncio.CancelledError:
            if not task.settled:
                task.over = loop.create_future()
                await task.over
            raise
        finally:
            with self._lock:
                self._over += 1

    def _look_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        looks = self._looks
        if looks is None or looks.is_closed():
            self._looks = loop
            loop.call_later(WAIT_S, self._look, loop, self._given)

    def _look(self, loop: asyncio.AbstractEventLoop, given: int) -> None:
        """Start a thread if something waits that was there at the last look."""
        self._looks = None
        with self._lock:
            waiting = self._tasks.qsize()
            is_one_more = self._given - waiting < given and self._threads < self._most
            self._threads += is_one_more
        if is_one_more:
            self._start()
        if waiting and self._threads < self._most:
            self._look_soon(loop)

    def _start(self) -> None:
        threading.Thread(target=self._work, name="converter-storage", daemon=True).start()

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
            try:
                task.do(task.told)
            except BaseException as error:  # noqa: BLE001 - whoever waits is told
                task.told(None, error)
            # Until there is something else to do it would keep what is done.
            del task


def _settle(task: _Task) -> None:
    task.settled = True
    if task.over is not None:
        if not task.over.done():
            task.over.set_result(None)
    elif task.done.done():
        return
    elif task.error is None:
        task.done.set_result(task.value)
    else:
        task.done.set_exception(task.error)
