"""What the converter asks of storage.

What is written becomes visible whole and safe on disk, or not at all: also when the process is
killed while it writes. Only the errors of `converter.storage.errors` are raised.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self

from converter.storage.errors import StorageMissing

CHUNK_BYTES: Final = 64 * 1024


class Stored(NamedTuple):
    """What is kept under a name."""

    size: int
    sha256: str
    made: bool = True
    """Whether this call wrote it; false for what was there before and was kept."""


class Reading(Protocol):
    """Something kept, open for reading once."""

    @property
    def size(self) -> int:
        """How many bytes there are in all."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes in parts, in order."""


class Draft(ABC):
    """Something that is being written and cannot be seen yet.

    It is a context manager; whatever was not committed when it ends is gone. Many threads may
    write drafts at the same time, but one draft belongs to one thread at a time.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.size = 0
        """How many bytes have been written so far."""

    @property
    def sha256(self) -> str:
        """The digest of the bytes written so far, in hexadecimal."""
        return self._hash.hexdigest()

    def write(self, chunk: bytes) -> None:
        """Append some bytes."""
        self._append(chunk)
        self._hash.update(chunk)
        self.size += len(chunk)

    @abstractmethod
    def _append(self, chunk: bytes) -> None: ...

    @abstractmethod
    def commit(self, *, if_absent: bool = False) -> bool:
        """Make it visible under its name, whole and on disk.

        It takes the place of what is there; with `if_absent` it does not, and False is returned.
        """

    @abstractmethod
    def discard(self) -> None:
        """Remove what was written and not committed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.discard()


class Storage(ABC):
    """A place for files under names that the server made."""

    label: str
    """What people call it, such as "uploads"; errors begin with it."""
    is_local: bool = False
    """Whether it lies on this machine, so that looking at something or reading a part of it costs
    less than handing that to a thread: an event loop may do so itself."""

    @abstractmethod
    def draft(self, name: str) -> Draft:
        """Begin to write; raises `StorageFull` at once where there is too little room."""

    @abstractmethod
    def open(self, name: str) -> AbstractContextManager[Reading]:
        """Open what is kept under the name, or raise `StorageMissing`."""

    def read_whole(self, name: str, *, most_bytes: int) -> bytes | None:  # noqa: ARG002 - for who can
        """Return all that is kept under the name, or raise `StorageMissing`.

        None when there is more of it, or where it costs as much as to `open` it.
        """
        return None

    @abstractmethod
    def size_if_there(self, name: str) -> int | None:
        """How many bytes are kept under the name; None when there is nothing."""

    @abstractmethod
    def remove(self, name: str) -> bool:
        """Remove what is kept under the name, and tell whether there was anything."""

    @abstractmethod
    def written_before(self, instant: datetime) -> Iterator[str]:
        """Yield the names of what was written before the instant, for retention."""

    @abstractmethod
    def sweep(self) -> int:
        """Remove what processes that were killed left unfinished; returns how many files."""

    @abstractmethod
    def check_room(self) -> None:
        """Raise `StorageFull` when nothing more should be written."""

    def size_or_room(self, name: str) -> int | None:
        """How many bytes are kept under the name; None when there is nothing, but room for it.

        Raises `StorageFull` where neither is.
        """
        size = self.size_if_there(name)
        if size is None:
            self.check_room()
        return size

    def exists(self, name: str) -> bool:
        """Return whether anything is kept under the name."""
        return self.size_if_there(name) is not None

    def those_there(self, names: Collection[str]) -> set[str]:
        """Return those of the names that something is kept under."""
        return {name for name in names if self.exists(name)}

    def size(self, name: str) -> int:
        """How many bytes are kept under the name; raises `StorageMissing`."""
        size = self.size_if_there(name)
        if size is None:
            raise missing(self.label)
        return size

    def put(self, name: str, chunks: Iterable[bytes]) -> Stored:
        """Keep these bytes under the name, in place of what is there.

        Whatever taking the next chunk raises is raised here, and nothing is kept.
        """
        with self.draft(name) as draft:
            for chunk in chunks:
                draft.write(chunk)
            draft.commit()
            return Stored(draft.size, draft.sha256)

    def put_if_absent(self, name: str, chunks: Iterable[bytes]) -> Stored:
        """Keep these bytes under the name unless something is there, which then is described.

        Where something is there from the start no chunk is taken.
        """
        if not self.exists(name):
            with self.draft(name) as draft:
                for chunk in chunks:
                    draft.write(chunk)
                if draft.commit(if_absent=True):
                    return Stored(draft.size, draft.sha256)
        return self.describe(name)

    async def put_small_if_absent(self, name: str, content: bytes) -> int | None:  # noqa: ARG002 - for who can
        """Keep a few bytes under the name unless something is there, for a coroutine.

        Returns the size of what is there then; None where writing a draft is as good.
        """
        return None

    def describe(self, name: str) -> Stored:
        """Read what is kept under the name and return its size and digest."""
        digest, size = hashlib.sha256(), 0
        with self.open(name) as reading:
            for chunk in reading:
                digest.update(chunk)
                size += len(chunk)
        return Stored(size, digest.hexdigest(), made=False)


def missing(label: str) -> StorageMissing:
    """Return the error for a name that nothing is kept under."""
    return StorageMissing(label, "the file is gone, or was never written")
