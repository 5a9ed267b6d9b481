"""Storage as coroutines use it: whatever may block is done in the threads of a crew.

What is small goes in one step each way, so that most files cost two; what is near is read at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self

from converter.storage.contract import Draft, Storage
from converter.storage.crew import Crew

GATHERED_BYTES: Final = 256 * 1024
"""How much of a draft is kept in memory before it is written."""


class AwaitedReading:
    """Something kept, open for reading once; `open` has read the first part of it."""

    def __init__(self, crew: Crew, opened: ExitStack, size: int, chunks: Iterator[bytes]) -> None:
        self.size = size
        """How many bytes there are in all."""
        self._crew, self._opened, self._chunks = crew, opened, chunks
        self._first = next(chunks, b"")
        self._unread = size - len(self._first)
        if self._unread <= 0:
            opened.close()

    @classmethod
    def open(cls, storage: Storage, name: str, *, crew: Crew) -> Self:
        """Open what is kept under the name, or raise `StorageMissing`; this blocks."""
        with ExitStack() as opened:
            reading = opened.enter_context(storage.open(name))
            return cls(crew, opened.pop_all(), reading.size, iter(reading))

    async def read(self) -> bytes:
        """Return the next bytes; nothing at the end."""
        if self._first:
            first, self._first = self._first, b""
            return first
        if self._unread <= 0:
            return b""
        chunk = await self._crew.run(lambda: next(self._chunks, b""))
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
            await self._crew.run(self._opened.close)


class AwaitedDraft:
    """Something that is being written and cannot be seen yet; see `Draft`."""

    def __init__(self, storage: Storage, name: str, *, crew: Crew) -> None:
        self._storage, self._name, self._crew = storage, name, crew
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._draft: Draft | None = None

    async def write(self, chunk: bytes) -> None:
        """Append some bytes."""
        self._gathered.append(chunk)
        self._gathered_bytes += len(chunk)
        if self._gathered_bytes >= GATHERED_BYTES:
            await self._crew.run(self._spill)

    async def commit(self) -> int:
        """Make it visible under its name, unless something is; return the size of what is there."""
        return await self._crew.run(self._keep)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._draft is not None:
            await self._crew.run(self._draft.discard)

    def _spill(self) -> Draft:
        if self._draft is None:
            self._draft = self._storage.draft(self._name)
        for chunk in self._gathered:
            self._draft.write(chunk)
        self._gathered.clear()
        self._gathered_bytes = 0
        return self._draft

    def _keep(self) -> int:
        try:
            draft = self._spill()
            if draft.commit(if_absent=True):
                return draft.size
        finally:
            if self._draft is not None:
                self._draft.discard()
                self._draft = None
        return self._storage.size(self._name)
