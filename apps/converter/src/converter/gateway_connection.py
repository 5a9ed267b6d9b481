"""A connection to the gateway, for coroutines, within limits that the other side cannot stretch.

It can be kept from one call to the next. The time for a whole call counts from its start, whatever
trickles in meanwhile.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from converter.gateway_resolver import resolved

READ_BYTES: Final = 64 * 1024
_LATER: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


@dataclass(slots=True)
class Patience:
    """How long a call may take: in all, and without a byte in either direction.

    Until the answer begins the gateway is at work, and only the time for the whole call counts.
    """

    total_s: float
    idle_s: float
    _ends_at_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._ends_at_s = time.monotonic() + self.total_s

    def left_s(self, *, working: bool = False) -> float:
        """Return how long to wait for the next step; `TimeoutError` when no time is left."""
        left_s = self._ends_at_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(f"the call took longer than {self.total_s:g} s")
        return left_s if working else min(left_s, self.idle_s)

    def end_within(self, seconds: float) -> None:
        """Let the call end no later than so many seconds from now."""
        self._ends_at_s = min(self._ends_at_s, time.monotonic() + seconds)


class EarlyAnswer(Exception):
    """The gateway answered before everything was sent, so it does not want the rest."""


class Connection:
    """One connection, with one user at a time. Raises `OSError`, of which a timeout is.

    An event loop that has waited for bytes here goes on listening, because it mostly will again
    for the next call. Nobody else may then use it until that loop has ended.
    """

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._secured = isinstance(connected, ssl.SSLSocket)
        self._listens: asyncio.AbstractEventLoop | None = None
        self._awaited: asyncio.Future[bytes] | None = None
        self.idle_since_s = time.monotonic()

    async def receive(self, patience: Patience, *, working: bool = False) -> bytes:
        """Return what comes next; nothing once the other side has ended."""
        # While it works nothing can have come, but for what TLS has read already.
        looks = self._secured or not working
        while True:
            left_s = patience.left_s(working=working)
            if looks:
                try:
                    return self._socket.recv(READ_BYTES)
                except _LATER as want:
                    if self._secured:
                        await self._ready(want, left_s, reading=True)
                        continue
            return await self._next(left_s)

    async def send(self, content: bytes, patience: Patience) -> None:
        """Send all of it, or raise `EarlyAnswer`."""
        unsent = memoryview(content)
        while unsent:
            left_s = patience.left_s()
            try:
                unsent = unsent[self._socket.send(unsent) :]
            except _LATER as want:
                if await self._ready(want, left_s, reading=False):
                    raise EarlyAnswer from None

    def may_be_used_by(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Return whether no other event loop listens here."""
        return self._listens is None or self._listens is loop or self._listens.is_closed()

    def is_fresh(self) -> bool:
        """Return whether nothing has come while nobody used it, not even its end."""
        if self._secured:
            return self._says_nothing()
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """End it; nothing is sent or read any more."""
        listens = self._listens
        if listens is not None and not listens.is_closed() and listens is not _running_loop():
            # It would take the next connection of the same number for this one.
            with suppress(RuntimeError):  # it has ended since
                listens.call_soon_threadsafe(self.close)
                return
        self._stop_listening()
        self._socket.close()

    def _says_nothing(self) -> bool:
        # Tickets for later sessions may arrive after an answer; they are read away here.
        try:
            self._socket.recv(1)
        except (ssl.SSLWantReadError, BlockingIOError):
            return True
        except OSError:
            return False
        return False

    async def _next(self, left_s: float) -> bytes:
        """Return the bytes that come within so many seconds."""
        loop = asyncio.get_running_loop()
        if self._listens is not loop:
            loop.add_reader(self._socket.fileno(), self._take)
            self._listens = loop
        awaited: asyncio.Future[bytes] = loop.create_future()
        self._awaited = awaited
        timer = loop.call_later(left_s, _give_up, awaited, left_s)
        try:
            return await awaited
        finally:
            timer.cancel()
            self._awaited = None

    def _take(self) -> None:
        """Hand what has come to the one who waits for it."""
        awaited = self._awaited
        if awaited is None or awaited.done():
            # It lies there until it is looked at, and must not be reported again and again.
            self._stop_listening()
            return
        try:
            awaited.set_result(self._socket.recv(READ_BYTES))
        except BlockingIOError:
            return
        except OSError as error:
            awaited.set_exception(error)

    def _stop_listening(self) -> None:
        listens, self._listens = self._listens, None
        if listens is not None and not listens.is_closed():
            listens.remove_reader(self._socket.fileno())

    async def _ready(self, want: OSError, left_s: float, *, reading: bool) -> bool:
        """Wait until a step can go on; return whether something came while one wants to send.

        Under TLS bytes may arrive that are none of an answer, and only what is wanted is waited
        for.
        """
        if isinstance(want, ssl.SSLWantReadError):
            reads, writes = True, False
        elif isinstance(want, ssl.SSLWantWriteError):
            reads, writes = False, True
        else:
            reads, writes = True, not reading
        self._stop_listening()
        came = await _awaited(self._socket.fileno(), left_s, reads=reads, writes=writes)
        return came and not reading and not self._secured


async def connect(
    host: str, port: int, patience: Patience, *, tls: ssl.SSLContext | None
) -> Connection:
    """Return a connection to the first address of a host that accepts one.

    The addresses that are looked at are those that are connected to: a name that stands for
    another address the next moment gains nothing.
    """
    found = await _in_time(resolved(host, port), patience, "the gateway's name was not resolved")
    refused: OSError = socket.gaierror(socket.EAI_NONAME, "the name stands for no address")
    for family, address in found:
        plain = socket.socket(family, socket.SOCK_STREAM)
        try:
            plain.settimeout(0)
            await _begun(plain, address, patience)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            plain.close()
            refused = error
        except BaseException:
            plain.close()
            raise
        else:
            return Connection(plain) if tls is None else await _secured(plain, host, patience, tls)
    raise refused


@cache
def usual_tls() -> ssl.SSLContext:
    """Return what the system says of whom to trust."""
    return ssl.create_default_context()


async def _begun(plain: socket.socket, address: Any, patience: Patience) -> None:  # noqa: ANN401 - as sockets take it
    try:
        plain.connect(address)
    except BlockingIOError:
        await _awaited(plain.fileno(), patience.left_s(), reads=False, writes=True)
        code = plain.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, "the gateway did not take the connection") from None


async def _secured(
    plain: socket.socket, host: str, patience: Patience, tls: ssl.SSLContext
) -> Connection:
    secured: socket.socket = plain
    try:
        wrapped = tls.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
        secured = wrapped
        while True:
            left_s = patience.left_s()
            try:
                wrapped.do_handshake()
            except ssl.SSLWantReadError:
                await _awaited(wrapped.fileno(), left_s, reads=True, writes=False)
            except ssl.SSLWantWriteError:
                await _awaited(wrapped.fileno(), left_s, reads=False, writes=True)
            else:
                return Connection(wrapped)
    except BaseException:
        secured.close()
        raise


async def _in_time(found: asyncio.Future[Any], patience: Patience, what: str) -> Any:  # noqa: ANN401 - whatever was asked for
    done, _ = await asyncio.wait([found], timeout=patience.left_s())
    if not done:
        found.cancel()
        raise TimeoutError(f"{what} in time")
    return found.result()


async def _awaited(handle: int, left_s: float, *, reads: bool, writes: bool) -> bool:
    """Wait until bytes have come, or more can be sent; return whether bytes have come."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[bool] = loop.create_future()
    timer = loop.call_later(left_s, _give_up, ready, left_s)
    if reads:
        loop.add_reader(handle, _tell, ready, True)  # noqa: FBT003 - the result of the future
    if writes:
        loop.add_writer(handle, _tell, ready, False)  # noqa: FBT003
    try:
        return await ready
    finally:
        timer.cancel()
        if reads:
            loop.remove_reader(handle)
        if writes:
            loop.remove_writer(handle)


def _tell(ready: asyncio.Future[bool], came: bool) -> None:  # noqa: FBT001 - called by the loop
    if not ready.done():
        ready.set_result(came)


def _give_up(ready: asyncio.Future[Any], waited_s: float) -> None:
    if not ready.done():
        ready.set_exception(TimeoutError(f"nothing went on for {waited_s:g} s"))


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
