"""Serves a stand-in on a loopback port, for tests and for trying without the lab."""

from __future__ import annotations

import io
import socket
import struct
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Protocol, Self

from collabiq.stand_ins.wire import Answering, Lost
from holdfast.systems import Answer, Call

LOOPBACK: Final = "127.0.0.1"
MAX_BODY_BYTES: Final = 40 * 1024 * 1024
_RESET: Final = struct.pack("ii", 1, 0)


class Answers(Protocol):
    """A stand-in: what it answers while it is well, and otherwise."""

    @property
    def faults(self) -> Mapping[str, Answering]:
        """What it does while one of its faults is on."""
        ...

    def __call__(self, call: Call) -> Answer:
        """Answer a call."""
        ...


@dataclass(slots=True)
class _Planned:
    """A fault for some of the next calls."""

    fault: str
    times: int
    method: str | None
    path: str


class Serving:
    """A stand-in that listens; `fault` is the name of the one that is on."""

    def __init__(self, stand_in: Answers, *, port: int = 0) -> None:
        self.stand_in = stand_in
        self.fault: str | None = None
        self.calls: list[Call] = []
        """What it was asked, in order."""
        self.hanging = threading.Event()
        """While it is set, calls get no answer until the server ends."""
        self._planned: list[_Planned] = []
        self._planning = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(self, port)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def url(self) -> str:
        """Where it is called."""
        return f"http://{LOOPBACK}:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End: connections are refused afterwards."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def is_closed(self) -> bool:
        """Whether connections are refused."""
        return self._closing.is_set()

    def begin(self, stand_in: Answers) -> None:
        """Serve another stand-in from now on, as a new server at the same address would."""
        with self._planning:
            self.stand_in, self.fault, self.calls, self._planned = stand_in, None, [], []

    def fail_next(
        self, fault: str, *, times: int = 1, method: str | None = None, path: str = ""
    ) -> None:
        """Have the next calls of a method, whose path has these words, meet a fault."""
        if fault not in self.stand_in.faults:
            raise KeyError(fault)
        with self._planning:
            self._planned.append(_Planned(fault, times, method, path))

    def asked(self, method: str | None = None, path: str = "") -> list[Call]:
        """Return the calls of a method whose path has these words."""
        return [
            call for call in list(self.calls) if method in {None, call.method} and path in call.path
        ]

    def answer(self, call: Call) -> Answer | None:
        """Return what to answer, or None for nothing."""
        if self._closing.is_set():  # connections that were open go on to be served
            return None
        self.calls.append(call)
        if self.hanging.is_set():
            self._closing.wait(60.0)
            return None
        fault = self._planned_for(call) or self.fault
        try:
            return self.stand_in(call) if fault is None else self.stand_in.faults[fault](call)
        except Lost:
            return None

    def _planned_for(self, call: Call) -> str | None:
        with self._planning:
            for each in self._planned:
                if each.times and each.method in {None, call.method} and each.path in call.path:
                    each.times -= 1
                    return each.fault
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, serving: Serving, port: int) -> None:
        self.serving = serving
        super().__init__((LOOPBACK, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - of http.server
        """Say nothing of callers that hung up."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    wbufsize = 64 * 1024  # a head and a body in two packets wait for each other
    timeout = 30.0

    def do_GET(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            self.close_connection = True
            self.send_error(413)
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = Call(self.command, self.path, headers, self.rfile.read(int(length)))
        found = self.server.serving.answer(call)
        if found is None or not isinstance(found.body, bytes):
            self._drop()
            return
        with suppress(OSError):
            self.send_response(found.status)
            for name, value in found.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", found.content_type)
            self.send_header("Content-Length", str(len(found.body)))
            self.end_headers()
            self.wfile.write(found.body)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 - http.server's own

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.wfile = io.BytesIO()
        socket.close(self.connection.detach())

    def log_message(self, *_: object) -> None:
        """Keep the terminal quiet."""
