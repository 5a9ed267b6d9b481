"""Files that nobody sees until they get their name.

Linux has files without a name, which are gone with their writer. Where the file system has
none, a file is written under a hidden name and locked meanwhile: one without a lock was left by a
process that died, whichever and whenever. A name is safe once its folder is synced.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, Protocol

_PART: Final = ".part"
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})
_HIDDEN: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NAMELESS: Final = os.O_WRONLY | os.O_CLOEXEC | getattr(os, "O_TMPFILE", 0)
_LOOK: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OWNER_ONLY: Final = 0o600


class Unnamed(Protocol):
    """A file that is open for writing and has no name that anybody looks for.

    Every method may raise `OSError`, but for `discard`.
    """

    handle: int

    def take(self, path: str) -> bool:
        """Give it the name; False where something has it already."""

    def replace(self, path: str) -> None:
        """Give it the name, in place of what has it."""

    def discard(self) -> None:
        """Let go of it: it stays only under a name that it got."""


class NamelessFile:
    """A file without a name."""

    def __init__(self, folder: str) -> None:
        self.handle = os.open(folder, _NAMELESS, _OWNER_ONLY)

    def take(self, path: str) -> bool:
        """Give it the name; False where something has it already."""
        try:
            self._link(path)
        except FileExistsError:
            return False
        return True

    def replace(self, path: str) -> None:
        """Give it the name, in place of what has it."""
        if self.take(path):
            return
        # A name can be taken over only by another name. Locked, it is not swept meanwhile.
        fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        hidden = _hidden_name(path)
        self._link(hidden)
        try:
            os.rename(hidden, path)  # noqa: PTH104 - a path object costs more than the call
        except OSError:
            with suppress(OSError):
                os.unlink(hidden)  # noqa: PTH108
            raise

    def discard(self) -> None:
        """Let go of it: it stays only under a name that it got."""
        with suppress(OSError):
            os.close(self.handle)

    def _link(self, path: str) -> None:
        # Python has the system follow a link only where it is given a folder to begin at, which
        # a path from the root does not use.
        os.link(f"/proc/self/fd/{self.handle}", path, src_dir_fd=self.handle, follow_symlinks=True)


class HiddenFile:
    """A file under a hidden name beside its own, locked."""

    def __init__(self, path: str) -> None:
        self._hidden, self.handle = _locked(path)

    def take(self, path: str) -> bool:
        """Give it the name; False where something has it already."""
        try:
            # A link is refused where the name is taken; a rename would replace what is there.
            os.link(self._hidden, path, follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # A file system without links: only one holder of a job's lease writes its result.
            if os.path.lexists(path):
                return False
            self.replace(path)
        return True

    def replace(self, path: str) -> None:
        """Give it the name, in place of what has it."""
        os.rename(self._hidden, path)  # noqa: PTH104

    def discard(self) -> None:
        """Let go of it: it stays only under a name that it got."""
        # Before the lock goes: what cannot be removed now is found by a sweep.
        with suppress(OSError):
            os.unlink(self._hidden)  # noqa: PTH108
        with suppress(OSError):
            os.close(self.handle)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Have the system write the names of a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def has_nameless_files(folder: str) -> bool:
    """Return whether files in a folder can be written without a name, and named then."""
    if not hasattr(os, "O_TMPFILE"):
        return False
    hidden = _hidden_name(f"{folder}/probe")
    try:
        file = NamelessFile(folder)
    except OSError:
        return False
    try:
        return file.take(hidden)
    except OSError:
        return False
    finally:
        with suppress(OSError):
            os.unlink(hidden)  # noqa: PTH108
        file.discard()


def sweep(folder: str) -> int:
    """Remove what processes left that died; returns how many files."""
    return sum(map(_removed_if_orphaned, _hidden_files(folder)))


def _hidden_files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries]
    return (f"{folder}/{name}" for name in names if name.startswith(".") and name.endswith(_PART))


def _hidden_name(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.{os.urandom(16).hex()}{_PART}"


def _locked(path: str) -> tuple[str, int]:
    """Return a new hidden file beside the path, open and locked."""
    while True:
        hidden = _hidden_name(path)
        handle = os.open(hidden, _HIDDEN, _OWNER_ONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_nlink:
                return hidden, handle
            os.close(handle)  # a sweep came in between and removed it
        except BlockingIOError:
            os.close(handle)  # a sweep is about to remove it
        except BaseException:
            os.close(handle)
            with suppress(FileNotFoundError):
                os.unlink(hidden)  # noqa: PTH108
            raise


def _removed_if_orphaned(hidden: str) -> bool:
    try:
        handle = os.open(hidden, _LOOK)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(hidden)  # noqa: PTH108
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(handle)
