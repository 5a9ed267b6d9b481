"""Requests at a steady pace and open event streams, against a served API.

Requests are sent when they are due, whether or not earlier ones were answered, and each is timed
from when it was due: a server that stalls cannot hide it by slowing its clients down.
"""

import asyncio
import json
import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

CONNECTIONS = 100
"""How many requests may be under way; those that are due wait, and their time counts."""
ANSWER_S = 60.0
WARM_UP = 50
"""Untimed requests before the timed ones, so that nobody pays for what is done once."""
_READ_BYTES = 1 << 16


@dataclass
class Heard:
    """What one event stream was told."""

    events: int = 0
    gaps: int = 0
    ended: bool = False


@dataclass
class Load:
    """How a load went."""

    waits_ns: list[int] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    streams: list[Heard] = field(default_factory=list)

    @property
    def deaf(self) -> int:
        """How many streams ended early, missed something, or heard nothing."""
        return sum(each.ended or each.gaps > 0 or not each.events for each in self.streams)


class Connection:
    """One connection to the server, kept for the next request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Status and body of the answer to a request."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        length = next(
            int(line.split(b":")[1])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        )
        return status, await self._reader.readexactly(length)

    def close(self) -> None:
        self._writer.close()


class Client:
    """Sends requests over connections of its own."""

    def __init__(self, address: str, token: str) -> None:
        parts = urlsplit(address)
        self._host, self._port = parts.hostname, parts.port
        self._token = token
        self._idle: deque[Connection] = deque()
        self._places = asyncio.Semaphore(CONNECTIONS)

    def request(self, method: str, path: str, body: Any = None) -> bytes:
        """The bytes of a request."""
        text = b"" if body is None else json.dumps(body).encode()
        head = [
            f"{method} {path} HTTP/1.1",
            f"Host: {self._host}:{self._port}",
            f"Authorization: Bearer {self._token}",
            f"Content-Length: {len(text)}",
        ]
        if body is not None:
            head.append("Content-Type: application/json")
        return "\r\n".join([*head, "", ""]).encode() + text

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Status and body of the answer, once one of the connections is free for the request."""
        async with self._places:
            return await self._ask(request)

    async def _ask(self, request: bytes) -> tuple[int, bytes]:
        while True:
            fresh = not self._idle
            connection = await self._connect() if fresh else self._idle.pop()
            try:
                answer = await asyncio.wait_for(connection.ask(request), ANSWER_S)
            except (asyncio.IncompleteReadError, ConnectionError):
                connection.close()
                if fresh:
                    raise
                continue  # the server had closed it, which is no answer
            self._idle.append(connection)
            return answer

    async def listen(self, heard: Heard, opened: asyncio.Event) -> None:
        """Read an event stream until it ends or this is cancelled."""
        reader, writer = await asyncio.open_connection(self._host, self._port)
        try:
            writer.write(self.request("GET", "/api/stream"))
            await reader.readuntil(b"retry: ")
            opened.set()
            left = b""
            while text := await reader.read(_READ_BYTES):
                *lines, left = (left + text).split(b"\n")
                for line in lines:
                    if line.startswith(b"event: "):
                        heard.gaps += line == b"event: gap"
                        heard.events += 1
            heard.ended = True
        finally:
            writer.close()

    def close(self) -> None:
        for connection in self._idle:
            connection.close()

    async def _connect(self) -> Connection:
        return Connection(*await asyncio.open_connection(self._host, self._port))


async def put_on(
    address: str, *, token: str, streams: int, per_second: int, seconds: float, pipeline: str
) -> Load:
    """Open the streams, send requests for so long, and tell how it went."""
    load = Load(streams=[Heard() for _ in range(streams)])
    client = Client(address, token)
    opened = [asyncio.Event() for _ in range(streams)]
    listeners = [
        asyncio.create_task(client.listen(heard, event))
        for heard, event in zip(load.streams, opened, strict=True)
    ]
    await asyncio.wait_for(asyncio.gather(*(event.wait() for event in opened)), ANSWER_S)
    mixed = _Mix(client, pipeline)
    for _ in range(WARM_UP):
        await _ask(client, mixed, time.perf_counter(), Load())
    asked: list[asyncio.Task[None]] = []
    began_s = time.perf_counter()
    for number in range(int(per_second * seconds)):
        due_s = began_s + number / per_second
        await asyncio.sleep(max(due_s - time.perf_counter(), 0))
        asked.append(asyncio.create_task(_ask(client, mixed, due_s, load)))
    await asyncio.gather(*asked)
    for listener in listeners:
        listener.cancel()
    await asyncio.gather(*listeners, return_exceptions=True)
    client.close()
    return load


async def _ask(client: Client, mixed: "_Mix", due_s: float, load: Load) -> None:
    expected, request, note = mixed.next()
    try:
        status, body = await client.ask(request)
    except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
        load.failures.append(f"{request.split(b' HTTP', 1)[0].decode()}: {error!r}")
        return
    load.waits_ns.append(int((time.perf_counter() - due_s) * 1e9))
    if status == expected:
        note(body)
    else:
        load.failures.append(f"{request.split(b' HTTP', 1)[0].decode()}: {status} {body[:200]!r}")


class _Mix:
    """Three submissions in ten requests; the others read jobs that were submitted, and lists."""

    def __init__(self, client: Client, pipeline: str) -> None:
        self._client = client
        self._pipeline = pipeline
        self._rolls = random.Random(1)
        self._jobs: deque[str] = deque(maxlen=1000)

    def next(self) -> tuple[int, bytes, Callable[[bytes], None]]:
        roll = self._rolls.random()
        if roll < 0.3 or not self._jobs:
            body = {"pipeline": self._pipeline, "payload": {"n": 1}}
            return 201, self._client.request("POST", "/api/jobs", body), self._note
        job = self._rolls.choice(self._jobs)
        if roll < 0.7:
            path = f"/api/jobs/{job}"
        elif roll < 0.8:
            path = f"/api/jobs/{job}/events"
        elif roll < 0.9:
            path = "/api/jobs?limit=20"
        else:
            path = "/api/queues"
        return 200, self._client.request("GET", path), lambda _: None

    def _note(self, body: bytes) -> None:
        self._jobs.append(json.loads(body)["id"])
