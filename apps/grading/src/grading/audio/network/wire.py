"""HTTP within limits that the other side cannot stretch.

A call has a time for all of it, whatever trickles in meanwhile. No redirect is followed, nothing
is repeated or decompressed, no proxy is taken from the environment, and each call has a connection
of its own. A name is looked up once, and the connection goes to an address that was looked at.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, Final

import httpcore2
import httpx2

from grading.audio.network.fetching import Resolve

_WRITE_BYTES: Final = 64 * 1024
_SENT: Final = {
    # What is not compressed cannot unfold into more than was read.
    "accept-encoding": "identity",
    "connection": "close",
    "user-agent": "holdfast-grading",
}
_PLAIN: Final = frozenset({"", "identity"})


class AnswerTooLong(httpx2.RemoteProtocolError):
    """The other side sent more bytes than allowed."""


class Deadline:
    """The instant by which a call has ended."""

    def __init__(self, timeout_s: float) -> None:
        self._ends_at_s = time.monotonic() + timeout_s

    def left_s(self, timed_out: type[Exception]) -> float:
        """Return how long is left; raise that where nothing is."""
        left_s = self._ends_at_s - time.monotonic()
        if left_s <= 0:
            raise timed_out("the call took too long")
        return left_s


def system_addresses(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host as the system knows them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def client_for(
    deadline: Deadline,
    *,
    max_bytes: int,
    resolve: Resolve = system_addresses,
    only_headers: AbstractSet[str] | None = None,
    tls: ssl.SSLContext | None = None,
) -> httpx2.Client:
    """Return a client whose calls end by the deadline and whose answers have so many bytes at most.

    A longer answer is raised as `AnswerTooLong`, a compressed one as `RemoteProtocolError`. With
    `only_headers`, in lower case, no others are sent, whatever an SDK adds.
    """
    transport = _Bounded(
        deadline,
        max_bytes=max_bytes,
        resolve=resolve,
        only_headers=only_headers,
        tls=tls or _usual_tls(),
    )
    # The deadline is the timeout.
    return httpx2.Client(transport=transport, trust_env=False, timeout=None, headers=_SENT)


@cache
def _usual_tls() -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=False)


class _Bounded(httpx2.HTTPTransport):
    def __init__(
        self,
        deadline: Deadline,
        *,
        max_bytes: int,
        resolve: Resolve,
        only_headers: AbstractSet[str] | None,
        tls: ssl.SSLContext,
    ) -> None:
        super().__init__(verify=tls, trust_env=False)
        self._pool.close()
        self._pool = httpcore2.ConnectionPool(
            ssl_context=tls,
            max_keepalive_connections=0,
            retries=0,
            network_backend=_Network(deadline, resolve),
        )
        self._max_bytes, self._only_headers = max_bytes, only_headers

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(self._as_sent(request))
        if response.headers.get("content-encoding", "").strip().lower() not in _PLAIN:
            response.close()
            raise httpx2.RemoteProtocolError("the answer is compressed")
        response.stream = _Cut(response.stream, self._max_bytes)  # type: ignore[arg-type]
        return response

    def _as_sent(self, request: httpx2.Request) -> httpx2.Request:
        """Return a request without other headers; SDKs look for their own in the first one."""
        allowed = self._only_headers
        if allowed is None:
            return request
        headers = request.headers.multi_items()
        return httpx2.Request(
            request.method,
            request.url,
            headers=[(name, value) for name, value in headers if name.lower() in allowed],
            stream=request.stream,
            extensions=request.extensions,
        )


class _Cut(httpx2.SyncByteStream):
    """A body of so many bytes at most."""

    def __init__(self, body: httpx2.SyncByteStream, max_bytes: int) -> None:
        self._body, self._max_bytes = body, max_bytes

    def __iter__(self) -> Iterator[bytes]:
        received = 0
        for chunk in self._body:
            received += len(chunk)
            if received > self._max_bytes:
                raise AnswerTooLong(f"the answer is longer than {self._max_bytes} bytes")
            yield chunk

    def close(self) -> None:
        self._body.close()


class _Network(httpcore2.NetworkBackend):
    """The system's network, with one deadline for every step and addresses that were looked at."""

    def __init__(self, deadline: Deadline, resolve: Resolve) -> None:
        self._deadline, self._resolve = deadline, resolve
        self._network = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline stands for it
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        refused: Exception = httpcore2.ConnectError(f"{host} has no address")
        try:
            addresses = self._resolve(host, port)
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        for address in addresses:
            left_s = self._deadline.left_s(httpcore2.ConnectTimeout)
            try:
                stream = self._network.connect_tcp(
                    address,
                    port,
                    timeout=left_s,
                    local_address=local_address,
                    socket_options=socket_options,
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                refused = error
            else:
                return _Stream(stream, self._deadline)
        raise refused


class _Stream(httpcore2.NetworkStream):
    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        left_s = self._deadline.left_s(httpcore2.ReadTimeout)
        return self._stream.read(max_bytes, timeout=left_s)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        # Piece by piece: the timeout below starts again with each that is taken.
        for start in range(0, len(buffer), _WRITE_BYTES):
            left_s = self._deadline.left_s(httpcore2.WriteTimeout)
            self._stream.write(buffer[start : start + _WRITE_BYTES], timeout=left_s)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002 - the deadline stands for it
    ) -> httpcore2.NetworkStream:
        secured = self._stream.start_tls(
            ssl_context,
            server_hostname=server_hostname,
            timeout=self._deadline.left_s(httpcore2.ConnectTimeout),
        )
        return _Stream(secured, self._deadline)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as httpcore2 declares it
        return self._stream.get_extra_info(info)
