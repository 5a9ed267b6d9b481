"""What is only read is worth so much of the database's time, and no more."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.api.options import ApiOptions
from holdfast.store.statements.statement_timeout import reads_within


class Patience:
    """Has what a `GET` asks of the database broken off after a while."""

    def __init__(self, app: ASGIApp, options: ApiOptions) -> None:
        self._app = app
        self._read_s = options.read_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http" or scope["method"] not in {"GET", "HEAD"}:
            await self._app(scope, receive, send)
            return
        with reads_within(self._read_s):
            await self._app(scope, receive, send)
