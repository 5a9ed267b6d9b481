"""Storage as coroutines use it: what may block is done by a thread pool.

A small file takes one call in a thread to read and one to write, however many chunks it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self

from converter.storage.contract import CHUNK_BYTES, Draft, Storage
from converter.storage.thread_pool import ThreadPool

GATHERED_BYTES: Final = 256 * 1024
"""How much of a draft is kept in memory before it is written."""


class AsyncReading:
    """Something kept, open for reading once; `open` has read the first part of it."""

    def __init__(
        self,
        threads: ThreadPool,
        *,
        size: int,
        first: bytes,
        chunks: Iterator[bytes] | None = None,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.size = size
        """How many bytes there are in all."""
        self._threads, self._first, self._close = threads, first, close
        self._chunks = chunks or iter(())
        self._unread = size - len(first)
        if self._unread <= 0:
            close()

    @classmethod
    def open(cls, storage: Storage, name: str, *, threads: ThreadPool) -> Self:
        """Open what is kept under the name, or raise `StorageMissing`; this blocks."""
        whole = storage.read_whole(name, most_bytes=CHUNK_BYTES)
        if whole is not None:
            return cls(threads, size=len(whole), first=whole)
        with ExitStack() as opened:
            reading = opened.enter_context(storage.open(name))
            chunks = iter(reading)
            first = next(chunks, b"")
            close = opened.pop_all().close
            return cls(threads, size=reading.size, first=first, chunks=chunks, close=close)

    @property
    def whole(self) -> bytes | None:
        """All of it, before anything is read, where `open` has read all of it."""
        return self._first if len(self._first) == self.size else None

    async def read(self) -> bytes:
        """Return the next bytes; nothing at the end."""
        if self._first:
            first, self._first = self._first, b""
            return first
        if self._unread <= 0:
            return b""
        chunk = await self._threads.run(lambda: next(self._chunks, b""))
        self._unread -= len(chunk)
        return chunk

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._unread > 0 or error is not None:
            await self._threads.run(self._close)


class AsyncDraft:
    """Something that is being written and cannot be seen yet; see `Draft`."""

    def __init__(self, storage: Storage, name: str, *, threads: ThreadPool) -> None:
        self._storage, self._name, self._threads = storage, name, threads
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._draft: Draft | None = None

    async def write(self, chunk: bytes) -> None:
        """Append some bytes."""
        self._gathered.append(chunk)
        self._gathered_bytes += len(chunk)
        if self._gathered_bytes >= GATHERED_BYTES:
            await self._threads.run(self._spill)

    async def commit(self) -> int:
        """Make it visible under its name, unless something is; return the size of what is there."""
        if self._draft is None:
            content = b"".join(self._gathered)
            size = await self._storage.put_small_if_absent(self._name, content)
            if size is not None:
                return size
        return await self._threads.run(self._commit)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._draft is not None:
            await self._threads.run(self._draft.discard)

    def _spill(self) -> Draft:
        if self._draft is None:
            self._draft = self._storage.draft(self._name)
        for chunk in self._gathered:
            self._draft.write(chunk)
        self._gathered.clear()
        self._gathered_bytes = 0
        return self._draft

    def _commit(self) -> int:
        draft = self._spill()
        try:
            made = draft.commit(if_absent=True)
        finally:
            draft.discard()
            self._draft = None
        return draft.size if made else self._storage.size(self._name)
