"""One HTTP call: redirects are not followed, nothing is repeated, nothing is decompressed.

Connections are kept for a moment, so that a busy worker makes few of them. One that the other side
may have ended meanwhile would look like a failing gateway: it is kept for less time than servers
keep theirs, and looked at before it is used.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol
from urllib.parse import urlsplit
from weakref import finalize

from converter.gateway_answer import (
    HEAD_END,
    MAX_HEAD_BYTES,
    BadAnswer,
    Head,
    chunk_length,
    head_of,
)
from converter.gateway_connection import Connection, EarlyAnswer, Patience, connect, usual_tls

KEPT_S: Final = 1.0
"""How long a connection is kept; servers keep theirs for two seconds or more."""
MAX_KEPT: Final = 100
_MAX_NEWS: Final = 10
"""How often a gateway may say that an answer is to come."""
_MAX_LINE_BYTES: Final = 4096
_SENT: Final = {
    # What is not compressed cannot unfold into more than was read.
    "accept-encoding": "identity",
    "user-agent": "holdfast-converter",
}
_PORTS: Final = {"http": 80, "https": 443}


class Content(Protocol):
    """What is sent with a call."""

    async def read(self) -> bytes:
        """Return the next bytes; nothing at the end."""


class Answer:
    """What came back: the body is still on its way."""

    def __init__(self, head: Head, connection: Connection, rest: bytes, patience: Patience) -> None:
        self.status, self.headers = head.status, head.headers
        self.ended = head.length == 0
        """Whether all of it has been read, up to an end that is certain."""
        self._head, self._connection, self._patience = head, connection, patience
        self._received = bytearray(rest)
        self._left = head.length or 0

    async def read(self) -> bytes:
        """Return the next bytes of the body as they were sent; nothing at its end."""
        if self.ended:
            return b""
        if self._head.chunked:
            return await self._read_chunked()
        if self._head.length is None:
            return self._taken(len(self._received)) or await self._connection.receive(
                self._patience
            )
        part = await self._some(self._left)
        self._left -= len(part)
        self.ended = self._left == 0
        return part

    @property
    def is_clean(self) -> bool:
        """Whether nothing is left of it on the connection, which may be used again."""
        return self.ended and self._head.keeps and not self._received

    async def _read_chunked(self) -> bytes:
        if self._left == 0:
            self._left = chunk_length(await self._line())
            if self._left == 0:
                while await self._line():
                    pass  # headers after the body, which nobody asked for
                self.ended = True
                return b""
        part = await self._some(self._left)
        self._left -= len(part)
        if self._left == 0 and await self._line():
            raise BadAnswer("it has a chunk that is longer than it says")
        return part

    async def _line(self) -> bytes:
        while (end := self._received.find(b"\r\n")) < 0:
            if len(self._received) > _MAX_LINE_BYTES:
                raise BadAnswer("it has a line that does not end")
            await self._more()
        line = self._taken(end)
        del self._received[:2]
        return line

    async def _some(self, most: int) -> bytes:
        if not self._received:
            await self._more()
        return self._taken(most)

    def _taken(self, most: int) -> bytes:
        part = bytes(self._received[:most])
        del self._received[:most]
        return part

    async def _more(self) -> None:
        part = await self._connection.receive(self._patience)
        if not part:
            raise BadAnswer("it broke off")
        self._received += part


class Wire:
    """Makes calls to one address; any number of event loops may use it.

    Without `tls` the system says whom to trust.
    """

    def __init__(self, url: str, *, tls: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(url)
        self._host, self._netloc, self._path = parts.hostname or "", parts.netloc, parts.path
        self._port = parts.port or _PORTS[parts.scheme]
        self._tls = (tls or usual_tls()) if parts.scheme == "https" else None
        self._kept: deque[Connection] = deque()
        self._sweeps: asyncio.AbstractEventLoop | None = None
        finalize(self, _close_all, self._kept)

    def call(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str],
        patience: Patience,
        content: Content | bytes = b"",
    ) -> AbstractAsyncContextManager[Answer]:
        """Make one call, as long as a block lasts that gets its answer.

        Raises `TimeoutError`, another `OSError` or `BadAnswer`, and whatever taking the content
        raises.
        """
        return _Call(self, self._head(method, target, headers), content, patience)

    async def connected(self, patience: Patience) -> Connection:
        """Return a connection that was kept, or a new one."""
        return self._taken() or await connect(self._host, self._port, patience, tls=self._tls)

    def keep(self, connection: Connection) -> None:
        """Keep a connection that may be used again."""
        if len(self._kept) >= MAX_KEPT:
            connection.close()
            return
        connection.idle_since_s = time.monotonic()
        self._kept.append(connection)
        loop = asyncio.get_running_loop()
        if self._sweeps is not loop:
            self._sweeps = loop
            loop.call_later(KEPT_S, self._sweep)

    def close(self) -> None:
        """End the connections that are kept."""
        _close_all(self._kept)

    def _head(self, method: str, target: str, headers: Mapping[str, str]) -> bytes:
        sent = {"host": self._netloc, **_SENT, **headers}
        lines = [f"{method} {self._path}{target} HTTP/1.1", *map(": ".join, sent.items()), "", ""]
        head = "\r\n".join(lines)
        if not head.count("\r") == head.count("\n") == len(lines) - 1:
            raise ValueError("a header must not have more than one line")
        return head.encode("latin-1")

    def _taken(self) -> Connection | None:
        """Return a connection that was kept and is as good as new."""
        loop = asyncio.get_running_loop()
        for _ in range(len(self._kept)):
            try:
                connection = self._kept.pop()
            except IndexError:  # another loop was faster
                return None
            if not connection.may_be_used_by(loop):
                self._kept.appendleft(connection)
                continue
            if time.monotonic() - connection.idle_since_s < KEPT_S and connection.is_fresh():
                return connection
            connection.close()
        return None

    def _sweep(self) -> None:
        """Close what nobody has used for long, before the other side does."""
        self._sweeps = None
        now_s = time.monotonic()
        while self._kept and now_s - self._kept[0].idle_since_s >= KEPT_S:
            self._kept.popleft().close()
        if self._kept:
            self._sweeps = asyncio.get_running_loop()
            self._sweeps.call_later(KEPT_S, self._sweep)


class _Call:
    """One call; as a class, because a generator would cost more than what is done here."""

    __slots__ = ("_answer", "_connection", "_content", "_head", "_patience", "_taken", "_wire")

    def __init__(
        self, wire: Wire, head: bytes, content: Content | bytes, patience: Patience
    ) -> None:
        self._wire, self._head, self._content, self._patience = wire, head, content, patience
        self._connection: Connection | None = None
        self._answer: Answer | None = None
        self._taken = False

    async def __aenter__(self) -> Answer:
        self._connection = connection = await self._wire.connected(self._patience)
        try:
            self._taken = await _sent(connection, self._head, self._content, self._patience)
            self._answer = await _answer(connection, self._patience)
        except BaseException:
            connection.close()
            raise
        return self._answer

    async def __aexit__(self, *_: object) -> None:
        connection, answer = self._connection, self._answer
        if connection is None or answer is None:
            return
        if self._taken and answer.is_clean:
            self._wire.keep(connection)
        else:
            connection.close()


async def _sent(
    connection: Connection,
    head: bytes,
    content: Content | bytes,
    patience: Patience,
) -> bool:
    """Send a call; return whether the gateway took all of it."""
    try:
        # The head goes with what comes first, so that a small call is one packet.
        if isinstance(content, bytes):
            await connection.send(head + content, patience)
            return True
        await connection.send(head + await content.read(), patience)
        while part := await content.read():
            await connection.send(part, patience)
    except (EarlyAnswer, BrokenPipeError, ConnectionResetError):
        return False  # it may have said why before it stopped listening
    return True


async def _answer(connection: Connection, patience: Patience) -> Answer:
    received = b""
    for _ in range(_MAX_NEWS):
        while (end := received.find(HEAD_END)) < 0:
            if len(received) > MAX_HEAD_BYTES:
                raise BadAnswer(f"its head has more than {MAX_HEAD_BYTES} bytes")
            part = await connection.receive(patience, working=True)
            if not part:
                raise BadAnswer("the connection ended without one")
            received += part
        head, received = head_of(received[:end]), received[end + len(HEAD_END) :]
        if head.is_final:
            return Answer(head, connection, received, patience)
    raise BadAnswer("it is announced again and again")


def _close_all(kept: deque[Connection]) -> None:
    while kept:
        kept.pop().close()
