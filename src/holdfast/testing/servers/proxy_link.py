"""One client's way through the proxy, and the faults that may befall it on the way.

All of it lives on the proxy's event loop.
"""

import asyncio
import socket
import struct
import threading
from dataclasses import dataclass, field
from typing import Literal

from holdfast.testing.postgres.protocol import (
    Conversation,
    Message,
    MessageStream,
    command_tag,
    does,
)

Direction = Literal["to_server", "to_client"]

_CHUNK_BYTES = 65_536
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_SETTLE_LIMIT_S = 1.0
_NO_ENCRYPTION = b"N"


class LostReplies:
    """How often a `drop_commit_reply` has struck; may be asked from any thread."""

    def __init__(self, *, times: int) -> None:
        self._times = times
        self._count = 0
        self._all_struck = threading.Event()

    @property
    def count(self) -> int:
        """The links cut so far."""
        return self._count

    @property
    def is_spent(self) -> bool:
        """Whether it has struck as often as it was asked to."""
        return self._all_struck.is_set()

    def wait(self, timeout_s: float = 10.0) -> bool:
        """Waits until it has struck as often as it was asked to; whether it did in time."""
        return self._all_struck.wait(timeout_s)

    def strike(self) -> None:
        """Counts one more."""
        self._count += 1
        if self._count >= self._times:
            self._all_struck.set()


@dataclass(frozen=True, slots=True)
class CommitTrap:
    """Which commits to lose, and on which side of the server."""

    forward: bool
    tags: tuple[str, ...]
    containing: str
    losses: LostReplies

    def catches_statement(self, sql: str, *, talk: Conversation) -> bool:
        """Return whether `sql`, on its way to the server, is a commit that must not arrive."""
        if self.forward or self.losses.is_spent or self.containing not in sql:
            return False
        return any(does(sql, tag) and (tag == "COMMIT" or not talk.in_block) for tag in self.tags)

    def catches_reply(self, message: Message, *, talk: Conversation) -> bool:
        """Return whether `message` ends a command whose commit the client must not hear of."""
        if not self.forward or self.losses.is_spent or message.kind != b"C":
            return False
        return self.containing in talk.sql and command_tag(message).startswith(self.tags)


@dataclass(slots=True)
class CutAfter:
    """How much may still pass before a link is cut."""

    direction: Direction
    remaining_bytes: int


@dataclass(slots=True)
class Faults:
    """What links suffer at present."""

    flowing: asyncio.Event = field(default_factory=asyncio.Event)
    delay_s: float = 0.0
    slice_bytes: int = _CHUNK_BYTES
    cut_after: CutAfter | None = None
    traps: list[CommitTrap] = field(default_factory=list)

    def clear(self) -> None:
        """Nothing but passing on."""
        self.delay_s, self.slice_bytes, self.cut_after = 0.0, _CHUNK_BYTES, None
        self.traps.clear()
        self.flowing.set()


class LinkCutError(Exception):
    """The link has been cut; its pumps end."""


@dataclass(eq=False, slots=True)
class Link:
    """The two connections of one client, and what has been said over them."""

    client_reader: asyncio.StreamReader
    client: asyncio.StreamWriter
    server_reader: asyncio.StreamReader
    server: asyncio.StreamWriter
    faults: Faults
    talk: Conversation = field(default_factory=Conversation)

    @property
    def is_open(self) -> bool:
        """Whether the link has not been cut."""
        return not self.client.is_closing()

    async def run(self) -> None:
        """Passes messages on until a side closes, or a fault cuts the link."""
        pumps = [
            asyncio.ensure_future(pump) for pump in (self._pump_to_server(), self._pump_to_client())
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.cut()
            for pump in pumps:
                pump.cancel()
            ends = await asyncio.gather(*pumps, return_exceptions=True)
            await self._settle()
        for end in ends:
            if isinstance(end, Exception) and not isinstance(end, OSError | LinkCutError):
                raise end

    def cut(self, *, reset: bool = False) -> None:
        """Closes both connections; what was held back is gone."""
        for writer in (self.client, self.server):
            if reset:
                connected: socket.socket = writer.get_extra_info("socket")
                connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
                writer.transport.abort()
            else:
                writer.close()

    async def _settle(self) -> None:
        """Waits until both connections are gone, but not for a side that reads no more."""
        for writer in (self.client, self.server):
            try:
                async with asyncio.timeout(_SETTLE_LIMIT_S):
                    await writer.wait_closed()
            except OSError:  # of which TimeoutError is one
                writer.transport.abort()

    async def _pump_to_server(self) -> None:
        stream = MessageStream(starting=True)
        while data := await self.client_reader.read(_CHUNK_BYTES):
            passing = bytearray()
            for message in stream.feed(data):
                if message.asks_for_encryption:
                    await self._pass_on(_NO_ENCRYPTION, direction="to_client")
                    continue
                trap = self._trap_for_statement(message)
                if trap is not None:
                    await self._pass_on(bytes(passing), direction="to_server")
                    self._strike(trap)
                passing += message.raw
            await self._pass_on(bytes(passing), direction="to_server")
        await self._pass_on(stream.rest(), direction="to_server")

    async def _pump_to_client(self) -> None:
        stream = MessageStream()
        held = bytearray()
        trap: CommitTrap | None = None
        while data := await self.server_reader.read(_CHUNK_BYTES):
            passing = bytearray()
            for message in stream.feed(data):
                self.talk.answered(message)
                if trap is None:
                    trap = self._trap_for_reply(message)
                if trap is None:
                    passing += message.raw
                    continue
                # A command is done before its transaction is: only "ready", outside a block and
                # without an error before it, says that the commit has happened.
                held += message.raw
                if message.kind == b"Z" and not self.talk.in_block:
                    await self._pass_on(bytes(passing), direction="to_client")
                    self._strike(trap)
                if message.kind in (b"Z", b"E"):
                    passing += held
                    held.clear()
                    trap = None
            await self._pass_on(bytes(passing), direction="to_client")
        await self._pass_on(bytes(held) + stream.rest(), direction="to_client")

    def _trap_for_statement(self, message: Message) -> CommitTrap | None:
        sql = self.talk.sent(message)
        if sql is None:
            return None
        for trap in self.faults.traps:
            if trap.catches_statement(sql, talk=self.talk):
                return trap
        self.talk.begins_block(sql)
        return None

    def _trap_for_reply(self, message: Message) -> CommitTrap | None:
        for trap in self.faults.traps:
            if trap.catches_reply(message, talk=self.talk):
                return trap
        return None

    def _strike(self, trap: CommitTrap) -> None:
        self.cut()
        trap.losses.strike()
        raise LinkCutError

    async def _pass_on(self, data: bytes, *, direction: Direction) -> None:
        """Sends `data` as the present faults allow; also asked with none, at the end of a side."""
        await self.faults.flowing.wait()
        if data and self.faults.delay_s:
            await asyncio.sleep(self.faults.delay_s)
            await self.faults.flowing.wait()
        writer = self.server if direction == "to_server" else self.client
        limit = self.faults.cut_after
        if limit is not None and limit.direction == direction:
            allowed = data[: limit.remaining_bytes]
            limit.remaining_bytes -= len(allowed)
            await self._write(writer, allowed)
            if len(allowed) < len(data) or (data and not limit.remaining_bytes):
                self.faults.cut_after = None
                self.cut()
                raise LinkCutError
        else:
            await self._write(writer, data)

    async def _write(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        size = self.faults.slice_bytes
        for start in range(0, len(data), size):
            writer.write(data[start : start + size])
            await writer.drain()
            if len(data) > size:
                await asyncio.sleep(0)  # so that each piece goes out by itself
