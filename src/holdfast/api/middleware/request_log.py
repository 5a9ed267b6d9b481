"""A line of the log for every request: what was asked, by whom, how it went; never the query."""

from __future__ import annotations

import logging
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.api.auth.authenticator import Visitor
from holdfast.api.auth.path_credential import shown_path
from holdfast.runtime.kernel.clock import monotonic_s

LOGGER: Final = logging.getLogger("holdfast.api")
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_FAULT: Final = 500


class RequestLog:
    """Logs requests that may change something as `info`, those that fail here as `warning`.

    The rest, which is most of it, is `debug`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and log it once it is answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began_s = monotonic_s()
        status = 0

        async def send_noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_noting)
        finally:
            _log(scope, status, monotonic_s() - began_s)


def _log(scope: Scope, status: int, took_s: float) -> None:
    level = logging.DEBUG if scope["method"] in _SAFE else logging.INFO
    if status >= _FAULT:
        level = logging.WARNING
    if not LOGGER.isEnabledFor(level):
        return
    state = scope.get("state") or {}
    visitor: Visitor | None = state.get("visitor")
    path = shown_path(scope)
    facts = {
        "event": "request",
        "request_id": state.get("request_id"),
        "method": scope["method"],
        "path": path,
        "http_status": status,
        "duration_ms": round(took_s * 1000, 3),
        "principal": None if visitor is None else visitor.principal.name,
    }
    LOGGER.log(level, "%s %s %d", scope["method"], path, status, extra=facts)
