"""Threads that answer requests, so that the loop never waits for the store.

For a small request the change of threads is a good part of what it costs. A request that waits for
nothing but the store changes once: a thread runs all of its coroutine.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MOST: Final = 16
"""How many requests may be with the store at a time; the others wait for their turn."""
IDLE_S: Final = 10.0
"""How long a thread waits for something to do before it ends."""
_HERE: Final = threading.local()


def run_through(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns that has nothing to wait for in a loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise RuntimeError(f"{coroutine!r} waits for a loop, and runs in a thread without one")


class Threads:
    """As many threads as there is something to do for, up to `most`."""

    def __init__(self, *, most: int = MOST, idle_s: float = IDLE_S) -> None:
        self._most = most
        self._idle_s = idle_s
        self._calls: SimpleQueue[_Call[Any]] = SimpleQueue()
        self._guard = threading.Lock()
        self._running = 0
        self._free = 0
        """How many threads there are beyond the calls that wait or run; below zero, calls wait."""

    @property
    def running(self) -> int:
        """How many threads there are."""
        return self._running

    async def call(self, function: Callable[P, T], *args: P.args, **given: P.kwargs) -> T:
        """Return what a function returns, called in one of the threads: in this one if it is one.

        Who is cancelled waits until the function has ended: it may use what is closed next.
        """
        if getattr(_HERE, "answers", False):
            return function(*args, **given)
        call = _Call(lambda: function(*args, **given))
        self._queue(call)
        try:
            return await call.answer
        except asyncio.CancelledError:
            await call.ended()
            raise

    def _queue(self, call: _Call[Any]) -> None:
        with self._guard:
            self._free -= 1
            one_more = self._free < 0 and self._running < self._most
            self._running += one_more
            self._free += one_more
        self._calls.put(call)
        if one_more:
            threading.Thread(target=self._serve, name="holdfast-request", daemon=True).start()

    def _serve(self) -> None:
        _HERE.answers = True
        while (call := self._next()) is not None:
            tell = call.run()
            with self._guard:
                self._free += 1
            tell()
            del call, tell  # else what they hold lives until the next one comes

    def _next(self) -> _Call[Any] | None:
        """Return the next call, None when nothing came for a while and this thread may end."""
        while True:
            try:
                return self._calls.get(timeout=self._idle_s)
            except Empty:
                with self._guard:
                    # Else a call is on its way, and it was counted on this thread.
                    if self._free > 0:
                        self._free -= 1
                        self._running -= 1
                        return None


class _Call(Generic[T]):
    """Something to do, and where its end is awaited."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[T] = self._loop.create_future()
        self._function = function
        self._context = copy_context()
        self._over = False
        self._ended: asyncio.Future[None] | None = None

    async def ended(self) -> None:
        """Wait for the end of a call whose answer nobody awaits any more."""
        if not self._over:
            self._ended = self._loop.create_future()
            await self._ended

    def run(self) -> Callable[[], None]:
        """Do it, in a thread; return what tells that it is done."""
        try:
            result = self._context.run(self._function)
        except StopIteration as error:
            return partial(self._tell, self._raise, RuntimeError(f"it raised {error!r}"))
        except BaseException as error:  # noqa: BLE001 - raised where it is awaited
            return partial(self._tell, self._raise, error)
        return partial(self._tell, self._return, result)

    def _tell(self, how: Callable[[Any], None], what: object) -> None:
        try:
            self._loop.call_soon_threadsafe(how, what)
        except RuntimeError:
            # The loop has ended, and with it what waited.
            return

    def _return(self, result: T) -> None:
        if not self.answer.done():
            self.answer.set_result(result)
        self._end()

    def _raise(self, error: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
        self._end()

    def _end(self) -> None:
        self._over = True
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)


OF_REQUESTS: Final = Threads()
in_thread: Final = OF_REQUESTS.call
