"""The process that keeps small files for a worker, with its children.

They write, sync and name what the worker sends; it has the names safe on disk as well, and tells of
many at once. Children rather than threads: to one of several threads every call of the system is a
hand-over, which costs more than the call. All of them end with the worker, after everything that it
sent; when one of them is killed, they end as well. Its sockets are read and written as files are:
what sockets need in Python takes longer to import than all the rest.
"""

from __future__ import annotations

import errno
import os
import signal
import struct
import sys
import time
from contextlib import suppress
from typing import Final, NoReturn

from converter.storage.unnamed import NamelessFile, sync_folder

ASKED: Final = struct.Struct("<QHI")
"""The number of a file, the length of its name and its own, before the name and the content. A
message has one file after the other."""
TOLD: Final = struct.Struct("<Qi")
"""The number of a file and what came of it: `MADE`, `TAKEN` or the number of an error."""
READY: Final = b"ready"
"""Told once, before anything else."""
MADE: Final = 0
TAKEN: Final = -1
MOST_BYTES: Final = 64 * 1024
"""How long a file may be."""
MESSAGE_BYTES: Final = MOST_BYTES + 1024
MOST_FILES: Final = 4
"""How many files may be in a message: they reach the disk one after the other."""
KEEPERS: Final = 4
"""How many files are on their way to the disk at a time."""
APART_S: Final = 0.004
"""How long after a sync of the folder the next begins at the soonest: it costs as much as a file,
for one as for many."""
_TOLD_BYTES: Final = TOLD.size * 256


def serve(worker: int, kept: int, folder: str) -> None:
    """Tell the worker of files until all keepers have ended; `kept` is where they tell of them."""
    _tell(worker, READY)
    while told := os.read(kept, _TOLD_BYTES):
        outcomes = list(TOLD.iter_unpack(told))
        if any(came == MADE for _, came in outcomes):
            error = _error_of_sync(folder)
            outcomes = [(number, came or error) for number, came in outcomes]
        _tell(worker, b"".join(TOLD.pack(*outcome) for outcome in outcomes))
        time.sleep(APART_S)


def _error_of_sync(folder: str) -> int:
    try:
        sync_folder(folder)
    except OSError as error:
        return error.errno or errno.EIO
    return MADE


def _tell(worker: int, said: bytes) -> None:
    with suppress(OSError):  # the worker has ended; what it sent is kept all the same
        os.write(worker, said)


def keep_files(worker: int, kept: int, folder: str) -> None:
    """Keep what the worker sends until it has ended."""
    while message := os.read(worker, MESSAGE_BYTES):
        end = 0
        while end < len(message):
            number, name_length, length = ASKED.unpack_from(message, end)
            name = end + ASKED.size
            start = name + name_length
            end = start + length
            path = f"{folder}/{message[name:start].decode('ascii')}"
            os.write(kept, TOLD.pack(number, _came_of(folder, path, message[start:end])))


def _came_of(folder: str, path: str, content: bytes) -> int:
    """Write a file, sync it and give it its name; return what came of it."""
    try:
        file = NamelessFile(folder, synced=True)
        try:
            unwritten = memoryview(content)
            while unwritten:
                unwritten = unwritten[os.write(file.handle, unwritten) :]
            return MADE if file.take(path) else TAKEN
        finally:
            file.discard()
    except OSError as error:
        return error.errno or errno.EIO


def main() -> None:
    """Serve a worker: the arguments are the sockets it asks and is told by, and a folder."""
    # Whoever stops the worker may stop all its processes: these have to finish what they have.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, _end_with_keeper)
    asked, told, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    kept, keeps = os.pipe()
    for _ in range(KEEPERS):
        if os.fork() == 0:
            # Else nobody would notice that the other processes have ended.
            os.close(told)
            os.close(kept)
            _run_keeper(asked, keeps, folder)
    os.close(asked)
    os.close(keeps)
    serve(told, kept, folder)


def _run_keeper(worker: int, kept: int, folder: str) -> NoReturn:
    """Keep files, and end this process with them: what it was forked from must not go on in it."""
    status = os.EX_SOFTWARE
    try:
        with suppress(BrokenPipeError):  # nobody is left to be told
            keep_files(worker, kept, folder)
        status = os.EX_OK
    except Exception:  # noqa: BLE001 - told where errors of a process are
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def _end_with_keeper(*_: object) -> None:
    """End when a keeper was killed: the worker would wait for the file that it had."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[1]:
                os._exit(os.EX_SOFTWARE)
