"""Trace context as it is stored and passed on: the two W3C headers in one line of text.

The line is the `traceparent`, and where there is a `tracestate` that too, after a semicolon.
What a caller stored in another form is kept for that caller, and is no context to anybody else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_TEXT_LENGTH: Final = 255
PARENT: Final = "traceparent"
STATE: Final = "tracestate"

_PARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_STATE: Final = re.compile(r"[\x20-\x7e]+")
_NOTHING: Final = frozenset({"0" * 32, "0" * 16})
_INVALID_VERSION: Final = "ff-"


class TraceContext(NamedTuple):
    """Where in a trace something was asked for."""

    parent: str
    """As in the header `traceparent`."""
    state: str = ""
    """As in the header `tracestate`; empty where there is none."""

    @property
    def trace_id(self) -> str:
        """The trace, as 32 hexadecimal digits."""
        return self.parent[3:35]

    @property
    def text(self) -> str:
        """The form that is stored; a state that is too long for it is left out."""
        whole = f"{self.parent};{self.state}" if self.state else self.parent
        return whole if len(whole) <= MAX_TEXT_LENGTH else self.parent

    def headers(self) -> dict[str, str]:
        """Return the headers that carry it on."""
        return {PARENT: self.parent} | ({STATE: self.state} if self.state else {})


def read(text: str | None) -> TraceContext | None:
    """Return the context that a stored text holds, or None when it holds none."""
    if text is None:
        return None
    parent, _, state = text.partition(";")
    found = _PARENT.fullmatch(parent)
    if found is None or parent.startswith(_INVALID_VERSION) or _NOTHING & {*found.groups()}:
        return None
    return TraceContext(parent, state if _STATE.fullmatch(state) else "")


def from_headers(headers: Mapping[str, str]) -> TraceContext | None:
    """Return the context that came with a request, by header names in lower case."""
    context = read(headers.get(PARENT, "").strip())
    if context is None:
        return None
    state = headers.get(STATE, "").strip()
    return context._replace(state=state if _STATE.fullmatch(state) else "")
