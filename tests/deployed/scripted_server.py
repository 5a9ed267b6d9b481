"""An HTTP server on loopback that does what a script says, call by call, and keeps a ledger.

It speaks to sockets itself: a well-behaved server would refuse to misbehave as told.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self
from urllib.parse import parse_qs

LOOPBACK: Final = "127.0.0.1"
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
    content_type: str = "text/plain"
    body: bytes | Iterable[bytes] = b""
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
    """A call as it came in; header names are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    started_at_s: float
    """By the monotonic clock."""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

    def parameter(self, name: str) -> str | None:
        """What the query says of it first."""
        return parse_qs(self.query).get(name, [None])[0]

    @property
    def document(self) -> Any:
        """The JSON that was sent."""
        return json.loads(self.body)


class ScriptedServer:
    """Answers by the script, then as `answer` says of a call; without one, 404.

    A context manager: it serves until it ends. `down()` refuses connections, `up()` takes them
    again at the same address. While `hold()` lasts, calls come in and are not answered.
    """

    def __init__(
        self,
        *script: Reply,
        answer: Callable[[Call], Reply] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._script, self._tls = list(script), tls
        self.answer = answer
        self._changed = threading.Condition()
        self._calls: list[Call] = []
        self._running = 0
        self.most_at_once = 0
        self.connections = 0
        """How many were made so far."""
        self.open_connections = 0
        self._closing = threading.Event()
        self._free = threading.Event()
        self._free.set()
        self._held_method: str | None = None
        self._listener: socket.socket | None = None
        # Bound and not listening: the port refuses connections, and nobody else can be given it.
        self._reserved = _bound(0)
        self._port: int = self._reserved.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http{'s' if self._tls else ''}://{LOOPBACK}:{self._port}"

    @property
    def calls(self) -> list[Call]:
        """What was asked for so far, in the order in which it came in."""
        with self._changed:
            return list(self._calls)

    def then(self, *script: Reply) -> None:
        """Go on with these replies once those before them have been given."""
        with self._changed:
            self._script.extend(script)

    def wait_for_calls(self, number: int, *, timeout_s: float = _PATIENCE_S) -> list[Call]:
        """Return the calls once there are so many of them."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self._calls) >= number, timeout_s)
            assert came, f"only {len(self._calls)} calls came"
            return list(self._calls)

    def hold(self, method: str | None = None) -> None:
        """Take calls, or those of one method, and answer none of them until `release`."""
        self._held_method = method
        self._free.clear()

    def release(self) -> None:
        self._free.set()

    def down(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def up(self) -> None:
        if self._listener is None:
            self._listener = _bound(self._port)
            self._listener.listen(256)
            threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def __enter__(self) -> Self:
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._free.set()
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
        with self._changed:
            self.connections += 1
            self.open_connections += 1
        with suppress(OSError), connection:
            if self._tls is None:
                self._serve_calls(connection)
            else:
                with self._tls.wrap_socket(connection, server_side=True) as secured:
                    self._serve_calls(secured)
        with self._changed:
            self.open_connections -= 1

    def _serve_calls(self, connection: socket.socket) -> None:
        while (reply := self._take(connection)) is not None and reply.keeps:
            pass

    def _take(self, connection: socket.socket) -> Reply | None:
        """Answer one call; None when none comes."""
        started_at_s = time.monotonic()
        begun = _begun(connection, started_at_s)
        if begun is None:
            return None
        with self._changed:
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
            scripted = self.scripted(begun)
        try:
            call = begun
            if scripted is None or scripted.reads_body:
                call = replace(begun, body=_rest_of(connection, begun))
                if len(call.body) < _length_of(begun):
                    return None  # the caller was killed while it sent it
            with self._changed:
                self._calls.append(call)
                self._changed.notify_all()
            if self._held_method in (None, call.method):
                self._free.wait(_PATIENCE_S)
            reply = scripted or (self.answer(call) if self.answer else Reply(status=404))
            self._reply(connection, reply)
            return reply
        finally:
            with self._changed:
                self._running -= 1

    def scripted(self, begun: Call) -> Reply | None:
        """Return what the script says of a call, whose body may not be there yet; None for more."""
        return self._script.pop(0) if self._script else None

    def _reply(self, connection: socket.socket, reply: Reply) -> None:
        self._closing.wait(reply.delay_s)
        if reply.cut == "before" or self._closing.is_set():
            return
        if reply.raw is not None:
            self._send(connection, _pieces(reply.raw), reply.pause_s)
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
        if reply.endless:
            self._send_for_ever(connection, [_chunk(piece) for piece in pieces], reply.pause_s)
        framed = (_chunk(piece) for piece in pieces) if reply.chunked else pieces
        self._send(connection, framed, reply.pause_s)
        if reply.chunked:
            connection.sendall(b"0\r\n\r\n")
        if not reply.reads_body:
            # Stay without reading, as a server does that has made up its mind.
            self._closing.wait(_PATIENCE_S)

    def _send_for_ever(
        self, connection: socket.socket, pieces: Iterable[bytes], pause_s: float
    ) -> None:
        while not self._closing.is_set():
            self._send(connection, pieces, 0.0)
            self._closing.wait(pause_s)

    def _send(self, connection: socket.socket, pieces: Iterable[bytes], pause_s: float) -> None:
        for number, piece in enumerate(pieces):
            if number and pause_s:
                self._closing.wait(pause_s)
            if self._closing.is_set():
                return
            connection.sendall(piece)


def json_reply(document: object, *, status: int = 200, **options: Any) -> Reply:
    """A reply with JSON in it."""
    headers = {"Content-Type": "application/json", **options.pop("headers", {})}
    return Reply(status=status, headers=headers, body=json.dumps(document).encode(), **options)


def _begun(connection: socket.socket, started_at_s: float) -> Call | None:
    """Return a call with as much of its body as came with its headers; None when none comes."""
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(_RECEIVED_BYTES)
        if not part:
            return None
        received += part
    head, _, begun = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    return Call(method, target, headers, begun, started_at_s)


def _length_of(begun: Call) -> int:
    return int(begun.headers.get("content-length", "0"))


def _rest_of(connection: socket.socket, begun: Call) -> bytes:
    body = bytearray(begun.body)
    while len(body) < _length_of(begun):
        part = connection.recv(_RECEIVED_BYTES)
        if not part:
            break
        body += part
    return bytes(body)


def _pieces(body: bytes | Iterable[bytes]) -> Iterable[bytes]:
    return [body] if isinstance(body, bytes) else body


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece)


def _head_of(reply: Reply, pieces: Iterable[bytes]) -> bytes:
    said = "keep-alive" if reply.keeps else "close"
    headers = {"Content-Type": reply.content_type, "Connection": said, **reply.headers}
    if reply.chunked or reply.endless:
        headers["Transfer-Encoding"] = "chunked"
    else:
        headers.setdefault("Content-Length", str(sum(map(len, pieces))))
    lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{k}: {v}" for k, v in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _bound(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((LOOPBACK, port))
    return made
