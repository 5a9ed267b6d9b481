"""How a message of the outbox travels: CloudEvents attributes as headers, the payload as body."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from holdfast.core.instant import to_rfc3339
from holdfast.core.outbox import OutboxMessage

PREFIX: Final = "cloudEvents:"
CONTENT_TYPE: Final = "application/json"
VERSION: Final = "1.0"
TRACE: Final = "traceparent"
_SEQUENCE_DIGITS: Final = 20
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


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
    if message.trace is not None and _TRACEPARENT.fullmatch(message.trace):
        headers[TRACE] = message.trace
        headers[f"{PREFIX}{TRACE}"] = message.trace
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
    value = headers.get(TRACE) or attribute(headers, TRACE)
    return value if isinstance(value, str) and _TRACEPARENT.fullmatch(value) else None
