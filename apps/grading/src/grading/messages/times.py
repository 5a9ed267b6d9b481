"""Times as messages and the API write them."""

from __future__ import annotations

from datetime import UTC, datetime


def time_text(value: datetime) -> str:
    """Return a time as ISO 8601 in UTC, with milliseconds."""
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
