"""Clients that speak to a server byte by byte, as slowly and as wrongly as a test wants."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from holdfast.api import Server
from holdfast.runtime.kernel.clock import monotonic_s

PATIENCE_S = 20.0


@contextmanager
def served(asgi, **how) -> Iterator[Server]:
    """Serve an application on a free port of loopback."""
    server = Server(asgi, "127.0.0.1", 0, **how)
    server.start()
    try:
        yield server
    finally:
        server.request_stop()
        assert server.wait(PATIENCE_S)


def connected(server: Server) -> socket.socket:
    """Return a connection to a server."""
    address = urlsplit(server.address)
    connection = socket.create_connection((address.hostname, address.port), timeout=PATIENCE_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def head(method: str, path: str, *, host: str = "127.0.0.1", **headers: str) -> bytes:
    """Return the head of a request, complete."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name.replace('_', '-')}: {text}" for name, text in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def answered(connection: socket.socket) -> bytes:
    """Return everything that comes until the server hangs up."""
    parts = []
    with suppress(ConnectionError):
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


def answers_with(connection: socket.socket, wanted: bytes) -> bool:
    """Tell whether something comes before the server hangs up."""
    got = b""
    with suppress(ConnectionError):
        while wanted not in got and (part := connection.recv(65_536)):
            got += part
    return wanted in got


def hangs_up_within(connection: socket.socket, seconds: float) -> bool:
    """Tell whether the server ends a connection on which nothing more is sent."""
    until_s = monotonic_s() + seconds
    while (left_s := until_s - monotonic_s()) > 0:
        connection.settimeout(left_s)
        try:
            if not connection.recv(65_536):
                return True
        except TimeoutError:
            return False
        except ConnectionError:
            return True
    return False
