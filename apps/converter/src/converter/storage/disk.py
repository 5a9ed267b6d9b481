"""Files in a folder.

A file is written where nobody sees it, synced, then given its name, and the folder is synced after
that. The calls of the system are made as they are: each lets other threads go on, and a path object
costs as much as some of them.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from converter.storage.anonymous_files import (
    HiddenFile,
    NamelessFile,
    Unnamed,
    has_nameless_files,
    sweep,
)
from converter.storage.contract import CHUNK_BYTES, Draft, Reading, Storage, missing
from converter.storage.errors import BadName, StorageError, StorageFailed, StorageFull
from converter.storage.folder_sync import FolderSync
from converter.storage.local_disk import is_local
from converter.storage.names import checked_name
from converter.storage.shared_sync import SharedSync

DEFAULT_MIN_FREE_BYTES: Final = 64 * 1024 * 1024
MAX_SMALL_BYTES: Final = 64 * 1024
"""How much an event loop writes itself, to memory of the system."""
_ROOM_S: Final = 0.1
"""How long it is believed that there is room, before it is looked at again."""
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
# Opening a pipe that was put there must not wait for its other end.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class DiskStorage(Storage):
    """Keeps files in one folder, which is made if it is not there.

    Writing is refused while the file system has less than `min_free_bytes` free. With
    `nameless=False` drafts are hidden files also where there are files without a name.
    """

    def __init__(
        self,
        folder: Path,
        *,
        label: str,
        min_free_bytes: int = DEFAULT_MIN_FREE_BYTES,
        nameless: bool = True,
    ) -> None:
        self.label = label
        self._min_free_bytes = min_free_bytes
        self._room_until_s = 0.0
        with _RaisedAsOurs(label, "make the folder"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            resolved = folder.resolve(strict=True)
        self._folder = str(resolved)
        self._names = FolderSync(resolved)
        self._syncs = SharedSync()
        self._nameless = nameless and has_nameless_files(self._folder)
        self.is_local = is_local(self._folder)

    def draft(self, name: str) -> Draft:
        """Begin to write; raises `StorageFull` at once where there is too little room."""
        path = self._path(name)
        self._check_room_lately()
        with _RaisedAsOurs(self.label, "begin the file"):
            file = NamelessFile(self._folder) if self._nameless else HiddenFile(path)
        return _DiskDraft(path, file, label=self.label, names=self._names)

    async def put_small_if_absent(self, name: str, content: bytes) -> int | None:
        """Keep a few bytes under the name unless something is there, for a coroutine.

        None where a file has to be hidden, is long, or may lie elsewhere: calls might block then.
        """
        path = self._path(name)
        if not (self._nameless and self.is_local and len(content) <= MAX_SMALL_BYTES):
            return None
        self._check_room_lately()
        with _RaisedAsOurs(self.label, "write the file"):
            file = NamelessFile(self._folder)
            try:
                _write_all(file.handle, content)
                await self._syncs.sync(file.handle)
                made = file.take(path)
            finally:
                file.discard()
            if made:
                await self._syncs.sync(self._folder)
        return len(content) if made else self.size(name)

    @contextmanager
    def open(self, name: str) -> Iterator[Reading]:
        """Open what is kept under the name, or raise `StorageMissing`."""
        handle = self._opened(name)
        try:
            yield _DiskReading(handle, size=self._size_of_opened(handle), label=self.label)
        finally:
            os.close(handle)

    def read_whole(self, name: str, *, most_bytes: int) -> bytes | None:
        """Return all that is kept under the name, or None when there is more of it."""
        handle = self._opened(name)
        try:
            size = self._size_of_opened(handle)
            if size > most_bytes:
                return None
            # One more would show that it grows; what is short is read as it is.
            read = os.read(handle, size + 1)
        except OSError as error:
            raise _ours(error, label=self.label, doing="read the file") from None
        finally:
            os.close(handle)
        return read if len(read) == size else None

    def size_if_there(self, name: str) -> int | None:
        """How many bytes are kept under the name; None when there is nothing."""
        size = self._size(name)
        if size is None:
            self._check_folder()
        return size

    def size_or_room(self, name: str) -> int | None:
        """How many bytes are kept under the name; None when there is nothing, but room for it."""
        size = self._size(name)
        if size is None:
            self._check_room_lately()
        return size

    def remove(self, name: str) -> bool:
        """Remove what is kept under the name, and tell whether there was anything."""
        if not self.exists(name):
            return False
        with _RaisedAsOurs(self.label, "remove the file"), suppress(FileNotFoundError):
            os.unlink(self._path(name))  # noqa: PTH108 - as the module says
        return True

    def written_before(self, instant: datetime) -> Iterator[str]:
        """Yield the names of what was written before the instant, for retention."""
        limit_s = instant.timestamp()
        with _RaisedAsOurs(self.label, "list the folder"), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(BadName, FileNotFoundError):
                    checked_name(entry.name, label=self.label)
                    if (
                        entry.is_file(follow_symlinks=False)
                        and entry.stat(follow_symlinks=False).st_mtime < limit_s
                    ):
                        yield entry.name

    def sweep(self) -> int:
        """Remove what processes that were killed left unfinished; returns how many files."""
        with _RaisedAsOurs(self.label, "list the folder"):
            return sweep(self._folder)

    def check_room(self) -> None:
        """Raise `StorageFull` when nothing more should be written."""
        with _RaisedAsOurs(self.label, "look for free space"):
            try:
                found = os.statvfs(self._folder)
            except FileNotFoundError:
                raise self._folder_gone() from None
        free_bytes = found.f_bavail * found.f_frsize
        if free_bytes < self._min_free_bytes:
            raise StorageFull(
                self.label,
                f"{free_bytes} bytes are free and {self._min_free_bytes} have to be; "
                "free some space on the disk",
            )
        self._room_until_s = time.monotonic() + _ROOM_S

    def _check_room_lately(self) -> None:
        if time.monotonic() > self._room_until_s:
            self.check_room()

    def _opened(self, name: str) -> int:
        path = self._path(name)
        with _RaisedAsOurs(self.label, "open the file"):
            try:
                return os.open(path, _READ)
            except FileNotFoundError:
                self._check_folder()
                raise missing(self.label) from None

    def _size_of_opened(self, handle: int) -> int:
        with _RaisedAsOurs(self.label, "open the file"):
            found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise BadName(self.label, "what bears the name is not a file")
        return found.st_size

    def _size(self, name: str) -> int | None:
        path = self._path(name)
        with _RaisedAsOurs(self.label, "look for the file"):
            try:
                found = os.lstat(path)
            except FileNotFoundError:
                return None
        if not stat.S_ISREG(found.st_mode):
            raise BadName(self.label, "what bears the name is not a file")
        return found.st_size

    def _check_folder(self) -> None:
        """Raise where not the file is gone but all of them: a disk that is not mounted, say."""
        if not os.path.isdir(self._folder):  # noqa: PTH112 - as the module says
            raise self._folder_gone()

    def _folder_gone(self) -> StorageFailed:
        return StorageFailed(self.label, "the folder is gone; check that its disk is mounted")

    def _path(self, name: str) -> str:
        """Return where the name lies: in the folder, whose own links were followed at the start.

        Its users refuse a link: it may appear at any moment.
        """
        return f"{self._folder}/{checked_name(name, label=self.label)}"


class _DiskReading:
    def __init__(self, handle: int, *, size: int, label: str) -> None:
        self._handle, self.size, self._label = handle, size, label

    def __iter__(self) -> Iterator[bytes]:
        while True:
            with _RaisedAsOurs(self._label, "read the file"):
                chunk = os.read(self._handle, CHUNK_BYTES)
            if not chunk:
                return
            yield chunk


class _DiskDraft(Draft):
    def __init__(self, path: str, file: Unnamed, *, label: str, names: FolderSync) -> None:
        super().__init__()
        self._path, self._label, self._names = path, label, names
        self._file: Unnamed | None = file

    def _append(self, chunk: bytes) -> None:
        handle = self._open_file().handle
        with _RaisedAsOurs(self._label, "write the file"):
            _write_all(handle, chunk)

    def commit(self, *, if_absent: bool = False) -> bool:
        file = self._open_file()
        with _RaisedAsOurs(self._label, "write the file"):
            os.fsync(file.handle)
            made = file.take(self._path)
            if not made and not if_absent:
                self._replace(file)
                made = True
            self.discard()
            if made:
                self._names.sync()
        return made

    def discard(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.discard()

    def _open_file(self) -> Unnamed:
        if self._file is None:
            raise StorageFailed(self._label, "the file was finished or given up before")
        return self._file

    def _replace(self, file: Unnamed) -> None:
        if stat.S_ISLNK(os.lstat(self._path).st_mode):
            raise BadName(self._label, "the name leads elsewhere by a link")
        file.replace(self._path)


def _write_all(handle: int, content: bytes) -> None:
    unwritten = memoryview(content)
    while unwritten:
        unwritten = unwritten[os.write(handle, unwritten) :]


class _RaisedAsOurs:
    """A block in which errors of the system become ours; as a class, because there are many."""

    __slots__ = ("_doing", "_label")

    def __init__(self, label: str, doing: str) -> None:
        self._label, self._doing = label, doing

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise _ours(error, label=self._label, doing=self._doing) from None


def _ours(error: OSError, *, label: str, doing: str) -> StorageError:
    """What an error of the system means; its path stays out of it."""
    if error.errno in _NO_ROOM:
        return StorageFull(label, "the disk is full; free some space on it")
    if error.errno == errno.ELOOP:
        return BadName(label, "the name leads elsewhere by a link")
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return StorageFailed(label, f"could not {doing}: {reason}")
