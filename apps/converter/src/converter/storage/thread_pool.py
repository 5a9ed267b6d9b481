"""Threads in which coroutines have storage do what blocks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

LOCAL_THREADS: Final = 4
"""Enough for a disk of this machine: each system call of a thread is a hand-over of the
interpreter, and with many threads those cost more than the calls."""
REMOTE_THREADS: Final = 32
"""For storage that is far away, where threads mostly wait."""


class ThreadPool:
    """Runs blocking calls for the coroutines of any number of event loops."""

    def __init__(self, max_threads: int) -> None:
        self._threads = ThreadPoolExecutor(max_threads, thread_name_prefix="converter-storage")

    async def run(self, call: Callable[[], T]) -> T:
        """Return what the call returns, or raise what it raises.

        A cancelled caller goes on only once the call is over, so that nothing is written behind
        its back.
        """
        running = asyncio.wrap_future(self._threads.submit(call))
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError:
            await asyncio.wait([running])
            running.exception()  # else asyncio logs that nobody has asked for it
            raise
        return running.result()
