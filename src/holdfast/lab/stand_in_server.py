"""One stand-in upstream: an HTTP server on loopback that behaves as it is set."""

from __future__ import annotations

import itertools
import logging
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from holdfast.lab.behaviour import RETRY_AFTER_S, SLOW_S, Behaviour
from holdfast.systems import Answer, Call, StandIn

LOGGER: Final = logging.getLogger("holdfast.lab")
LOOPBACK: Final = "127.0.0.1"
BRISK_S: Final = 0.05
"""Even a healthy upstream takes a moment, so that there is something to see."""
HANG_S: Final = 60.0
"""How long a call that is never answered is kept; callers have given up long before."""
_BACKLOG: Final = 128
_FAILURES: Final = (500, 502, 503)
_IDLE_S: Final = 10.0
_RESET: Final = struct.pack("ii", 1, 0)
"""Has a socket closed without a proper end."""


class StandInServer:
    """Serves one stand-in, always at the same address, until closed."""

    def __init__(self, stand_in: StandIn) -> None:
        self.stand_in = stand_in
        self._lock = threading.Lock()
        self._behaviour = Behaviour.HEALTHY
        self._fault: str | None = None
        self._calls: Counter[str] = Counter()
        self._failures = itertools.cycle(_FAILURES)
        self._closing = threading.Event()
        self._listener: _Listener | None = None
        # Bound and not listening: while the stand-in is down its port refuses connections, and
        # nobody else can be given it.
        self._reserved = _bound(0)
        self._port: int = self._reserved.getsockname()[1]

    @property
    def url(self) -> str:
        """Where it is called."""
        return f"http://{LOOPBACK}:{self._port}"

    @property
    def behaviour(self) -> Behaviour:
        """What it does at present; while a fault of its own is on, it is healthy besides."""
        return self._behaviour

    @property
    def fault(self) -> str | None:
        """Which fault of its own is on."""
        return self._fault

    @property
    def calls(self) -> dict[str, int]:
        """How many calls it has answered, by status; `none` are those that got no answer."""
        with self._lock:
            return dict(self._calls)

    def start(self) -> None:
        """Take calls from now on."""
        self.behave(self._behaviour)

    def behave(self, behaviour: Behaviour, *, fault: str | None = None) -> None:
        """Do so from now on, or as a fault of its own says; calls under way end as they began."""
        with self._lock:
            self._behaviour, self._fault = behaviour, fault
            if behaviour is Behaviour.DOWN or self._closing.is_set():
                listener, self._listener = self._listener, None
            else:
                listener = None
                if self._listener is None:
                    self._listener = _Listener(self, _bound(self._port))
        if listener is not None:
            listener.end()

    def close(self) -> None:
        """End for good: the port is free afterwards."""
        self._closing.set()
        self.behave(Behaviour.DOWN)
        self._reserved.close()

    def answer(self, call: Call) -> Answer | None:
        """Return what to answer, or None for no answer at all."""
        match self._behaviour:
            case Behaviour.FAILING:
                with self._lock:
                    status = next(self._failures)
                found = Answer(status, b'{"error": "as you wished"}')
            case Behaviour.LIMITING:
                wait = {"Retry-After": str(RETRY_AFTER_S)}
                found = Answer(429, b'{"error": "too many"}', headers=wait)
            case Behaviour.HANGING:
                self._closing.wait(HANG_S)
                self._count("none")
                return None
            case behaviour:
                self._closing.wait(SLOW_S if behaviour is Behaviour.SLOW else BRISK_S)
                own = self._own_answer(call)
                if own is None:
                    self._count("none")
                    return None
                found = own
        self._count(str(found.status))
        return found

    def _own_answer(self, call: Call) -> Answer | None:
        fault = self._fault
        answer = self.stand_in.answer if fault is None else self.stand_in.faults[fault]
        try:
            return answer(call)
        except ConnectionError:
            return None
        except Exception:
            LOGGER.exception("the stand-in for %s failed by itself", self.stand_in.upstream)
            return Answer(500, b'{"error": "the stand-in failed; see the log"}')

    def _count(self, outcome: str) -> None:
        with self._lock:
            self._calls[outcome] += 1


class _Listener(ThreadingHTTPServer):
    """Listens until it is ended, a thread for each call."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = _BACKLOG

    def __init__(self, server: StandInServer, bound: socket.socket) -> None:
        super().__init__((LOOPBACK, 0), _Handler, bind_and_activate=False)
        self.stand_in = server
        self.socket.close()
        self.socket = bound
        self.server_activate()
        name = f"stand-in-{server.stand_in.upstream}"
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.05}, name=name, daemon=True
        )
        self._thread.start()

    def end(self) -> None:
        """Stop listening: from now on connections are refused."""
        self.shutdown()
        self.server_close()
        self._thread.join()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Say nothing of callers that hung up: they are meant to."""


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    timeout = _IDLE_S
    server_version = "stand-in"
    sys_version = ""

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_GET  # noqa: N815 - http.server's own

    def _serve(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > self.server.stand_in.stand_in.max_body_bytes:
            self._send(Answer(413))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        call = Call(self.command, self.path, headers, self.rfile.read(int(length)))
        answered = self.server.stand_in.answer(call)
        if answered is not None:
            self._send(answered)

    def _send(self, answer: Answer) -> None:
        body = answer.body
        with suppress(OSError):
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", answer.content_type)
            if isinstance(body, bytes):
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self._send_body([body] if isinstance(body, bytes) else body)

    def _send_body(self, pieces: Iterable[bytes]) -> None:
        try:
            for piece in pieces:
                self.wfile.write(piece)
        except OSError:
            raise
        except Exception:
            # The caller notices it by the connection, which is reset instead of closed.
            LOGGER.exception("the body of an answer broke off")
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            socket.close(self.connection.detach())

    def log_message(self, *_: object) -> None:
        """Keep the terminal quiet: what was called is on the page."""


def _bound(port: int) -> socket.socket:
    """Return a socket on loopback that shares its port with others of this process."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((LOOPBACK, port))
    return made
