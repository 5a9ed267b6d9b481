"""One HTTP call over a connection of its own, within limits that the other side cannot stretch.

The time for the whole call counts from its start, whatever trickles in meanwhile. Redirects are not
followed, nothing is repeated, nothing is decompressed, and no proxy is taken from the environment.
A kept connection may have been closed by the other side, which looks like a failing gateway; a new
one cannot.
"""

from __future__ import annotations

import errno
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import httpcore2

from converter.gateway_address import admit

MAX_HEADERS: Final = 100
_SENT: Final = {
    # What is not compressed cannot unfold into more than was read.
    "accept-encoding": "identity",
    "connection": "close",
    "user-agent": "holdfast-converter",
}
_Place: TypeAlias = tuple[int, tuple[Any, ...]]
"""The family of an address, and the address as a socket takes it."""


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


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the body is still on its way."""

    status: int
    headers: Mapping[str, str]
    """By name in lower case."""
    body: Iterable[bytes]
    """As it was sent; taking it may raise what the call may raise."""


@contextmanager
def call(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    patience: Patience,
    content: Iterable[bytes] = (),
    tls: ssl.SSLContext | None = None,
) -> Iterator[Answer]:
    """Make one call and yield its answer; without `tls` the system says whom to trust.

    Raises `httpcore2.TimeoutException`, `httpcore2.NetworkError` or `httpcore2.ProtocolError`, and
    whatever taking the content raises.
    """
    sent = {"host": urlsplit(url).netloc, **_SENT, **headers}
    request = httpcore2.Request(method, url, headers=list(sent.items()), content=content)
    stream = _connected(request.url.origin, patience, tls)
    try:
        connection = httpcore2.HTTP11Connection(request.url.origin, stream)
        answered = connection.handle_request(request)
        stream.answering = True
        if len(answered.headers) > MAX_HEADERS:
            raise httpcore2.RemoteProtocolError(f"the answer has more than {MAX_HEADERS} headers")
        received = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in answered.headers
        }
        yield Answer(answered.status, received, answered.iter_stream())
    finally:
        stream.close()


class _Stream(httpcore2.NetworkStream):
    """A connection that asks for patience before each step."""

    def __init__(self, connection: socket.socket, patience: Patience) -> None:
        self._connection, self._patience = connection, patience
        self.answering = False
        """Whether the answer has begun."""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        with _raised_as(httpcore2.ReadTimeout, httpcore2.ReadError):
            self._connection.settimeout(self._patience.left_s(working=not self.answering))
            return self._connection.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        unsent = memoryview(buffer)
        with _raised_as(httpcore2.WriteTimeout, httpcore2.WriteError):
            while unsent:
                self._await_turn()
                unsent = unsent[self._connection.send(unsent) :]

    def secured(self, tls: ssl.SSLContext, host: str) -> _Stream:
        """Return the same connection under TLS."""
        with _raised_as(httpcore2.ConnectTimeout, httpcore2.ConnectError):
            self._connection.settimeout(self._patience.left_s())
            connection = tls.wrap_socket(self._connection, server_hostname=host)
        return _Stream(connection, self._patience)

    def close(self) -> None:
        self._connection.close()

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401, ARG002 - as httpcore2 declares it
        return None

    def _await_turn(self) -> None:
        """Wait until more can be sent; who answers before that does not want the rest.

        Raised as a failed write it makes httpcore2 read the answer. Under TLS bytes may arrive
        that are none of an answer.
        """
        left_s = self._patience.left_s()
        self._connection.settimeout(left_s)
        if isinstance(self._connection, ssl.SSLSocket):
            return
        poll = select.poll()
        poll.register(self._connection, select.POLLIN | select.POLLOUT)
        ready = poll.poll(left_s * 1000)
        if not ready:
            raise TimeoutError(f"the gateway took nothing for {left_s:g} s")
        if ready[0][1] & select.POLLIN:
            raise BrokenPipeError(errno.EPIPE, "the gateway answered before everything was sent")


def _connected(origin: httpcore2.Origin, patience: Patience, tls: ssl.SSLContext | None) -> _Stream:
    host = origin.host.decode("ascii")
    with _raised_as(httpcore2.ConnectTimeout, httpcore2.ConnectError):
        stream = _Stream(_connect(host, origin.port, patience), patience)
    if origin.scheme != b"https":
        return stream
    try:
        return stream.secured(tls or _usual_tls(), host)
    except BaseException:
        stream.close()
        raise


@cache
def _usual_tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _connect(host: str, port: int, patience: Patience) -> socket.socket:
    """Return a connection to the first address that accepts one.

    The addresses that are looked at are those that are connected to: a name that stands for
    another address the next moment gains nothing.
    """
    found = _resolved(host.strip("[]"), port, patience)
    for _, address in found:
        admit(str(address[0]))
    refused: OSError = socket.gaierror(socket.EAI_NONAME, "the name stands for no address")
    for family, address in found:
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(patience.left_s())
            connection.connect(address)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            connection.close()
            refused = error
        else:
            return connection
    raise refused


def _resolved(host: str, port: int, patience: Patience) -> list[_Place]:
    try:
        return _asked(host, port, socket.AI_NUMERICHOST)
    except OSError:
        # Not an address but a name: the resolver takes no limit, so it is asked in a thread that
        # may be left behind.
        answers: SimpleQueue[list[_Place] | OSError] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(_asked(host, port, 0))
        except OSError as error:
            answers.put(error)

    threading.Thread(target=ask, name="converter-resolve", daemon=True).start()
    try:
        answer = answers.get(timeout=patience.left_s())
    except Empty:
        raise TimeoutError("the gateway's name was not resolved in time") from None
    if isinstance(answer, OSError):
        raise answer
    return answer


def _asked(host: str, port: int, flags: int) -> list[_Place]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    except UnicodeError as error:
        raise socket.gaierror(socket.EAI_NONAME, "not a name that can exist") from error
    return [(family, address) for family, _, _, _, address in found]


@contextmanager
def _raised_as(timeout: type[Exception], failure: type[Exception]) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise timeout(error) from error
    except OSError as error:
        raise failure(error) from error
