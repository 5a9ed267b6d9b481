"""How much a client may send, and how long it may take, counted while it sends."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.api.options import ApiOptions
from holdfast.api.problems import Problem, response_of
from holdfast.runtime.kernel.clock import monotonic_s

SLOWEST_BYTES_PER_S: Final = 64 * 1024
_CLOSE: Final = {"Connection": "close"}


class BodyLimits:
    """Ends requests whose body is too large or too slow, whatever the application makes of it."""

    def __init__(self, app: ASGIApp, *, options: ApiOptions) -> None:
        self._app = app
        self._max_bytes = options.max_body_bytes
        # The longest beginning first: the most particular limit counts.
        self._of_paths = sorted(options.body_limits.items(), key=lambda item: -len(item[0]))
        self._body_s = options.body_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; what is too much of it is cut off, and answered here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit(scope)
        if _declared(Headers(scope=scope)) > limit:
            await response_of(too_large(limit), scope)(scope, receive, send)
            return
        body = _Body(receive, send, scope, limit=limit, body_s=self._body_s)
        try:
            await self._app(scope, body.receive, body.send)
        except Exception:
            # It was notified that the client is gone, and may have taken that for an error.
            if not body.is_cut:
                raise
        await body.finish()

    def _limit(self, scope: Scope) -> int:
        path = str(scope["path"]).removeprefix(str(scope.get("root_path", "")))
        return next(
            (limit for start, limit in self._of_paths if path.startswith(start)), self._max_bytes
        )


class _Body:
    """One request's body on its way in, and its answer on the way out."""

    def __init__(
        self, receive: Receive, send: Send, scope: Scope, *, limit: int, body_s: float
    ) -> None:
        self._receive = receive
        self._send = send
        self._scope = scope
        self._limit = limit
        self._until_s = monotonic_s() + body_s
        self._got = 0
        self._complete = False
        self._answering = False
        self._problem: Problem | None = None

    @property
    def is_cut(self) -> bool:
        """Return whether the body has become a problem."""
        return self._problem is not None

    async def receive(self) -> Message:
        """Return the next part; after one too many, that the client is gone."""
        if self._problem is not None:
            return {"type": "http.disconnect"}
        if self._complete:
            return await self._receive()
        message = await self._next_part()
        if message is None:
            self._problem = Problem(
                "body_too_slow",
                "the body did not arrive in time; send it again over a better connection",
                headers=_CLOSE,
            )
            return {"type": "http.disconnect"}
        if message["type"] == "http.request":
            self._got += len(message.get("body", b""))
            self._complete = not message.get("more_body", False)
            if self._got > self._limit:
                self._problem = too_large(self._limit)
                return {"type": "http.disconnect"}
        return message

    async def _next_part(self) -> Message | None:
        """Return the next part, None when it does not come in time."""
        left_s = self._until_s + self._got / SLOWEST_BYTES_PER_S - monotonic_s()
        if left_s <= 0:
            return None
        try:
            async with asyncio.timeout(left_s):
                return await self._receive()
        except TimeoutError:
            return None

    async def send(self, message: Message) -> None:
        """Pass the answer on, unless the body has become a problem before it began."""
        if self._problem is not None and not self._answering:
            return
        self._answering = True
        await self._send(message)

    async def finish(self) -> None:
        """Answer with the problem that the body has become, if nothing was answered before."""
        if self._problem is not None and not self._answering:
            answer = response_of(self._problem, self._scope)
            await answer(self._scope, self._receive, self._send)


def too_large(limit: int) -> Problem:
    """Return the problem of a body above the limit."""
    return Problem(
        "body_too_large",
        f"the body may have {limit} bytes at most; send less, or in several requests",
        headers=_CLOSE,
        max_bytes=limit,
    )


def _declared(headers: Headers) -> int:
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() else 0
