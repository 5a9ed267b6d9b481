"""One open event stream: what it wants to hear of, and what it has yet to be sent."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.api.events import sse
from holdfast.api.server.threads import in_thread
from holdfast.core.values.instant import SECOND_US
from holdfast.errors import InvalidValue, UnavailableError
from holdfast.runtime.events.stream_event import StreamEvent
from holdfast.runtime.events.tail import Page, Tail
from holdfast.runtime.events.tail_cursor import Cursor, cursor_from_text

if TYPE_CHECKING:
    from holdfast.api.events.hub import Hub

MAX_RESUMED: Final = 100_000
"""How many events a client that comes back is sent at most."""
LONGEST_AWAY_US: Final = 24 * 3600 * SECOND_US
RETRY_MS: Final = 2_000
_SENT_AT_ONCE: Final = 100


class Wanted(NamedTuple):
    """Which events a stream is about; what is None or empty narrows nothing."""

    owner: str | None = None
    """The one owner whose events may be sent; events of nobody in particular are then not."""
    job_id: str | None = None
    pipeline: str | None = None
    names: frozenset[str] = frozenset()
    shown: Callable[[StreamEvent], StreamEvent] | None = None
    """What becomes of events on their way to this reader."""

    def fits(self, told: StreamEvent) -> bool:
        """Return whether an event is to be sent."""
        return (
            (self.owner is None or told.owner == self.owner)
            and (self.job_id is None or told.job_id == self.job_id)
            and (self.pipeline is None or told.data.get("pipeline") == self.pipeline)
            and (not self.names or told.name in self.names)
        )

    def text(self, event: StreamEvent) -> bytes:
        """Return an event in the bytes of the wire, as its reader may see it."""
        seen = event if self.shown is None else self.shown(event)
        return sse.event(seen.name, seen.data, cursor=seen.cursor)


class Chunk(NamedTuple):
    """Some events in the bytes of the wire."""

    text: bytes
    events: int
    cursor: str
    """How far they go."""
    turn: int
    """In which of the hub's turns they were read."""


class Turn:
    """What a hub read in one turn; put into bytes once for all streams that want the same."""

    def __init__(self, page: Page, number: int) -> None:
        self.number = number
        self.cursor = page.cursor.to_text()
        self._events = page.events
        self._chunks: dict[Wanted, list[Chunk]] = {}
        self._by_job: dict[str | None, list[StreamEvent]] | None = None

    def of_job(self, job_id: str) -> Sequence[StreamEvent]:
        """Return the events of one job, in order."""
        if self._by_job is None:
            self._by_job = {}
            for event in self._events:
                self._by_job.setdefault(event.job_id, []).append(event)
        return self._by_job.get(job_id, ())

    def chunks(self, wanted: Wanted) -> list[Chunk]:
        """Return the events that a client wants; empty where there are none."""
        found = self._chunks.get(wanted)
        if found is None:
            found = self._chunks[wanted] = list(self._made(wanted))
        return found

    def _made(self, wanted: Wanted) -> Iterator[Chunk]:
        fitting = [told for told in self._events if wanted.fits(told)]
        for start in range(0, len(fitting), _SENT_AT_ONCE):
            some = fitting[start : start + _SENT_AT_ONCE]
            cursor = some[-1].cursor
            texts = [wanted.text(event) for event in some]
            if start + len(some) == len(fitting) and cursor != self.cursor:
                # The last events of the turn are not for this stream, which need not come back
                # for them.
                cursor = self.cursor
                texts.append(sse.position(cursor))
            yield Chunk(b"".join(texts), len(some), cursor, self.number)


class Joined(NamedTuple):
    """From where on a stream is sent what happens."""

    cursor: Cursor
    turn: int


class Stream:
    """The events that one client is sent, made for the loop that serves it."""

    def __init__(
        self,
        hub: Hub,
        *,
        wanted: Wanted,
        since: str | None,
        who: object,
        welcome: Callable[[], Awaitable[bool]],
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.who = who
        self._hub = hub
        self._wanted = wanted
        self._since = since
        self._welcome = welcome
        self._queue: deque[Chunk] = deque()
        self._queued = 0
        """How many events are in the queue."""
        self._news = asyncio.Event()
        self._overflowed: Turn | None = None
        """The last turn of which nothing is left, because the queue was full."""
        self._bye: str | None = None
        self._cursor = ""
        """How far what was pushed here has come."""
        self._sent = ""
        """How far what was sent has come."""

    @property
    def waiting(self) -> int:
        """How many events are yet to be sent."""
        return self._queued

    def push(self, turn: Turn) -> None:
        """Take what happened next; called in the loop of the stream.

        A queue that is full is emptied: that some events are missing is sent, not which.
        """
        chunks = turn.chunks(self._wanted)
        self._cursor = turn.cursor
        if not chunks:
            return
        events = sum(chunk.events for chunk in chunks)
        if self._queue and self._queued + events > self._hub.most_queued:
            self._fill(())
            self._overflowed = turn
        else:
            self._queue.extend(chunks)
            self._queued += events
        self._news.set()

    def end(self, reason: str) -> None:
        """Have the stream say goodbye and end; called in its loop."""
        self._bye = self._bye or reason
        self._news.set()

    async def chunks(self, joined: Joined) -> AsyncIterator[bytes]:
        """Yield what goes over the wire, until the client has gone or the process ends."""
        here = joined.cursor.to_text()
        self._cursor = self._cursor or here
        resumed = _sound(self._since)
        self._sent = here if resumed is None else resumed.to_text()
        yield sse.opening(retry_ms=RETRY_MS, cursor=self._sent)
        if self._since is not None:
            async for chunk in self._missed(resumed, joined):
                yield chunk
        beat_at = self.loop.time() + self._hub.heartbeat_s
        while self._bye is None:
            if self._overflowed is not None:
                lost, self._overflowed = self._overflowed, None
                yield self._gap("slow", lost.cursor)
            elif self._queue:
                yield self._next()
            elif self.loop.time() >= beat_at:
                if not await self._welcome():
                    self.end("credentials")
                    break
                beat_at = self.loop.time() + self._hub.heartbeat_s
                self._sent = self._cursor
                yield sse.heartbeat(self._sent)
            else:
                await self._wait(beat_at)
        yield sse.event("bye", {"reason": self._bye or ""}, cursor=self._sent)

    def _next(self) -> bytes:
        chunk = self._queue.popleft()
        self._queued -= chunk.events
        self._sent = chunk.cursor
        return chunk.text

    def _fill(self, chunks: Iterable[Chunk]) -> None:
        self._queue = deque(chunks)
        self._queued = sum(chunk.events for chunk in self._queue)

    def _gap(self, reason: str, cursor: str) -> bytes:
        """Tell that events are missing, and that the stream goes on from the cursor."""
        after, self._sent = self._sent, cursor
        return sse.event("gap", {"reason": reason, "after": after}, cursor=cursor)

    async def _wait(self, until: float) -> None:
        """Wait for news, or until a time of the loop."""
        self._news.clear()
        if self._queue or self._overflowed is not None or self._bye is not None:
            return
        # Not `wait_for`, which would make a task for every turn of every stream.
        timer = self.loop.call_at(until, self._news.set)
        try:
            await self._news.wait()
        finally:
            timer.cancel()

    async def _missed(self, cursor: Cursor | None, joined: Joined) -> AsyncIterator[bytes]:
        """Yield what happened between the cursor that the client came with and now.

        What happens meanwhile waits; when that becomes too much, it is read again from the store.
        """
        why_not = _why_not(cursor, joined.cursor)
        if cursor is None or why_not is not None:
            yield self._gap(why_not or "", joined.cursor.to_text())
            return
        told = 0
        while self._bye is None:
            tail = self._hub.tail(cursor)
            more = True
            while more and self._bye is None:
                page = await self._read(tail, joined.cursor)
                told += 0 if page is None else len(page.events)
                if page is None or told > MAX_RESUMED:
                    reason = "unavailable" if page is None else "too_many"
                    yield self._gap(reason, joined.cursor.to_text())
                    return
                more, self._sent = page.more, page.cursor.to_text()
                chunk = self._fitting(page)
                if chunk:
                    yield chunk
            if self._overflowed is None:
                return
            cursor = joined.cursor
            joined = await in_thread(self._hub.join, self)
            self._drop_until(joined.turn)

    def _drop_until(self, turn: int) -> None:
        """Forget what was pushed up to a turn; it is read from the store instead."""
        self._fill([chunk for chunk in self._queue if chunk.turn > turn])
        if self._overflowed is not None and self._overflowed.number <= turn:
            self._overflowed = None

    async def _read(self, tail: Tail, until: Cursor) -> Page | None:
        try:
            async with self._hub.readers:
                return await in_thread(tail.page, until=until.since)
        except UnavailableError:
            return None

    def _fitting(self, page: Page) -> bytes:
        wanted = self._wanted
        texts = [wanted.text(event) for event in page.events if wanted.fits(event)]
        return b"".join([*texts, sse.position(page.cursor.to_text())])


def _sound(since: str | None) -> Cursor | None:
    """Return the cursor of a text from outside, None when it is none."""
    try:
        return None if since is None else cursor_from_text(since)
    except InvalidValue:
        return None


def _why_not(cursor: Cursor | None, now: Cursor) -> str | None:
    """Return why nobody can go on from a cursor, or None where that is possible."""
    if cursor is None:
        return "unknown_id"
    since, here = cursor.since, now.since
    other_kind = bool(since.snapshot) != bool(here.snapshot)
    of_the_future = here.snapshot and since.jobs > here.jobs
    if other_kind or of_the_future or since.at > here.at + SECOND_US:
        return "unknown_id"
    return "too_old" if here.at - since.at > LONGEST_AWAY_US else None
