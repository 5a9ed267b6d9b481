"""Event streams of systems: the news of one job, in a system's own words.

A route of a system checks who may see the job and returns `stream_of`. What goes over the wire is
the system's; when to look is the engine's: at once for what this process decides, within half a
second for what others do.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from holdfast.api.access import Principal
from holdfast.api.auth.visitors import is_still_welcome
from holdfast.api.events import sse
from holdfast.api.events.hub import Hub, hub_of
from holdfast.api.events.stream import Turn
from holdfast.api.server.threads import in_thread
from holdfast.engine.app import Holdfast
from holdfast.errors import UnavailableError, UsageError
from holdfast.runtime.events.stream_event import StreamEvent

__all__ = ["END", "Rendered", "StreamEvent", "stream_of"]

LOGGER: Final = logging.getLogger("holdfast.api")
MAX_QUEUED: Final = 1_000
"""How many events of a job may wait for a client; of more the oldest are left out."""
OUTAGE_S: Final = 2.0


class _End:
    """What ends a stream."""

    def __repr__(self) -> str:
        return "END"


END: Final = _End()
"""The last item that `render` or `first` returns for a stream that is over."""

Rendered: TypeAlias = tuple[str, Mapping[str, Any], str | None] | _End
"""An event as it is sent: its name, its data, and its id or None; or `END`."""
Render: TypeAlias = Callable[[StreamEvent | None], Iterable[Rendered]]


class _Terms(NamedTuple):
    """How a stream goes on and when it ends."""

    job_id: str
    render: Callable[..., Iterable[Rendered]]
    first: Callable[[], Iterable[Rendered]]
    heartbeat_s: float
    idle_s: float
    poll_s: float | None
    retry_ms: int


def stream_of(
    request: Request,
    app: Holdfast,
    *,
    job_id: str,
    render: Callable[[StreamEvent], Iterable[Rendered]] | Render,
    first: Callable[[], Iterable[Rendered]],
    who: Principal | None,
    heartbeat_s: float = 30.0,
    idle_s: float = 1800.0,
    poll_s: float | None = None,
    retry_ms: int = 5_000,
) -> StreamingResponse:
    """Return a stream of server-sent events about one job; the caller has checked access to it.

    `first` returns what is sent on connect, `render` what is sent for an event of the job. Both run
    in a thread and may read. What happens while `first` runs is rendered after it, so that nothing
    is missed and something may be said twice. With `poll_s` `render(None)` is called so often as
    well, for news that no event of the job brings.
    Every `heartbeat_s` a `ping` without an id is sent, unless the credentials of `who` have ended:
    then the stream ends, as it does after `END`, after `idle_s` without anything but pings, and
    when the process ends. Raises the problem `too_many_streams`.
    """
    hub = hub_of(request.app)
    if hub.engine is not app:
        raise UsageError("stream_of: app is another application than the one that is served")
    if who is not None:
        hub.admit((who.name, who.owner))
    terms = _Terms(job_id, render, first, heartbeat_s, idle_s, poll_s, retry_ms=retry_ms)
    return _Response(hub, terms, request, who)


class _Response(StreamingResponse):
    """A stream that is opened as it is sent; however it ends, the hub forgets it."""

    media_type = sse.MEDIA_TYPE

    def __init__(self, hub: Hub, terms: _Terms, request: Request, who: Principal | None) -> None:
        super().__init__((), headers=sse.HEADERS)
        self._hub = hub
        self._terms = terms
        self._request = request
        self._who = who

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the stream or the client ends."""
        who = self._who
        stream = _JobStream(self._terms, None if who is None else (who.name, who.owner))
        await in_thread(self._hub.join, stream)
        try:
            opening = await in_thread(lambda: list(self._terms.first()))
            self.body_iterator = stream.chunks(opening, self._is_welcome)
            await super().__call__(scope, receive, send)
        finally:
            self._hub.leave(stream)

    async def _is_welcome(self) -> bool:
        return self._who is None or await is_still_welcome(self._request, self._who)


class _JobStream:
    """One client's stream about one job, made for the loop that serves it."""

    def __init__(self, terms: _Terms, who: object) -> None:
        self.loop = asyncio.get_running_loop()
        self.who = who
        self._terms = terms
        self._queue: deque[StreamEvent | None] = deque(maxlen=MAX_QUEUED)
        self._news = asyncio.Event()
        self._ended = False

    def push(self, turn: Turn) -> None:
        """Take what happened next; called in the loop of the stream."""
        events = turn.of_job(self._terms.job_id)
        if events:
            self._queue.extend(events)
            self._news.set()

    def end(self, reason: str) -> None:
        """Have the stream end; called in its loop."""
        LOGGER.debug("a stream of job %s ends: %s", self._terms.job_id, reason)
        self._ended = True
        self._news.set()

    async def chunks(
        self, opening: Iterable[Rendered], welcome: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[bytes]:
        """Yield what goes over the wire."""
        yield f"retry: {self._terms.retry_ms}\n\n".encode()
        text, over = _text(opening)
        if text:
            yield text
        now = self.loop.time()
        ping_at, idle_at, poll_at = (
            now + self._terms.heartbeat_s,
            now + self._terms.idle_s,
            self._next_poll(),
        )
        while not over and not self._ended:
            now = self.loop.time()
            if now >= poll_at:
                self._queue.append(None)
                poll_at = self._next_poll()
            if self._queue:
                text, over = _text(await self._rendered(self._queue.popleft()))
                if text:
                    idle_at = self.loop.time() + self._terms.idle_s
                    yield text
            elif now >= idle_at:
                return
            elif now >= ping_at:
                if not await welcome():
                    return
                ping_at = self.loop.time() + self._terms.heartbeat_s
                yield sse.event("ping", {})
            else:
                await self._wait(min(ping_at, idle_at, poll_at))

    def _next_poll(self) -> float:
        return float("inf") if self._terms.poll_s is None else self.loop.time() + self._terms.poll_s

    async def _rendered(self, event: StreamEvent | None) -> list[Rendered]:
        """Return what is sent for an event; a store that is away is waited for."""
        while not self._ended:
            try:
                return await in_thread(lambda: list(self._terms.render(event)))
            except UnavailableError as error:
                LOGGER.warning("the news of a job cannot be read now: %s", error)
                await asyncio.sleep(OUTAGE_S)
            except Exception:
                LOGGER.exception(
                    "a stream ends: the news of job %s cannot be told", self._terms.job_id
                )
                break
        return [END]

    async def _wait(self, until: float) -> None:
        """Wait for news, or until a time of the loop."""
        self._news.clear()
        if self._queue or self._ended:
            return
        timer = self.loop.call_at(until, self._news.set)
        try:
            await self._news.wait()
        finally:
            timer.cancel()


def _text(rendered: Iterable[Rendered]) -> tuple[bytes, bool]:
    """Return events in the bytes of the wire, and whether the stream is over after them."""
    texts: list[bytes] = []
    for item in rendered:
        if isinstance(item, _End):
            return b"".join(texts), True
        name, data, cursor = item
        texts.append(sse.event(name, dict(data), cursor=cursor))
    return b"".join(texts), False
