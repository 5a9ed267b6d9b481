"""Reads the payload of a submission from the command line, a file or stdin."""

from __future__ import annotations

import sys
from pathlib import Path

from holdfast.core.values.document import JsonValue, Limits, parse
from holdfast.errors import UsageError


def read_payload(given: str | None, *, limits: Limits) -> JsonValue:
    """Return the payload: JSON text, `-` for stdin, `@path` for a file, nothing for null."""
    if given is None:
        return None
    if given == "-":
        return parse(sys.stdin.buffer.read(limits.max_bytes + 1), what="payload", limits=limits)
    if given.startswith("@"):
        try:
            with Path(given[1:]).open("rb") as file:
                content = file.read(limits.max_bytes + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot read the payload from {given[1:]!r}: {reason}") from error
        return parse(content, what="payload", limits=limits)
    return parse(given, what="payload", limits=limits)
