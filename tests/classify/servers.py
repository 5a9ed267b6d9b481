"""Upstreams that fail on purpose: small servers on loopback, a thread for each connection.

A behaviour is a function of one connection. The HTTP ones here read a request first, so that what
follows hits the client while it waits for the answer.
"""

import datetime as dt
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

LOOPBACK = "127.0.0.1"
UNKNOWN_HOST = ".".join(["nowhere" * 8] * 5)
"""A name longer than names may be, so that the resolver refuses it without asking anybody."""
PATIENCE_S = 10.0
"""How long a server waits for its client, at most; a test that needs it has failed."""

Behaviour = Callable[["Connection"], None]


@dataclass
class Connection:
    """One accepted connection, and what the server knows when it serves it."""

    socket: socket.socket
    number: int
    stopping: threading.Event
    unread: bytes = b""

    def read_line(self) -> bytes:
        while b"\n" not in self.unread:
            received = self.socket.recv(65_536)
            if not received:
                return b""
            self.unread += received
        line, _, self.unread = self.unread.partition(b"\n")
        return line.rstrip(b"\r")

    def read_exactly(self, count: int) -> bytes:
        while len(self.unread) < count:
            received = self.socket.recv(65_536)
            if not received:
                break
            self.unread += received
        taken, self.unread = self.unread[:count], self.unread[count:]
        return taken

    def read_request(self) -> tuple[str, bytes]:
        """The request line and the body of one HTTP request."""
        first, length, chunked = self.read_line().decode(), 0, False
        while line := self.read_line().lower():
            if line.startswith(b"content-length:"):
                length = int(line.split(b":")[1])
            chunked = chunked or (line.startswith(b"transfer-encoding:") and b"chunked" in line)
        if not chunked:
            return first, self.read_exactly(length)
        body = b""
        while size := int(self.read_line() or b"0", 16):
            body += self.read_exactly(size)
            self.read_line()
        self.read_line()
        return first, body

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def reset(self) -> None:
        """Close so that the other side is told by a RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def hang(self) -> None:
        """Do nothing until the test is over."""
        self.stopping.wait(PATIENCE_S)


@dataclass
class Server:
    """Serves every connection by its behaviour until it is left."""

    behave: Behaviour
    tls: ssl.SSLContext | None = None
    connections: int = 0
    _stopping: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port = self._listener.getsockname()[1]
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        # Closing alone does not wake a thread that is in accept().
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{LOOPBACK}:{self.port}"

    def _start(self, run: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=run, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                accepted, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._start(self._serve, accepted, self.connections)

    def _serve(self, accepted: socket.socket, number: int) -> None:
        accepted.settimeout(PATIENCE_S)
        # The client may go away at any moment; that is half of the point.
        with suppress(OSError, ValueError):
            if self.tls is not None:
                accepted = self.tls.wrap_socket(accepted, server_side=True)
            with accepted:
                self.behave(Connection(accepted, number, self._stopping))


def http_answer(
    status: int,
    body: bytes | str | Mapping[str, object] = b"",
    *,
    headers: Mapping[str, str] | None = None,
    content_type: str = "application/json",
    length: int | None = None,
) -> Behaviour:
    """Answers every request with the same response; `length` may promise more than there is."""
    payload = json.dumps(body).encode() if isinstance(body, Mapping) else body
    payload = payload.encode() if isinstance(payload, str) else payload
    head = {
        "content-type": content_type,
        "content-length": str(len(payload) if length is None else length),
        "connection": "close",
    } | {name.lower(): value for name, value in (headers or {}).items()}
    lines = [f"HTTP/1.1 {status} Answer", *(f"{name}: {value}" for name, value in head.items())]
    response = "\r\n".join([*lines, "", ""]).encode() + payload

    def behave(connection: Connection) -> None:
        connection.read_request()
        connection.send(response)

    return behave


def event_stream(*events: tuple[str, Mapping[str, object]]) -> Behaviour:
    """Answers 200 and sends server-sent events."""
    text = "".join(
        (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"
        for name, data in events
    )
    return http_answer(200, text, content_type="text/event-stream")


def resets(connection: Connection) -> None:
    connection.read_request()
    connection.reset()


def closes(connection: Connection) -> None:
    connection.read_request()


def hangs(connection: Connection) -> None:
    connection.read_request()
    connection.hang()


def stalls(connection: Connection) -> None:
    """Begins an answer and never ends it."""
    connection.read_request()
    connection.send(b"HTTP/1.1 200 Answer\r\ncontent-length: 1000\r\n\r\nhalf of")
    connection.hang()


TRUNCATED = http_answer(200, b'{"half": ', length=1_000)
NOT_JSON = http_answer(200, b"<html>all is well</html>")
NOT_GZIP = http_answer(200, b"not compressed at all", headers={"content-encoding": "gzip"})
REDIRECTS_TO_ITSELF = http_answer(302, headers={"location": "/"})


def unused_port() -> int:
    """A port on which nobody listens."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        return listener.getsockname()[1]


@contextmanager
def deaf_port() -> Iterator[int]:
    """A port whose backlog is full, so that connecting to it takes longer than anybody waits."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind((LOOPBACK, 0))
        listener.listen(0)
        for _ in range(8):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)  # noqa: FBT003 - the socket's own signature
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


@cache
def untrusted_tls() -> ssl.SSLContext:
    """A server's side of TLS with a certificate that nobody vouches for."""
    from cryptography import x509  # noqa: PLC0415 - takes long to import, and one test needs it
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "nobody")])
    began = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(began)
        .not_valid_after(began + dt.timedelta(days=7))
        .sign(key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        chain = Path(folder) / "chain.pem"
        chain.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context.load_cert_chain(chain)
    return context
