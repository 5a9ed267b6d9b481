"""httpx2 under one deadline for the whole call.

httpx2 limits every single read; the network below it can be replaced, and this one asks the
deadline before each step.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpcore2
import httpx2

from holdfast.bridges.calls.deadline import Deadline, connect


class OneCall(httpx2.HTTPTransport):
    """Makes one request over a connection of its own, by the deadline.

    `hidden` are headers that only the wire sees: what is raised carries the request without them.
    A kept connection may have been closed by the other side, which looks like a lost answer; a new
    one cannot.
    """

    def __init__(
        self,
        *,
        deadline: Deadline,
        tls: ssl.SSLContext,
        hidden: Mapping[str, str],
        admit: Callable[[list[str]], None] = lambda _: None,
    ) -> None:
        super().__init__(verify=tls, trust_env=False)
        self._pool.close()
        self._pool = httpcore2.ConnectionPool(
            ssl_context=tls,
            max_keepalive_connections=0,
            retries=0,
            network_backend=_Network(deadline, admit),
        )
        self._hidden = dict(hidden)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request with its hidden headers."""
        headers = request.headers.copy()
        headers.update(self._hidden)
        return super().handle_request(
            httpx2.Request(
                request.method,
                request.url,
                headers=headers,
                stream=request.stream,
                extensions=request.extensions,
            )
        )


class _Network(httpcore2.NetworkBackend):
    def __init__(self, deadline: Deadline, admit: Callable[[list[str]], None]) -> None:
        self._deadline, self._admit = deadline, admit

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline stands for it
        local_address: str | None = None,  # noqa: ARG002 - as httpcore2 calls it
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002 - as above
    ) -> httpcore2.NetworkStream:
        with _raised_as(httpcore2.ConnectTimeout, httpcore2.ConnectError):
            connection = connect(host, port, deadline=self._deadline, admit=self._admit)
        return _Stream(connection, self._deadline)


class _Stream(httpcore2.NetworkStream):
    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        self._connection, self._deadline = connection, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        with _raised_as(httpcore2.ReadTimeout, httpcore2.ReadError):
            self._connection.settimeout(self._deadline.left_s())
            return self._connection.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        unsent = memoryview(buffer)
        with _raised_as(httpcore2.WriteTimeout, httpcore2.WriteError):
            while unsent:
                self._connection.settimeout(self._deadline.left_s())
                unsent = unsent[self._connection.send(unsent) :]

    def close(self) -> None:
        self._connection.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002 - the deadline stands for it
    ) -> httpcore2.NetworkStream:
        try:
            with _raised_as(httpcore2.ConnectTimeout, httpcore2.ConnectError):
                self._connection.settimeout(self._deadline.left_s())
                secured = ssl_context.wrap_socket(self._connection, server_hostname=server_hostname)
        except BaseException:
            self.close()
            raise
        return _Stream(secured, self._deadline)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as httpcore2 declares it
        secured = isinstance(self._connection, ssl.SSLSocket)
        return self._connection if info == "ssl_object" and secured else None


@contextmanager
def _raised_as(timeout: type[Exception], failure: type[Exception]) -> Iterator[None]:
    # The pool above cuts the cause off; what the exception was made from stays with it.
    try:
        yield
    except TimeoutError as error:
        raise timeout(error) from error
    except OSError as error:
        raise failure(error) from error
