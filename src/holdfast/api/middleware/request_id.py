"""A name for every request, in its answer and in the log, so that both can be found together.

Where the API itself is mounted is kept beside it: what is mounted in the API changes `root_path`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER: Final = "x-request-id"
_GIVEN: Final = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestIds:
    """Gives every request an id: the one it came with if that is a plain word, else a new one."""

    def __init__(self, app: ASGIApp, *, fresh: Callable[[], str]) -> None:
        self._app = app
        self._fresh = fresh

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with its id and the API's root in the scope's state."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        request_id = given if _GIVEN.fullmatch(given) else self._fresh()
        scope.setdefault("state", {}).update(request_id=request_id, root=scope.get("root_path", ""))

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = request_id
            await send(message)

        await self._app(scope, receive, send_with_id)
