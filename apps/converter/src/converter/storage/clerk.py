"""Has small files kept by a process of their own, for the coroutines of one event loop.

Keeping a file takes five calls of the system. In a thread of a busy worker each of them ends with
a wait for the interpreter, and costs the worker more than the calls themselves.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import socket
import subprocess
import sys
from contextlib import suppress
from typing import Final
from weakref import finalize

from converter.storage.clerk_process import (
    ASKED,
    MESSAGE_BYTES,
    MOST_BYTES,
    READY,
    TAKEN,
    TOLD,
)

LOGGER: Final = logging.getLogger("converter")
END_S: Final = 5.0
"""How long it may take to finish what it was sent before."""
_PROGRAM: Final = "converter.storage.clerk_process"


class ClerkBusy(Exception):
    """It cannot take the file now, or ended before it was known to be kept: keep it otherwise."""


class Clerk:
    """One process, which ends with the event loop that it was started in, or with this one."""

    def __init__(self, folder: str) -> None:
        """Raises `OSError` where no process can be started."""
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[int]] = {}
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                process = subprocess.Popen(  # noqa: S603 - this very interpreter
                    # Without the folder the worker was started in, where anything may lie.
                    [sys.executable, "-P", "-m", _PROGRAM, str(theirs.fileno()), folder],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                )
        except BaseException:
            self._socket.close()
            raise
        self.pid = process.pid
        self.ready = False
        """Whether the process has begun to take files."""
        self.ended = False
        """Whether the process has ended by itself, and keeps nothing any more."""
        self._socket.setblocking(False)  # noqa: FBT003 - as the method has it
        self._end = finalize(self, _end, self._socket, process)
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._hear)

    @property
    def under_way(self) -> int:
        """How many files it was sent and has not told of."""
        return len(self._waiting)

    async def keep(self, name: str, content: bytes) -> bool:
        """Keep content under a name unless something is there; tell whether nothing was.

        Raises `OSError` as the system does, and `ClerkBusy`. Whoever is cancelled meanwhile hears
        of it once it is over.
        """
        if not self.ready or self.ended or len(content) > MOST_BYTES:
            raise ClerkBusy
        number = next(self._numbers)
        encoded = name.encode("ascii")
        try:
            self._socket.send(ASKED.pack(number, len(encoded)) + encoded + content)
        except OSError:
            raise ClerkBusy from None
        came = await self._outcome(number)
        if came > 0:
            raise OSError(came, os.strerror(came))
        return came != TAKEN

    async def _outcome(self, number: int) -> int:
        loop = asyncio.get_running_loop()
        told: asyncio.Future[int] = loop.create_future()
        self._waiting[number] = told
        try:
            return await told
        except asyncio.CancelledError:
            if number in self._waiting:
                self._waiting[number] = over = loop.create_future()
                with suppress(ClerkBusy):
                    await over
            raise

    def _hear(self) -> None:
        try:
            outcomes = self._socket.recv(MESSAGE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            outcomes = b""
        if outcomes == READY:
            self.ready = True
            return
        if not outcomes:
            self._give_up()
        for number, came in TOLD.iter_unpack(outcomes):
            told = self._waiting.pop(number)
            if not told.done():
                told.set_result(came)

    def _give_up(self) -> None:
        self.ended = True
        LOGGER.warning(
            "the process that keeps small files has ended; threads do so from now on",
            extra={"event": "clerk_ended"},
        )
        asyncio.get_running_loop().remove_reader(self._socket.fileno())
        self._end()
        waiting, self._waiting = self._waiting, {}
        for told in waiting.values():
            if not told.done():
                told.set_exception(ClerkBusy())


def _end(worker: socket.socket, process: subprocess.Popen[bytes]) -> None:
    worker.close()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
