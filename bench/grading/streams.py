"""Learners who have their submissions open: server-sent events, and when each one came."""

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

from holdfast import Holdfast

OPEN_S = 60.0
STREAMS_EACH = 80
"""A server opens a hundred for one client."""
_HEAD = (
    "GET /api/sse/submissions/{id} HTTP/1.1\r\nHost: {host}\r\n"
    "Authorization: Bearer {token}\r\nAccept: text/event-stream\r\n\r\n"
)


class Streams:
    """When the last event of each submission came, by the wall clock."""

    def __init__(self) -> None:
        self.opened = 0
        self.ended_ns: dict[str, int] = {}

    def wait(self, count: int, *, opened: bool = False, within_s: float = OPEN_S) -> bool:
        """Wait until so many streams are open, or have ended; return whether they are."""
        until_s = time.monotonic() + within_s
        while (self.opened if opened else len(self.ended_ns)) < count:
            if time.monotonic() > until_s:
                return False
            time.sleep(0.01)
        return True


@contextmanager
def watching(address: str, database_url: str, ids: Sequence[str]) -> Iterator[Streams]:
    """Open the streams of submissions, and note when each ends."""
    streams = Streams()
    with Holdfast(database_url) as app:
        tokens = [
            app.tokens.create(f"watcher {number}", role="reader", by="bench")[1]
            for number in range(0, len(ids), STREAMS_EACH)
        ]
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    watched = [
        asyncio.run_coroutine_threadsafe(
            _watch(streams, address, each, token=tokens[number // STREAMS_EACH]), loop
        )
        for number, each in enumerate(ids)
    ]
    try:
        streams.wait(len(ids), opened=True)
        yield streams
    finally:
        for each in watched:
            each.cancel()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _watch(streams: Streams, address: str, submission_id: str, *, token: str) -> None:
    host = urlsplit(address)
    reader, writer = await asyncio.open_connection(host.hostname, host.port)
    writer.write(_HEAD.format(id=submission_id, host=host.netloc, token=token).encode())
    try:
        await reader.readuntil(b"\r\n\r\n")
        streams.opened += 1
        while line := await reader.readline():
            if line.startswith((b"event: grading.completed", b"event: grading.failed")):
                streams.ended_ns[submission_id] = time.time_ns()
                return
    finally:
        writer.close()
