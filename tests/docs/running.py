"""Runs programs from the documentation as a reader would: in a folder of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from tests.warm import process as warm

PAGE = b"<title>Example Domain</title>"


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
        pass


@contextmanager
def local_page() -> Iterator[str]:
    """Serve one page on loopback and yield its URL, which stands in for https://example.org."""
    server = HTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def without_settings() -> dict[str, str]:
    """Return this process's environment without what would point a program at a database."""
    return {
        name: value
        for name, value in os.environ.items()
        if name != "DATABASE_URL" and not name.startswith("HOLDFAST_")
    }


def run(
    program: Path, *arguments: str, folder: Path, timeout_s: float = 50, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a Python program to its end; warnings are errors, as in the tests themselves."""
    return warm.run(
        [sys.executable, "-W", "error", str(program), *arguments],
        cwd=folder,
        env={**without_settings(), "TMPDIR": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )
