"""A port of its own for the metrics of a process that serves nothing else.

`/metrics` tells of this process, `/metrics/fleet` of what the store knows. There are no
credentials and no secrets; what takes long, or comes with many others, is turned away.
"""

from __future__ import annotations

import logging
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from holdfast.errors import UsageError
from holdfast.metrics.exposition import Exposition
from holdfast.metrics.names import Scope

LOGGER: Final = logging.getLogger("holdfast.metrics")
PATIENCE_S: Final = 5.0
"""For how long a client may send nothing, or take nothing."""
MAX_CLIENTS: Final = 8

_PAGES: Final = {"/metrics": Scope.PROCESS, "/metrics/fleet": Scope.FLEET}


class MetricsPort:
    """Serves metrics in threads of its own, from `start` to `close`; port 0 takes a free one."""

    def __init__(self, exposition: Exposition, *, host: str, port: int) -> None:
        try:
            self._server = _Server((host, port), exposition)
        except OSError as error:
            raise UsageError(
                f"metrics cannot be served on {host}, port {port}: {error.strerror or error}; "
                "choose another with --metrics-port, or HOLDFAST_METRICS_PORT"
            ) from error
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="holdfast-metrics", daemon=True
        )

    @property
    def address(self) -> str:
        """Where the metrics are."""
        host, port = self._server.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{shown}:{port}/metrics"

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()
        LOGGER.info(
            "metrics at %s", self.address, extra={"event": "metrics", "address": self.address}
        )

    def close(self) -> None:
        """Serve nobody any more."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], exposition: Exposition) -> None:
        self.exposition = exposition
        self.places = threading.BoundedSemaphore(MAX_CLIENTS)
        super().__init__(address, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        """Clients come and go; what goes wrong with one is no trouble of the process."""
        LOGGER.debug("a request for metrics failed: %s", sys.exc_info()[1])


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = PATIENCE_S
    server_version = "holdfast"
    sys_version = ""
    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(code)d %(message)s\n"

    def do_GET(self) -> None:
        scope = _PAGES.get(self.path.partition("?")[0])
        if scope is None:
            self.send_error(404, "metrics are at /metrics and /metrics/fleet")
            return
        if not self.server.places.acquire(blocking=False):
            self.send_error(503, "too many ask at the same time; ask again later")
            return
        try:
            page = self.server.exposition.page(self.headers.get("accept", ""), scope=scope)
            self.send_response(200)
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(page.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(page.body)
        finally:
            self.server.places.release()

    do_HEAD = do_GET  # noqa: N815 - as above

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as above
        """Scrapes are no news."""
