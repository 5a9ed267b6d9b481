"""How a message of the outbox travels: CloudEvents attributes as headers, the payload as body."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from holdfast.core.values import trace_context
from holdfast.core.values.instant import to_rfc3339
from holdfast.core.values.outbox import OutboxMessage

PREFIX: Final = "cloudEvents:"
CONTENT_TYPE: Final = "application/json"
VERSION: Final = "1.0"
_SEQUENCE_DIGITS: Final = 20


def headers_of(message: OutboxMessage, *, source: str) -> dict[str, str]:
    """Return the headers of a message; `source` says where it comes from."""
    headers = {
        f"{PREFIX}specversion": VERSION,
        f"{PREFIX}id": message.id,
        f"{PREFIX}source": source,
        f"{PREFIX}type": message.message_type,
        f"{PREFIX}subject": message.aggregate_id,
        f"{PREFIX}time": to_rfc3339(message.created_at),
        # By it a consumer can tell which of two messages about one subject is the later one.
        f"{PREFIX}sequence": f"{message.position:0{_SEQUENCE_DIGITS}d}",
    }
    context = trace_context.read(message.trace)
    for name, value in ({} if context is None else context.headers()).items():
        headers[name] = headers[f"{PREFIX}{name}"] = value
    return headers


def attribute(headers: Mapping[str, Any], name: str) -> str | None:
    """Return a CloudEvents attribute; a foreign value counts as none."""
    value = headers.get(f"{PREFIX}{name}")
    return value if isinstance(value, str) and value else None


def time_of(headers: Mapping[str, Any]) -> datetime | None:
    """Return when the message says that it was made."""
    text = attribute(headers, "time")
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError:
        return None


def trace_of(headers: Mapping[str, Any]) -> str | None:
    """Return the trace context that the message carries, if it is one."""
    given = {
        name: headers.get(name) or attribute(headers, name)
        for name in (trace_context.PARENT, trace_context.STATE)
    }
    texts = {name: value for name, value in given.items() if isinstance(value, str)}
    context = trace_context.from_headers(texts)
    return None if context is None else context.text
