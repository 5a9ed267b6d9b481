"""The process that keeps small files for a worker: it writes, syncs and names what it is sent.

It ends with the worker, after everything it was sent.
"""

from __future__ import annotations

import errno
import os
import queue
import signal
import socket
import struct
import sys
import threading
from pathlib import Path
from typing import Final

from converter.storage.folder_sync import sync_folder
from converter.storage.unnamed import NamelessFile

ASKED: Final = struct.Struct("<QH")
"""The number of a file and the length of its name, before the name and the content."""
TOLD: Final = struct.Struct("<Qi")
"""The number of a file and what came of it: `MADE`, `TAKEN` or the number of an error."""
READY: Final = b"ready"
"""Told once, before anything else."""
MADE: Final = 0
TAKEN: Final = -1
MOST_BYTES: Final = 64 * 1024
"""How long a file may be."""
MESSAGE_BYTES: Final = MOST_BYTES + 1024
THREADS: Final = 8
"""How many files are on their way to the disk at a time."""


class Desk:
    """Where a worker's files come in and are told of."""

    def __init__(self, worker: socket.socket, folder: str) -> None:
        self._worker, self._folder = worker, folder
        self._named: queue.SimpleQueue[tuple[int, int] | None] = queue.SimpleQueue()

    def serve(self) -> None:
        """Keep files until the worker has ended."""
        self._tell(READY)
        for _ in range(THREADS):
            threading.Thread(target=self._keep_files).start()
        at_work = THREADS
        while at_work:
            together = [self._named.get()]
            while not self._named.empty():
                together.append(self._named.get())
            outcomes = [outcome for outcome in together if outcome is not None]
            at_work -= len(together) - len(outcomes)
            if any(came == MADE for _, came in outcomes):
                error = self._error_of_sync()
                outcomes = [(number, came or error) for number, came in outcomes]
            if outcomes:
                self._tell(b"".join(TOLD.pack(*outcome) for outcome in outcomes))

    def _keep_files(self) -> None:
        while message := self._next():
            number, length = ASKED.unpack_from(message)
            content = message[ASKED.size :]
            path = f"{self._folder}/{content[:length].decode('ascii')}"
            self._named.put((number, _kept(self._folder, path, content[length:])))
        self._named.put(None)

    def _next(self) -> bytes:
        """Return what the worker sent next; nothing once it has ended."""
        while True:
            try:
                return self._worker.recv(MESSAGE_BYTES)
            except ConnectionResetError:
                continue  # told once, of a worker that ended unaware of what came of its files

    def _error_of_sync(self) -> int:
        try:
            sync_folder(Path(self._folder))
        except OSError as error:
            return error.errno or errno.EIO
        return MADE

    def _tell(self, outcomes: bytes) -> None:
        try:
            self._worker.send(outcomes)
        except OSError:
            return  # the worker has ended; what it sent is kept all the same


def _kept(folder: str, path: str, content: bytes) -> int:
    """Write a file, sync it and give it its name; return what came of it."""
    try:
        file = NamelessFile(folder)
        try:
            unwritten = memoryview(content)
            while unwritten:
                unwritten = unwritten[os.write(file.handle, unwritten) :]
            os.fsync(file.handle)
            return MADE if file.take(path) else TAKEN
        finally:
            file.discard()
    except OSError as error:
        return error.errno or errno.EIO


def main() -> None:
    """Serve the worker at the other end of the socket that the first argument names."""
    # Whoever stops the worker may stop all its processes: this one has to finish what it has.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as worker:
        Desk(worker, sys.argv[2]).serve()


if __name__ == "__main__":
    main()
