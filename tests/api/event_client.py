"""A client of event streams: it reads in a thread of its own, over a real socket."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

PATIENCE_S = 20.0


class Told(NamedTuple):
    """An event as it arrived."""

    name: str
    id: str
    data: dict[str, Any]


class EventClient:
    """One open stream; `last_id` is kept as browsers keep it."""

    def __init__(
        self,
        address: str,
        path: str = "/api/stream",
        *,
        token: str | None = None,
        cookie: str | None = None,
        last_id: str | None = None,
    ) -> None:
        self.events: list[Told] = []
        self.comments = 0
        self.retry_ms: int | None = None
        self.last_id = last_id or ""
        self.ended = False
        self._changed = threading.Condition()
        parts = urlsplit(address)
        headers = {"Accept": "text/event-stream"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if cookie is not None:
            headers["Cookie"] = cookie
        if last_id is not None:
            headers["Last-Event-ID"] = last_id
        self._connection = http.client.HTTPConnection(
            parts.hostname or "", parts.port or 80, timeout=PATIENCE_S
        )
        self._connection.request("GET", path, headers=headers)
        self._socket = self._connection.sock
        self.response = self._connection.getresponse()
        self.headers = self.response.headers
        self.status = self.response.status
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up, as somebody who closes a tab does."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._connection.close()
        self._thread.join(PATIENCE_S)

    @property
    def names(self) -> list[str]:
        """The names of the events so far."""
        return [event.name for event in self.events]

    def wait(self, condition: Callable[[EventClient], bool]) -> None:
        """Wait until the condition holds of what has arrived, or fail."""
        with self._changed:
            held = self._changed.wait_for(lambda: condition(self), PATIENCE_S)
        assert held, f"after {PATIENCE_S} s: {self.names}, ended: {self.ended}"

    def wait_for(self, *names: str) -> None:
        """Wait until events of these names have arrived, each as often as it is given."""
        self.wait(lambda it: all(it.names.count(name) >= names.count(name) for name in names))

    def _read(self) -> None:
        fields: dict[str, str] = {}
        try:
            while line := self.response.readline():
                self._take(line.decode().rstrip("\n"), fields)
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def _take(self, line: str, fields: dict[str, str]) -> None:
        with self._changed:
            if line.startswith(":"):
                self.comments += 1
            elif line:
                name, _, value = line.partition(": ")
                fields[name] = value
            else:
                self.last_id = fields.get("id", self.last_id)
                if "retry" in fields:
                    self.retry_ms = int(fields["retry"])
                if "data" in fields:
                    data = json.loads(fields["data"])
                    self.events.append(Told(fields.get("event", "message"), self.last_id, data))
                fields.clear()
            self._changed.notify_all()


def waited(condition: Callable[[], bool]) -> bool:
    """Whether the condition held before the patience was over."""
    gives_up_at = time.monotonic() + PATIENCE_S
    while time.monotonic() < gives_up_at:
        if condition():
            return True
        time.sleep(0.01)
    return condition()
