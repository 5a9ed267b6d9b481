"""Has small files kept by a process of their own, for the coroutines of one event loop.

Keeping a file takes four calls of the system. In a thread of a busy worker each of them ends with
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
from collections.abc import Iterable
from contextlib import suppress
from typing import Final
from weakref import finalize

from converter.storage.clerk_process import (
    ASKED,
    MESSAGE_BYTES,
    MOST_BYTES,
    MOST_FILES,
    READY,
    TAKEN,
    TOLD,
)

LOGGER: Final = logging.getLogger("converter")
END_S: Final = 5.0
"""How long it may take to finish what it was sent before."""
_PROGRAM: Final = "from converter.storage.clerk_process import main; main()"


class ClerkBusy(Exception):
    """It cannot take the file now, or ended before it was known to be kept: keep it otherwise."""


class Clerk:
    """One process with its children; it ends with the event loop it was started in, or this one."""

    def __init__(self, folder: str) -> None:
        """Raises `OSError` where no process can be started."""
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[int]] = {}
        self._unsent: list[tuple[int, bytes]] = []
        """What is sent at the next turn of the loop, with all that comes until then."""
        self._asks, asked = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._told, tells = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        handles = [asked.fileno(), tells.fileno()]
        try:
            with asked, tells:
                process = subprocess.Popen(  # noqa: S603 - this very interpreter
                    # Without the folder the worker was started in, where anything may lie.
                    [sys.executable, "-P", "-c", _PROGRAM, *map(str, handles), folder],
                    pass_fds=handles,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                )
        except BaseException:
            self._asks.close()
            self._told.close()
            raise
        self.pid = process.pid
        self.ready = False
        """Whether the process has begun to take files."""
        self.ended = False
        """Whether the process has ended by itself, and keeps nothing any more."""
        for each in (self._asks, self._told):
            each.setblocking(False)  # noqa: FBT003 - as the method has it
        self._end = finalize(self, _end, self._asks, self._told, process)
        asyncio.get_running_loop().add_reader(self._told.fileno(), self._hear)

    @property
    def under_way(self) -> int:
        """How many files it was sent and has not told of."""
        return len(self._waiting)

    async def keep(self, name: str, content: bytes) -> bool:
        """Keep content under a name unless something is there; tell whether nothing was.

        Raises `OSError` as the system does, and `ClerkBusy`. Whoever is cancelled meanwhile hears
        of it once it is over.
        """
        if not self.ready or self.ended or not 0 < len(content) <= MOST_BYTES:
            raise ClerkBusy
        number = next(self._numbers)
        encoded = name.encode("ascii")
        asked = ASKED.pack(number, len(encoded), len(content)) + encoded + content
        loop = asyncio.get_running_loop()
        if not self._unsent:
            loop.call_soon(self._send)
        self._unsent.append((number, asked))
        came = await self._outcome(number, loop)
        if came > 0:
            raise OSError(came, os.strerror(came))
        return came != TAKEN

    async def _outcome(self, number: int, loop: asyncio.AbstractEventLoop) -> int:
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

    def _send(self) -> None:
        unsent, self._unsent = self._unsent, []
        while unsent and not self.ended:
            together = [unsent.pop(0)]
            size = len(together[0][1])
            while (
                unsent
                and len(together) < MOST_FILES
                and (size := size + len(unsent[0][1])) <= MESSAGE_BYTES
            ):
                together.append(unsent.pop(0))
            try:
                self._asks.send(b"".join(asked for _, asked in together))
            except OSError:
                self._refuse(number for number, _ in together)

    def _refuse(self, numbers: Iterable[int]) -> None:
        """Have files kept otherwise."""
        for number in numbers:
            told = self._waiting.pop(number)
            if not told.done():
                told.set_exception(ClerkBusy())

    def _hear(self) -> None:
        try:
            outcomes = self._told.recv(MESSAGE_BYTES)
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
        asyncio.get_running_loop().remove_reader(self._told.fileno())
        self._end()
        self._refuse(list(self._waiting))


def _end(asks: socket.socket, told: socket.socket, process: subprocess.Popen[bytes]) -> None:
    asks.close()
    told.close()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
