"""Files in a folder.

A file is written under a hidden name, synced, then given its own name, and the folder is synced
after that. The hidden file is locked while somebody writes it: one without a lock was left by a
process that died, whoever it was and whenever.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import uuid4

from converter.storage.contract import CHUNK_BYTES, Draft, Reading, Storage, missing
from converter.storage.errors import BadName, StorageError, StorageFailed, StorageFull
from converter.storage.folder_sync import FolderSync
from converter.storage.names import checked_name

DEFAULT_MIN_FREE_BYTES: Final = 64 * 1024 * 1024
_PART: Final = ".part"
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a pipe that somebody put there must not wait for its other end.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OWNER_ONLY: Final = 0o600


class DiskStorage(Storage):
    """Keeps files in one folder, which is made if it is not there.

    Writing is refused while the file system has less than `min_free_bytes` free.
    """

    def __init__(
        self, folder: Path, *, label: str, min_free_bytes: int = DEFAULT_MIN_FREE_BYTES
    ) -> None:
        self.label = label
        self._min_free_bytes = min_free_bytes
        with _raised_as_ours(label, "make the folder"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder = folder.resolve(strict=True)
        self._names = FolderSync(self._folder)

    def draft(self, name: str) -> Draft:
        """Begin to write; raises `StorageFull` at once where there is too little room."""
        path = self._path(name)
        if path.is_symlink():
            raise BadName(self.label, "the name leads elsewhere by a link")
        self.check_room()
        return _DiskDraft(path, label=self.label, names=self._names)

    @contextmanager
    def open(self, name: str) -> Iterator[Reading]:
        """Open what is kept under the name, or raise `StorageMissing`."""
        path = self._path(name)
        with _raised_as_ours(self.label, "open the file"):
            try:
                handle = os.open(path, _READ)
            except FileNotFoundError:
                self._check_folder()
                raise missing(self.label) from None
        try:
            with _raised_as_ours(self.label, "open the file"):
                found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise BadName(self.label, "what bears the name is not a file")
            yield _DiskReading(handle, size=found.st_size, label=self.label)
        finally:
            os.close(handle)

    def size_if_there(self, name: str) -> int | None:
        """How many bytes are kept under the name; None when there is nothing."""
        path = self._path(name)
        with _raised_as_ours(self.label, "look for the file"):
            try:
                found = path.lstat()
            except FileNotFoundError:
                self._check_folder()
                return None
        if not stat.S_ISREG(found.st_mode):
            raise BadName(self.label, "what bears the name is not a file")
        return found.st_size

    def remove(self, name: str) -> bool:
        """Remove what is kept under the name, and tell whether there was anything."""
        if not self.exists(name):
            return False
        with _raised_as_ours(self.label, "remove the file"):
            self._path(name).unlink(missing_ok=True)
        return True

    def written_before(self, instant: datetime) -> Iterator[str]:
        """Yield the names of what was written before the instant, for retention."""
        limit_s = instant.timestamp()
        with _raised_as_ours(self.label, "list the folder"), os.scandir(self._folder) as entries:
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
        with _raised_as_ours(self.label, "list the folder"):
            parts = [path for path in self._folder.iterdir() if _is_part(path)]
        return sum(map(_removed_if_orphaned, parts))

    def check_room(self) -> None:
        """Raise `StorageFull` when nothing more should be written."""
        with _raised_as_ours(self.label, "look for free space"):
            found = os.statvfs(self._folder)
        free_bytes = found.f_bavail * found.f_frsize
        if free_bytes < self._min_free_bytes:
            raise StorageFull(
                self.label,
                f"{free_bytes} bytes are free and {self._min_free_bytes} have to be; "
                "free some space on the disk",
            )

    def _check_folder(self) -> None:
        """Raise where not the file is gone but all of them: a disk that is not mounted, say."""
        if not self._folder.is_dir():
            raise StorageFailed(self.label, "the folder is gone; check that its disk is mounted")

    def _path(self, name: str) -> Path:
        """Return where the name lies: in the folder, whose own links were followed at the start.

        Whoever uses it refuses a link: it may appear at any moment.
        """
        return self._folder / checked_name(name, label=self.label)


class _DiskReading:
    def __init__(self, handle: int, *, size: int, label: str) -> None:
        self._handle, self.size, self._label = handle, size, label

    def __iter__(self) -> Iterator[bytes]:
        while True:
            with _raised_as_ours(self._label, "read the file"):
                chunk = os.read(self._handle, CHUNK_BYTES)
            if not chunk:
                return
            yield chunk


class _DiskDraft(Draft):
    def __init__(self, path: Path, *, label: str, names: FolderSync) -> None:
        super().__init__()
        self._path, self._label, self._names = path, label, names
        self._handle: int | None = None
        with _raised_as_ours(label, "begin the file"):
            self._part, self._handle = _locked_part(path)

    def _append(self, chunk: bytes) -> None:
        handle = self._open_handle()
        unwritten = memoryview(chunk)
        with _raised_as_ours(self._label, "write the file"):
            while unwritten:
                unwritten = unwritten[os.write(handle, unwritten) :]

    def commit(self, *, if_absent: bool = False) -> bool:
        handle = self._open_handle()
        with _raised_as_ours(self._label, "write the file"):
            os.fsync(handle)
            made = self._named_if_absent() if if_absent else self._named()
            if made:
                self._names.sync()
        self.discard()
        return made

    def discard(self) -> None:
        handle, self._handle = self._handle, None
        if handle is None:
            return
        # Before the lock goes: what cannot be removed now is found by a sweep.
        with suppress(OSError):
            self._part.unlink(missing_ok=True)
        with suppress(OSError):
            os.close(handle)

    def _open_handle(self) -> int:
        if self._handle is None:
            raise StorageFailed(self._label, "the file was finished or given up before")
        return self._handle

    def _named(self) -> bool:
        self._part.replace(self._path)
        return True

    def _named_if_absent(self) -> bool:
        try:
            # A link is refused where the name is taken; a rename would replace what is there.
            os.link(self._part, self._path, follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # A file system without links: only one holder of a job's lease writes its result.
            if self._path.exists():
                return False
            self._part.replace(self._path)
        return True


def _locked_part(path: Path) -> tuple[Path, int]:
    """Return a new hidden file beside the path, open and locked."""
    while True:
        part = path.with_name(f".{path.name}.{uuid4().hex}{_PART}")
        handle = os.open(part, _NEW, _OWNER_ONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_nlink:
                return part, handle
            os.close(handle)  # a sweep came in between and removed it
        except BlockingIOError:
            os.close(handle)  # a sweep is about to remove it
        except BaseException:
            os.close(handle)
            part.unlink(missing_ok=True)
            raise


def _is_part(path: Path) -> bool:
    return path.name.startswith(".") and path.name.endswith(_PART)


def _removed_if_orphaned(part: Path) -> bool:
    try:
        handle = os.open(part, _READ)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        part.unlink()
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(handle)


@contextmanager
def _raised_as_ours(label: str, doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _ours(error, label=label, doing=doing) from None


def _ours(error: OSError, *, label: str, doing: str) -> StorageError:
    """What an error of the system means; its path stays out of it."""
    if error.errno in _NO_ROOM:
        return StorageFull(label, "the disk is full; free some space on it")
    if error.errno == errno.ELOOP:
        return BadName(label, "the name leads elsewhere by a link")
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return StorageFailed(label, f"could not {doing}: {reason}")
