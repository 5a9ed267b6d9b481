"""A gateway on loopback that does what a script says, call by call, and keeps a ledger of calls.

It speaks to sockets itself: a well-behaved HTTP server would refuse to misbehave as told.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, Self
from urllib.parse import parse_qs, urlsplit

LOOPBACK: Final = "127.0.0.1"
XML: Final = b'<?xml version="1.0" encoding="UTF-8"?>\n<document><page/></document>'
_RECEIVED_BYTES: Final = 64 * 1024
_PATIENCE_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What one call gets.

    `delay_s` passes before the first byte. `body` is sent piece by piece, `pause_s` between two of
    them, with `Content-Length` unless it is `chunked` or `endless`: then it is sent over and over.
    `cut` hangs up: "before" anything is answered, after the "headers", or in the middle of the
    "body". `raw` is sent instead of everything else. `reads_body=False` answers and stays silent
    without taking what is sent. `keeps` leaves the connection open for another call, and says so
    unless the headers do.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Iterable[bytes] = XML
    delay_s: float = 0.0
    pause_s: float = 0.0
    chunked: bool = False
    endless: bool = False
    cut: str | None = None
    raw: bytes | Iterable[bytes] | None = None
    reads_body: bool = True
    keeps: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it came in, in the order in which calls came in."""

    method: str
    path: str
    mapping: str | None
    headers: Mapping[str, str]
    body: bytes
    started_at_s: float
    """By the monotonic clock."""
    reply: Reply


class ScriptedGateway:
    """Answers conversions by the script, then as `usual` says; its health is scripted apart.

    A context manager: it serves until it ends. `down()` refuses connections, `up()` takes them
    again at the same address.
    """

    def __init__(
        self, *script: Reply, usual: Reply | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self._script, self._tls = list(script), tls
        self.usual = usual or Reply()
        self.health = Reply(body=b"{}")
        self.answer: Callable[[str | None, bytes], Reply] | None = None
        """Decides by mapping and body, when it is set and the script is over."""
        self._lock = threading.Lock()
        self._calls: list[Call] = []
        self._running = 0
        self.most_at_once = 0
        self.connections = 0
        """How many were made so far."""
        self.open_connections = 0
        self._changed = threading.Condition(self._lock)
        self._closing = threading.Event()
        self._listener: socket.socket | None = None
        # Bound and not listening: the port refuses connections, and nobody else can be given it.
        self._reserved = _bound(0)
        self._port: int = self._reserved.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http{'s' if self._tls else ''}://{LOOPBACK}:{self._port}"

    @property
    def every_call(self) -> list[Call]:
        """What was asked for so far, wherever."""
        with self._lock:
            return list(self._calls)

    @property
    def calls(self) -> list[Call]:
        """The conversions that were asked for so far."""
        with self._lock:
            return [call for call in self._calls if call.path == "/convert"]

    @property
    def probes(self) -> list[Call]:
        with self._lock:
            return [call for call in self._calls if call.path == "/health"]

    def then(self, *script: Reply) -> None:
        """Go on with these replies once those before them have been given."""
        with self._lock:
            self._script.extend(script)

    def wait_for_calls(self, number: int, *, timeout_s: float = _PATIENCE_S) -> list[Call]:
        """Return the conversions asked for once there are so many of them."""

        def enough() -> bool:
            return sum(call.path == "/convert" for call in self._calls) >= number

        with self._changed:
            assert self._changed.wait_for(enough, timeout_s), f"only {len(self._calls)} calls came"
        return self.calls

    def down(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def up(self) -> None:
        if self._listener is None:
            self._listener = _bound(self._port)
            self._listener.listen(128)
            threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def __enter__(self) -> Self:
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self.down()
        self._reserved.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(_PATIENCE_S)
        with self._lock:
            self.connections += 1
            self.open_connections += 1
        with suppress(OSError), connection:
            if self._tls is None:
                self._serve_calls(connection)
            else:
                with self._tls.wrap_socket(connection, server_side=True) as secured:
                    self._serve_calls(secured)
        with self._lock:
            self.open_connections -= 1

    def _serve_calls(self, connection: socket.socket) -> None:
        while (reply := self._take(connection)) is not None and reply.keeps:
            pass

    def _take(self, connection: socket.socket) -> Reply | None:
        """Answer one call; None when none comes."""
        started_at_s = time.monotonic()
        received = b""
        while b"\r\n\r\n" not in received:
            part = connection.recv(_RECEIVED_BYTES)
            if not part:
                return None
            received += part
        head, _, body = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        parts = urlsplit(target)
        mapping = parse_qs(parts.query).get("mapping", [None])[0]
        with self._changed:
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
        try:
            reply = self._next(parts.path)
            if reply is None or reply.reads_body:
                body = _rest_of(connection, body, int(headers.get("content-length", "0")))
            if reply is None:
                reply = self.answer(mapping, body) if self.answer else self.usual
            with self._changed:
                self._calls.append(
                    Call(method, parts.path, mapping, headers, body, started_at_s, reply)
                )
                self._changed.notify_all()
            self._reply(connection, reply)
            return reply
        finally:
            with self._changed:
                self._running -= 1

    def _next(self, path: str) -> Reply | None:
        if path == "/health":
            return self.health
        with self._lock:
            if self._script:
                return self._script.pop(0)
        return None if self.answer else self.usual

    def _reply(self, connection: socket.socket, reply: Reply) -> None:
        self._closing.wait(reply.delay_s)
        if reply.cut == "before" or self._closing.is_set():
            return
        if reply.raw is not None:
            self._send_pieces(connection, _pieces(reply.raw), reply)
            return
        pieces = _pieces(reply.body)
        if not (reply.chunked or reply.endless):
            pieces = list(pieces)
        connection.sendall(_head_of(reply, pieces))
        if reply.cut == "headers":
            return
        if reply.cut == "body":
            whole = b"".join(pieces)
            connection.sendall(whole[: len(whole) // 2])
            return
        framed = (_chunk(piece) for piece in pieces) if reply.chunked else pieces
        if reply.endless:
            repeated = [_chunk(piece) for piece in _pieces(reply.body)]
            while not self._closing.is_set():
                self._send_pieces(connection, repeated, replace(reply, pause_s=0.0))
                self._closing.wait(reply.pause_s)
        self._send_pieces(connection, framed, reply)
        if reply.chunked:
            connection.sendall(b"0\r\n\r\n")
        if not reply.reads_body:
            # Stay without reading, as a server does that has made up its mind.
            self._closing.wait(_PATIENCE_S)

    def _send_pieces(
        self, connection: socket.socket, pieces: Iterable[bytes], reply: Reply
    ) -> None:
        for number, piece in enumerate(pieces):
            if number and reply.pause_s:
                self._closing.wait(reply.pause_s)
            if self._closing.is_set():
                return
            connection.sendall(piece)


def _pieces(body: bytes | Iterable[bytes]) -> Iterable[bytes]:
    return [body] if isinstance(body, bytes) else body


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece)


def _head_of(reply: Reply, pieces: Iterable[bytes]) -> bytes:
    said = "keep-alive" if reply.keeps else "close"
    headers = {"Content-Type": "application/xml", "Connection": said, **reply.headers}
    if reply.chunked or reply.endless:
        headers["Transfer-Encoding"] = "chunked"
    else:
        headers.setdefault("Content-Length", str(sum(map(len, pieces))))
    lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{k}: {v}" for k, v in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _rest_of(connection: socket.socket, begun: bytes, length: int) -> bytes:
    body = bytearray(begun)
    while len(body) < length:
        part = connection.recv(_RECEIVED_BYTES)
        if not part:
            break
        body += part
    return bytes(body)


def _bound(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((LOOPBACK, port))
    return made
