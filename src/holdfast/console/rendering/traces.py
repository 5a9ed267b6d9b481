"""Where a trace is looked at: in a program of its own, which the operator names."""

from __future__ import annotations

from typing import NamedTuple

from holdfast.config.values import TRACE_URL_FORM, is_trace_url
from holdfast.core.values import trace_context
from holdfast.errors import InvalidValue


class Trace(NamedTuple):
    """The trace that something belongs to."""

    id: str
    href: str | None
    """Where it can be looked at; None where nobody said."""


class Traces:
    """Tells traces from what is stored of them."""

    def __init__(self, url: str | None) -> None:
        if url is not None and not is_trace_url(url):
            raise InvalidValue("mount_console", field="trace_url", value=url, limit=TRACE_URL_FORM)
        self._url = url

    def of(self, stored: str | None) -> Trace | None:
        """Return the trace of a stored context, or None where that is of another form."""
        context = trace_context.read(stored)
        if context is None:
            return None
        href = None if self._url is None else self._url.replace("{trace_id}", context.trace_id)
        return Trace(context.trace_id, href)
