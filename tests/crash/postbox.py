"""A provider of the tests' own: a real HTTP server whose ledger outlives every worker.

What was told to whom stands in a file that only this server writes, and tests judge by that file.
It can be told to misbehave: accept and then answer 500, hang, reset, or lag with its lookup.
"""

import json
import os
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from holdfast import Retry
from holdfast.classify import ProviderError, Verdict
from holdfast.deliveries import CourierOptions, Evidence, Promise

POST_VARIABLE = "CRASH_POST"
HANG_S = 30.0
WORSE = ("accept then 500", "accept then reset", "accept then hang")
"""Ways to have accepted a message and not to say so."""


PATIENT = Retry(attempts=10, base=0.05, factor=1.0, jitter="none")
OPTIONS = {"timeout": 1.0, "lease": 2.0, "retry": PATIENT, "lookup": PATIENT, "concurrency": 4}
GOOD = Promise(dedupes_for=3600, lookup_lag=0.0)


class Told(NamedTuple):
    """A line of the ledger: a recipient was told."""

    token: str
    to: str
    at: float
    number: int


class Postbox:
    """The server; `plan` says what happens to the n-th send, `ok` when it says nothing."""

    def __init__(self, folder: Path, *, dedupes: bool = True, lookup_lag_s: float = 0.0) -> None:
        self.ledger_path = folder / "ledger"
        self.dedupes = dedupes
        self.lookup_lag_s = lookup_lag_s
        self.plan: dict[int, str] = {}
        self.otherwise = "ok"
        self.lookups_down = False
        self.requests: Counter[str] = Counter()
        self.seen: list[str] = []
        """The token of every send that arrived, accepted or not."""
        self._lock = threading.Lock()
        self._told: dict[str, Told] = {}
        handler = type("Handler", (_Handler,), {"postbox": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def ledger(self) -> list[Told]:
        """Everything that anybody was told, by the provider's own record."""
        if not self.ledger_path.exists():
            return []
        lines = self.ledger_path.read_text(encoding="utf-8").splitlines()
        return [Told(**json.loads(line)) for line in lines]

    def told(self) -> Counter[str]:
        """How often each recipient was told."""
        return Counter(line.to for line in self.ledger())

    def deliver(self, token: str, message: dict[str, Any]) -> tuple[str, str]:
        """Take a send and return what to do about it, and the id of the message."""
        with self._lock:
            self.requests["send"] += 1
            self.seen.append(token)
            how = self.plan.get(self.requests["send"], self.otherwise)
            if how in {"refuse", "busy", "drop"}:
                return how, ""
            known = self._told.get(token)
            if known is None or not self.dedupes:
                known = Told(token, message["to"], time.time(), self.requests["send"])
                self._told[token] = known
                self._write(known)
            return how, f"m-{known.number}"

    def find(self, token: str) -> str | None:
        with self._lock:
            self.requests["lookup"] += 1
            known = self._told.get(token)
        if known is None or time.time() - known.at < self.lookup_lag_s:
            return None
        return f"m-{known.number}"

    def _write(self, told: Told) -> None:
        file = os.open(self.ledger_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, json.dumps(told._asdict()).encode() + b"\n")
            os.fsync(file)
        finally:
            os.close(file)


class _Handler(BaseHTTPRequestHandler):
    postbox: Postbox

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        message = json.loads(self.rfile.read(size))
        how, message_id = self.postbox.deliver(self.headers["Idempotency-Key"], message)
        match how:
            case "ok":
                self._answer(200, {"id": message_id})
            case "slow":
                time.sleep(0.2)
                self._answer(200, {"id": message_id})
            case "busy":
                self._answer(429, {})
            case "refuse":
                self._answer(422, {})
            case "accept then 500":
                self._answer(500, {})
            case "accept then hang":
                time.sleep(HANG_S)
            case "accept then reset" | "drop":
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.connection.close()

    def do_GET(self) -> None:
        if self.postbox.lookups_down:
            self.postbox.requests["lookup"] += 1
            self._answer(503, {})
            return
        found = self.postbox.find(self.path.lstrip("/"))
        self._answer(404 if found is None else 200, {"id": found})

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        with suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Post:
    """The client: what a worker sends through. One call is one request."""

    def __init__(self, port: int, promise: Promise, *, name: str = "post", **more: Any) -> None:
        self.name = name
        self.promise = promise
        self._port = port
        for key, value in more.items():
            setattr(self, key, value)

    def send(self, message: Any, *, token: str, timeout_s: float) -> Evidence:
        body = json.dumps(dict(message)).encode()
        status, document = self._call(
            "POST", "/", body, timeout_s=timeout_s, headers={"Idempotency-Key": token}
        )
        if status == 200:
            return Evidence(document["id"])
        raise _refusal(status)

    def lookup(
        self, *, token: str, notification_id: str | None, timeout_s: float
    ) -> Evidence | None:
        status, document = self._call("GET", f"/{token}", None, timeout_s=timeout_s, headers={})
        if status == 404:
            return None
        if status == 200:
            return Evidence(document["id"])
        raise _refusal(status)

    def _call(
        self, method: str, path: str, body: Any, *, timeout_s: float, headers: dict[str, str]
    ) -> tuple[int, dict[str, Any]]:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=timeout_s)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, HTTPException) as error:
            raise ProviderError(
                Verdict("NETWORK", retryable=True, outcome_known=False), str(error)
            ) from error
        finally:
            connection.close()


def _refusal(status: int) -> ProviderError:
    verdicts = {
        422: Verdict("INVALID", retryable=False),
        429: Verdict("RATE_LIMITED", retryable=True),
    }
    unknown = Verdict("UPSTREAM_5XX", retryable=True, outcome_known=False)
    return ProviderError(verdicts.get(status, unknown), f"answered {status}", status_code=status)


def posted_to(postbox: Postbox, promise: Promise = GOOD) -> dict[str, str]:
    """The environment in which a worker delivers to a postbox by that promise."""
    return {POST_VARIABLE: json.dumps({"port": postbox.port, "promise": asdict(promise)})}


def from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """The options of an application that delivers as its environment says, if it says anything."""
    text = environment.get(POST_VARIABLE)
    if text is None:
        return {}
    given = json.loads(text)
    post = Post(given["port"], Promise(**given["promise"]))
    return {"providers": [post], "courier": CourierOptions(**OPTIONS)}
