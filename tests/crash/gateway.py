"""An upstream on loopback that can be down, half bad or slow, and knows when it was called."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress

LATENCY_S = 0.02


class Gateway:
    """Answers every request after a moment, as `answers` says for the n-th call."""

    def __init__(self) -> None:
        self.answers: Callable[[int], int] = lambda _: 200
        self.arrivals: list[float] = []
        """When each call arrived, in seconds since the epoch."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        serving = asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self._server = asyncio.run_coroutine_threadsafe(serving, self._loop).result(10)
        self.port: int = self._server.sockets[0].getsockname()[1]

    def down(self) -> None:
        self.answers = lambda _: 503

    def up(self) -> None:
        self.answers = lambda _: 200

    def half_bad(self) -> None:
        self.answers = lambda n: 503 if n % 2 else 200

    def arrived_between(self, first: float, last: float) -> int:
        return sum(first <= at < last for at in self.arrivals)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._server.close()
        with suppress(RuntimeError):
            self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            self.arrivals.append(time.time())
            status = self.answers(len(self.arrivals))
            await asyncio.sleep(LATENCY_S)
            writer.write(f"HTTP/1.0 {status} X\r\n\r\n".encode())
            await writer.drain()
            writer.close()


async def call(port: int) -> int:
    """Call the gateway once and return its status."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        line = await reader.readline()
        return int(line.split()[1])
    finally:
        writer.close()


class Bucket:
    """Answers 429 to every call for which there is no token: `calls` a second, `most` at once."""

    def __init__(self, calls: float, most: float) -> None:
        self.refused = 0
        self._calls, self._most = calls, most
        self._tokens, self._at = most, time.monotonic()

    def answer(self, _number: int) -> int:
        now = time.monotonic()
        self._tokens = min(self._tokens + (now - self._at) * self._calls, self._most)
        self._at = now
        if self._tokens < 1:
            self.refused += 1
            return 429
        self._tokens -= 1
        return 200
