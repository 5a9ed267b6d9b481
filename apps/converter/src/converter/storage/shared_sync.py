"""Syncs for coroutines: a thread makes those that have come together, and tells of them at once.

In a busy worker a thread waits for the interpreter after each system call, and costs the event loop
more than the call does. So the loop makes the calls that do not wait for a disk, and threads these.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeAlias

from converter.storage.anonymous_files import sync_folder

MAX_THREADS: Final = 4
"""How many files are on their way to the disk at a time."""
MAX_TOGETHER: Final = 16
"""How many a thread takes at a time. While more wait, which is when the disk is slow, there is
another thread."""
APART_S: Final = 0.004
"""How long a thread lets requests gather before it takes more. The first does not wait."""

Target: TypeAlias = int | str
"""An open file, or the path of a folder whose names are to be safe."""


class SharedSync:
    """Has files and folders synced for the coroutines of any number of event loops."""

    def __init__(self, *, sync: Callable[[Target], None] | None = None) -> None:
        """`sync` has the system write one target to the disk."""
        self._sync = sync or _sync
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="converter-sync")
        self._waiting: deque[_Request] = deque()
        self._lock = threading.Lock()
        self._running = 0

    async def sync(self, target: Target) -> None:
        """Return once a sync that began after this call is over, or raise its `OSError`.

        A cancelled caller goes on only once it is over as well.
        """
        request = _Request(target)
        with self._lock:
            self._waiting.append(request)
            starts = not self._running or (
                len(self._waiting) > MAX_TOGETHER and self._running < MAX_THREADS
            )
            self._running += starts
        if starts:
            self._threads.submit(self._serve)
        await request.outcome()

    def _serve(self) -> None:
        """Sync what waits until nothing does."""
        while True:
            with self._lock:
                together = [
                    self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_TOGETHER))
                ]
                if not together:
                    self._running -= 1
                    return
            errors = {target: self._error_of(target) for target in {r.target for r in together}}
            _tell(together, errors)
            time.sleep(APART_S)

    def _error_of(self, target: Target) -> OSError | None:
        try:
            self._sync(target)
        except OSError as error:
            return error
        return None


class _Request:
    """What a coroutine waits for."""

    __slots__ = ("_over", "is_settled", "loop", "target")

    def __init__(self, target: Target) -> None:
        self.target = target
        self.loop = asyncio.get_running_loop()
        self.is_settled = False
        self._over: asyncio.Future[None] = self.loop.create_future()

    async def outcome(self) -> None:
        try:
            await self._over
        except asyncio.CancelledError:
            if not self.is_settled:
                self._over = self.loop.create_future()
                with suppress(OSError):
                    await self._over
            raise

    def settle(self, error: OSError | None) -> None:
        self.is_settled = True
        if self._over.done():
            return
        if error is None:
            self._over.set_result(None)
        else:
            self._over.set_exception(OSError(error.errno, error.strerror))


def _tell(together: list[_Request], errors: dict[Target, OSError | None]) -> None:
    for loop in {request.loop for request in together}:
        of_loop = [request for request in together if request.loop is loop]
        with suppress(RuntimeError):  # the loop has ended, and who waited with it
            loop.call_soon_threadsafe(_settle, of_loop, errors)


def _settle(requests: list[_Request], errors: dict[Target, OSError | None]) -> None:
    for request in requests:
        request.settle(errors[request.target])


def _sync(target: Target) -> None:
    if isinstance(target, int):
        os.fsync(target)
    else:
        sync_folder(target)
