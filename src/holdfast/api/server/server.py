"""An ASGI application served over HTTP, in a thread of its own."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from typing import Any, Final

import uvicorn
from uvicorn._types import ASGIApplication

from holdfast.api.options import ApiOptions
from holdfast.api.server.readiness import Readiness
from holdfast.api.server.slow_clients import patient_http
from holdfast.errors import UsageError

GRACE_S: Final = 3
"""How long requests under way may take after a stop was requested."""
_START_S: Final = 30.0
_BACKLOG: Final = 512


class Server:
    """Serves `asgi` on an address from `start` to `request_stop`; port 0 takes any that is free.

    `options` say how patient it is with clients. It answers from threads of its own and handles no
    signals: what runs the process does, and calls `request_stop`.
    """

    def __init__(
        self,
        asgi: ASGIApplication,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        options: ApiOptions | None = None,
        grace_s: int = GRACE_S,
    ) -> None:
        given = options or ApiOptions()
        self._asgi = asgi
        self._host = host.strip("[]")
        self._port = port
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._failed: BaseException | None = None
        self._server = uvicorn.Server(
            uvicorn.Config(
                asgi,
                http=patient_http(given),
                ws="none",
                log_config=None,
                # What it would say below that, the log of requests says better.
                log_level="error",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=given.keep_alive_s,
                timeout_graceful_shutdown=grace_s,
                backlog=_BACKLOG,
            )
        )

    @property
    def host(self) -> str:
        """The host it listens on."""
        return self._host

    @property
    def port(self) -> int:
        """The port it listens on, once it has started."""
        return self._port

    @property
    def address(self) -> str:
        """Where a browser on this machine finds it, once it has started."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._host, self._host)  # noqa: S104 - not bound, shown
        return f"http://{f'[{host}]' if ':' in host else host}:{self._port}"

    def start(self) -> None:
        """Listen, and return once requests are answered; raise `UsageError` where that fails."""
        self._socket = _listening(self._host, self._port)
        self._port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run, name="holdfast-http", daemon=True)
        self._thread.start()
        started = threading.Event()
        for _ in range(int(_START_S / 0.01)):
            if self._server.started:
                return
            if not self._thread.is_alive():
                break
            started.wait(0.01)
        self._socket.close()
        raise UsageError(
            f"the HTTP server did not start on {self._host}:{self._port}; the log says why"
        ) from self._failed

    def drain(self) -> None:
        """Say to probes that this process is about to end, and have event streams end."""
        state: Any = getattr(self._asgi, "state", None)
        readiness = getattr(getattr(state, "serving", None), "readiness", None)
        if isinstance(readiness, Readiness):
            readiness.drain()

    def request_stop(self) -> None:
        """Take no more requests, and end once those under way are answered or the grace is over."""
        self.drain()
        self._server.should_exit = True

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it has ended; False when it has not after `timeout_s`."""
        if self._thread is None:
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            asyncio.run(self._server.serve(sockets=[self._socket] if self._socket else None))
        except BaseException as error:  # noqa: BLE001 - `start` raises it in the caller's thread
            self._failed = error


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(_BACKLOG)
        found.setblocking(False)  # noqa: FBT003 - the standard library's own
    except OSError as error:
        found.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {port} of {host} is taken; stop what listens there, or choose another port"
            ) from error
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return found
