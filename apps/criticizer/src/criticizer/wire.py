"""HTTP within limits that the other side cannot stretch.

A call has a time for all of it, whatever trickles in meanwhile. No redirect is followed, nothing is
repeated, nothing is decompressed, no proxy is taken from the environment, and each call has a
connection of its own: a kept one may have been closed by the other side, which looks like a failure
of that side.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

import httpcore2
import httpx2

MEBIBYTE: Final = 1024 * 1024
_SENT: Final = {
    # What is not compressed cannot unfold into more than was read.
    "accept-encoding": "identity",
    "connection": "close",
    "user-agent": "holdfast-criticizer",
}
_PLAIN: Final = frozenset({"", "identity"})


class Deadline:
    """The instant by which something has ended, one way or the other."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._ends_at_s = time.monotonic() + timeout_s

    def left_s(self) -> float:
        """Return how long is left; `TimeoutError` when nothing is."""
        left_s = self._ends_at_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(f"it took longer than {self._timeout_s:g} s")
        return left_s


def client_for(
    deadline: Deadline,
    *,
    max_bytes: int,
    hidden: Mapping[str, str] | None = None,
    tls: ssl.SSLContext | None = None,
) -> httpx2.Client:
    """Return a client whose calls end by the deadline, and whose answers are no longer than this.

    `hidden` are headers that only the wire sees: what is raised carries the request without them.
    Whom to trust under HTTPS the system says, unless `tls` does. A longer answer is raised as
    `httpx2.RemoteProtocolError`, as one that comes compressed is.
    """
    transport = _Bounded(
        deadline, max_bytes=max_bytes, hidden=hidden or {}, tls=tls or _usual_tls()
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
        hidden: Mapping[str, str],
        tls: ssl.SSLContext,
    ) -> None:
        super().__init__(verify=tls, trust_env=False)
        self._pool.close()
        self._pool = httpcore2.ConnectionPool(
            ssl_context=tls,
            max_keepalive_connections=0,
            retries=0,
            network_backend=_Network(deadline),
        )
        self._max_bytes, self._hidden = max_bytes, dict(hidden)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = request.headers.copy()
        headers.update(self._hidden)
        response = super().handle_request(
            httpx2.Request(
                request.method,
                request.url,
                headers=headers,
                stream=request.stream,
                extensions=request.extensions,
            )
        )
        if response.headers.get("content-encoding", "").strip().lower() not in _PLAIN:
            response.close()
            raise httpx2.RemoteProtocolError("the answer is compressed, which nobody asked for")
        response.stream = _Cut(response.stream, self._max_bytes)  # type: ignore[arg-type]
        return response


class _Cut(httpx2.SyncByteStream):
    """A body that may not be longer than it may be."""

    def __init__(self, body: httpx2.SyncByteStream, max_bytes: int) -> None:
        self._body, self._max_bytes = body, max_bytes

    def __iter__(self) -> Iterator[bytes]:
        received = 0
        for chunk in self._body:
            received += len(chunk)
            if received > self._max_bytes:
                raise httpx2.RemoteProtocolError(
                    f"the answer is longer than {self._max_bytes} bytes"
                )
            yield chunk

    def close(self) -> None:
        self._body.close()


class _Network(httpcore2.NetworkBackend):
    """The system's network, which asks the deadline before each step."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline, self._network = deadline, httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline stands for it
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        stream = self._network.connect_tcp(
            host,
            port,
            timeout=_left_s(self._deadline, httpcore2.ConnectTimeout),
            local_address=local_address,
            socket_options=socket_options,
        )
        return _Stream(stream, self._deadline)


class _Stream(httpcore2.NetworkStream):
    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._stream, self._deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        left_s = _left_s(self._deadline, httpcore2.ReadTimeout)
        return self._stream.read(max_bytes, timeout=left_s)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        # Piece by piece: the limit below counts anew with each that is taken.
        for start in range(0, len(buffer), 65_536):
            left_s = _left_s(self._deadline, httpcore2.WriteTimeout)
            self._stream.write(buffer[start : start + 65_536], timeout=left_s)

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
            timeout=_left_s(self._deadline, httpcore2.ConnectTimeout),
        )
        return _Stream(secured, self._deadline)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as httpcore2 declares it
        return self._stream.get_extra_info(info)


def _left_s(deadline: Deadline, timeout: type[Exception]) -> float:
    try:
        return deadline.left_s()
    except TimeoutError as error:
        raise timeout(error) from error
