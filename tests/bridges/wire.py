"""Fake providers on loopback: they read real requests, keep a ledger, and fail on demand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from tests.classify.servers import Connection, Server

MAIL = {
    "to": "Ada <ada@example.org>",
    "from": "Reviews <reviews@example.org>",
    "subject": "Your review is ready",
    "text": "It is ready.",
    "html": "<p>It is ready.</p>",
    "headers": {"X-Review": "17", "Reply-To": "team@example.org"},
    "metadata": {"review": "17"},
}


class Request(NamedTuple):
    """One request as it came over the wire; header names in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)


class Reply(NamedTuple):
    """A well-formed answer."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}

    def written(self) -> bytes:
        head = {
            "content-type": "application/json",
            "content-length": str(len(self.body)),
            "connection": "close",
        } | {name.lower(): value for name, value in self.headers.items()}
        lines = [
            f"HTTP/1.1 {self.status} Answer",
            *(f"{key}: {value}" for key, value in head.items()),
        ]
        return "\r\n".join([*lines, "", ""]).encode() + self.body


def json_reply(status: int, document: object, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(document).encode(), named)


Fault = Callable[[Connection], None]
"""What happens to the connection in place of an answer."""


def read_request(connection: Connection) -> Request:
    method, target, _ = connection.read_line().decode().split(" ")
    headers: dict[str, str] = {}
    while line := connection.read_line():
        name, _, value = line.decode("latin-1").partition(":")
        assert name.lower() not in headers, f"{name} was sent twice"
        headers[name.lower()] = value.strip()
    body = connection.read_exactly(int(headers.get("content-length", "0")))
    return Request(method, target, headers, body)


@dataclass
class FakeApi:
    """An API that answers by `answer`, unless there is a fault.

    With `accepts_first` it takes the message and fails then, which is what makes outcomes unknown.
    """

    answer: Callable[[Request], Reply]
    fault: Fault | None = None
    accepts_first: bool = False
    requests: list[Request] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._server = Server(self._behave)
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def connections(self) -> int:
        return self._server.connections

    def _behave(self, connection: Connection) -> None:
        request = read_request(connection)
        self.requests.append(request)
        if self.fault is None or self.accepts_first:
            reply = self.answer(request)
        if self.fault is None:
            connection.send(reply.written())
        else:
            self.fault(connection)


def replies(status: int, document: object = None, **headers: str) -> Fault:
    reply = json_reply(status, {} if document is None else document, **headers)
    return lambda connection: connection.send(reply.written())


def says(status: int, body: bytes) -> Fault:
    return lambda connection: connection.send(Reply(status, body).written())


def resets(connection: Connection) -> None:
    connection.reset()


def closes(connection: Connection) -> None:
    """Ends the connection without a word."""


def hangs(connection: Connection) -> None:
    connection.hang()


def drips_head(connection: Connection) -> None:
    """Sends an answer so slowly that no single read ever takes long, and never gets to its body."""
    for byte in Reply(200, b'{"id": "1"}').written() * 10:
        connection.send(bytes([byte]))
        if connection.stopping.wait(0.05):
            return


def drips_body(connection: Connection) -> None:
    """As above, after a prompt head."""
    connection.send(b"HTTP/1.1 200 Answer\r\ncontent-type: application/json\r\n")
    connection.send(b"content-length: 1000\r\n\r\n")
    for _ in range(1000):
        connection.send(b" ")
        if connection.stopping.wait(0.05):
            return


def truncates(connection: Connection) -> None:
    connection.send(b'HTTP/1.1 200 Answer\r\ncontent-length: 1000\r\n\r\n{"id": ')


def truncates_refusal(connection: Connection) -> None:
    connection.send(b'HTTP/1.1 422 Answer\r\ncontent-length: 1000\r\n\r\n{"na')


def never_ends(connection: Connection) -> None:
    """Sends more than anybody wants to read, as fast as it can."""
    connection.send(b"HTTP/1.1 200 Answer\r\ntransfer-encoding: chunked\r\n\r\n")
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    while not connection.stopping.is_set():
        connection.send(chunk)


def redirects(url: str) -> Fault:
    return replies(302, location=url)
