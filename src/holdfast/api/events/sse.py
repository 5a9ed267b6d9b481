"""Server-sent events as they go over the wire: https://html.spec.whatwg.org/#server-sent-events."""

from __future__ import annotations

import json
from typing import Any, Final

MEDIA_TYPE: Final = "text/event-stream"
HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Nothing on the way may keep a stream for later, or collect it before it passes it on."""


def event(name: str, data: dict[str, Any], *, cursor: str | None = None) -> bytes:
    """Return an event; who opens a stream again with its id goes on after it."""
    told = "" if cursor is None else f"id: {cursor}\n"
    # JSON has no line breaks of its own, so that the data is one line whatever it says.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"{told}event: {name}\ndata: {text}\n\n".encode("utf-8", "replace")


def opening(*, retry_ms: int, cursor: str) -> bytes:
    """Return the beginning of a stream: how soon to come again, and from where on."""
    return f"retry: {retry_ms}\nid: {cursor}\n\n".encode()


def position(cursor: str) -> bytes:
    """Return how far the stream has come, without an event."""
    return f"id: {cursor}\n\n".encode()


def heartbeat(cursor: str) -> bytes:
    """Return a sign of life, which also says how far the stream has come; it is no event."""
    return f": still here\nid: {cursor}\n\n".encode()
