"""Threads in which calls of a coroutine wait for the database."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Final, TypeVar

THREADS: Final = 16
MAX_TRANSACTIONS: Final = 1_000
"""More than the connections that a process has to one database."""
_T = TypeVar("_T")


class CallThreads:
    """Threads, made when they are first needed."""

    def __init__(self, most: int = THREADS) -> None:
        self._calls = _Pool(most, "holdfast-call")
        self._in_transactions = _Pool(MAX_TRANSACTIONS, "holdfast-transaction")

    async def run(self, call: Callable[[], _T]) -> _T:
        """Return what `call` returns; the loop goes on meanwhile.

        A call cannot be stopped half way. Where the task is cancelled it ends first, so that
        nothing of it goes on behind the caller's back, least of all in their transaction.
        """
        return await self._calls.run(call)

    async def run_in_transaction(self, call: Callable[[], _T]) -> _T:
        """Do the same for a call that is part of the caller's own transaction.

        It may have to wait for another of their transactions to end, and that one for a call of
        its own: so it finds a thread however many others wait.
        """
        return await self._in_transactions.run(call)

    def close(self) -> None:
        """End the threads that wait for calls."""
        self._calls.close()
        self._in_transactions.close()


class _Pool:
    """A pool of threads that is made when it is first needed."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._making = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    async def run(self, call: Callable[[], _T]) -> _T:
        pool = self._pool or self._made()
        context = copy_context()
        running = asyncio.get_running_loop().run_in_executor(pool, context.run, call)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await _ended(running)
            raise

    def close(self) -> None:
        with self._making:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)

    def _made(self) -> ThreadPoolExecutor:
        with self._making:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._most, self._name)
            return self._pool


async def _ended(running: asyncio.Future[_T]) -> None:
    """Return once it has ended, however often the task is cancelled meanwhile."""
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError:
            continue
    if not running.cancelled():
        running.exception()
