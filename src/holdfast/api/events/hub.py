"""Where event streams hear what happens: one look at the store for all streams of a process.

While no stream is open nothing is asked. What this process itself decides is looked for at once,
what others do twice a second.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from typing import Final, Protocol, cast

from starlette.applications import Starlette

from holdfast.api.events.stream import Joined, Turn
from holdfast.api.problems import Problem
from holdfast.api.serving import Serving
from holdfast.engine.app import Holdfast
from holdfast.errors import HoldfastError, UnavailableError
from holdfast.runtime.events.announce import Applied
from holdfast.runtime.events.tail import Tail
from holdfast.runtime.events.tail_cursor import Cursor
from holdfast.runtime.kernel.clock import sleep_s

LOGGER: Final = logging.getLogger("holdfast.api")
POLL_S: Final = 0.5
HEARTBEAT_S: Final = 15.0
SHORTEST_S: Final = 0.25
"""However much this process decides, the store is not asked more often than this."""
OUTAGE_S: Final = 2.0
MAX_QUEUED: Final = 5_000
"""How many events may wait for a client before it learns that it missed some."""
READERS: Final = 4
"""How many streams that come back may read what they missed at a time."""


class Listening(Protocol):
    """An open stream: it is pushed what happens, in the loop that serves it."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop in which it is called."""
        ...

    @property
    def who(self) -> object:
        """Whose stream it is; None for one that does not count."""
        ...

    def push(self, turn: Turn) -> None:
        """Take what happened next."""
        ...

    def end(self, reason: str) -> None:
        """Have the stream end."""
        ...


class Hub:
    """The open streams of a process, and the thread that reads for them while there are any."""

    def __init__(
        self,
        engine: Holdfast,
        *,
        most_each: int,
        most_queued: int = MAX_QUEUED,
        heartbeat_s: float = HEARTBEAT_S,
        poll_s: float = POLL_S,
    ) -> None:
        self.readers = asyncio.Semaphore(READERS)
        self.most_queued = most_queued
        self.heartbeat_s = heartbeat_s
        self.engine = engine
        self._most_each = most_each
        self._poll_s = poll_s
        self._reading = threading.Lock()
        """Held while the store is read and what it says is handed out, and while a stream joins."""
        self._guard = threading.Lock()
        self._streams: set[Listening] = set()
        self._tail: Tail | None = None
        self._wake = threading.Event()
        self.turns = 0
        """How often something was handed out."""
        self._closing = False
        self.shown_to_end_users = engine.disclosure(end_user=True).event
        """One function for all of their streams, which share what is made of an event."""

    @property
    def open_streams(self) -> int:
        """How many streams are open."""
        return len(self._streams)

    @property
    def reads(self) -> bool:
        """Whether the store is being read."""
        return self._tail is not None

    def admit(self, who: object) -> None:
        """Raise the problem that keeps a visitor from opening one more stream, if there is one."""
        if self._closing:
            raise Problem("draining", "this process is about to end; open the stream again")
        with self._guard:
            theirs = Counter(stream.who for stream in self._streams)[who]
        if theirs >= self._most_each:
            raise Problem(
                "too_many_streams",
                f"{theirs} of your event streams are open here, which is the most that may be; "
                "close some, one is enough for a page",
            )

    def tail(self, since: Cursor) -> Tail:
        """Return a tail of a stream's own, from a cursor on."""
        return self.engine.tail(since)

    def join(self, stream: Listening) -> Joined:
        """Have a stream sent everything after the cursor that is returned; may block.

        A stream may join again, to leave out what it was too slow for.
        """
        with self._reading:
            if self._tail is None:
                self._tail = self.engine.tail()
                self._wake.clear()
                threading.Thread(
                    target=self._run, args=(self._tail,), name="holdfast-tail", daemon=True
                ).start()
            with self._guard:
                self._streams.add(stream)
            joined = Joined(self._tail.at, self.turns)
        if self._closing:
            self._end([stream], "shutdown")
        return joined

    def leave(self, stream: Listening) -> None:
        """Forget a stream; after the last one nothing is read any more."""
        with self._guard:
            self._streams.discard(stream)
        self._wake.set()

    def close(self) -> None:
        """Let no more streams in, and have those that are open say goodbye; any thread may."""
        self._closing = True
        self._end(self._present(), "shutdown")
        self._wake.set()

    def _run(self, tail: Tail) -> None:
        forget = self.engine.subscribe(self._on_applied)
        try:
            while (rest_s := self._step(tail)) is not None:
                sleep_s(rest_s)
                self._wake.wait(self._poll_s)
                self._wake.clear()
        except Exception:
            LOGGER.exception("the events of jobs cannot be read; streams end")
            with self._reading:
                self._tail = None
            self._end(self._present(), "error")
        finally:
            forget()

    def _step(self, tail: Tail) -> float | None:
        """Hand out what happened; return for how long to rest, None when nobody listens."""
        with self._reading:
            if self._closing or not self._present():
                self._tail = None
                return None
            try:
                self._hand_out(tail)
            except UnavailableError as error:
                LOGGER.warning("the events of jobs cannot be read now: %s", error)
                return OUTAGE_S
            except HoldfastError as error:
                # Closed, or of another schema: nothing will come of asking again.
                LOGGER.warning("streams end: %s", error)
                self._tail = None
                self._end(self._present(), "error")
                return None
        return SHORTEST_S

    def _hand_out(self, tail: Tail) -> None:
        while True:
            page = tail.page()
            self.turns += 1
            turn = Turn(page, self.turns)
            for loop, streams in self._by_loop().items():
                _push(loop, streams, turn)
            if not page.more:
                return

    def _on_applied(self, _: Applied) -> None:
        if not self._wake.is_set():
            self._wake.set()

    def _present(self) -> list[Listening]:
        with self._guard:
            return list(self._streams)

    def _by_loop(self) -> dict[asyncio.AbstractEventLoop, list[Listening]]:
        found: dict[asyncio.AbstractEventLoop, list[Listening]] = {}
        for stream in self._present():
            found.setdefault(stream.loop, []).append(stream)
        return found

    def _end(self, streams: list[Listening], reason: str) -> None:
        for stream in streams:
            try:
                stream.loop.call_soon_threadsafe(stream.end, reason)
            except RuntimeError:
                self.leave(stream)  # its loop has ended, and it with it


def _push(loop: asyncio.AbstractEventLoop, streams: list[Listening], turn: Turn) -> None:
    def push() -> None:
        for stream in streams:
            stream.push(turn)

    try:
        loop.call_soon_threadsafe(push)
    except RuntimeError:
        LOGGER.debug("the loop of %d streams has ended", len(streams))


def hub_of(api: Starlette) -> Hub:
    """Return the hub of an API, which is made for its first stream."""
    found: Hub | None = getattr(api.state, "hub", None)
    if found is None:
        serving = cast("Serving", api.state.serving)
        found = api.state.hub = Hub(serving.engine, most_each=serving.options.max_streams)
        serving.readiness.on_drain(found.close)
    return found
