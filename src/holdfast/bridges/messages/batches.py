"""Hands messages over several at a time: those that came while the ones before were handled."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from holdfast.bridges.messages.handler_threads import HandlerThreads
from holdfast.bridges.messages.handling import is_outage, tried
from holdfast.errors import HandlerStuck, UsageError
from holdfast.runtime.outbox.received import Handle, HandleMany, Received

GATHER_S: Final = 0.005
"""How long messages are waited for that came with the first of a batch."""

HandOver: TypeAlias = Callable[[Received], Awaitable[BaseException | None]]
"""Hands a message over and returns what that raised."""


def handing_over(
    handle: Handle | None,
    handle_many: HandleMany | None,
    *,
    timeout_s: float,
    threads: HandlerThreads,
) -> HandOver:
    """Return what hands messages over, one by one to `handle` or together to `handle_many`."""
    if handle_many is not None:
        return Batches(handle_many, timeout_s=timeout_s, threads=threads).tried
    if handle is None:
        raise UsageError("a consumer needs a handle")
    return lambda received: tried(handle, received, timeout_s=timeout_s, threads=threads)


class _Waiting(NamedTuple):
    received: Received
    raised: asyncio.Future[BaseException | None]


class Batches:
    """Runs a handle of several messages, one batch after the other, in the order they came."""

    def __init__(self, handle: HandleMany, *, timeout_s: float, threads: HandlerThreads) -> None:
        self._handle = handle
        self._timeout_s = timeout_s
        self._threads = threads
        self._waiting: deque[_Waiting] = deque()
        self._working: asyncio.Task[None] | None = None

    async def tried(self, received: Received) -> BaseException | None:
        """Have a message handled with those that wait beside it, and return what was raised."""
        raised: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(received, raised))
        if self._working is None:
            self._working = asyncio.create_task(self._work())
        return await raised

    async def _work(self) -> None:
        try:
            while self._waiting:
                # What was sent with the first one is read in a moment.
                await asyncio.sleep(GATHER_S)
                batch, self._waiting = list(self._waiting), deque()
                for part, raised in await self._outcomes(batch):
                    if not part.raised.done():
                        part.raised.set_result(raised)
        finally:
            self._working = None

    async def _outcomes(
        self, batch: Sequence[_Waiting]
    ) -> list[tuple[_Waiting, BaseException | None]]:
        """Return what each message of a batch raised; one that fails spares the others."""
        raised = await self._run(batch)
        if raised is None or len(batch) == 1 or _concerns_all(raised):
            return [(each, raised) for each in batch]
        return [(each, await self._run([each])) for each in batch]

    async def _run(self, batch: Sequence[_Waiting]) -> BaseException | None:
        messages = [each.received for each in batch]

        def handle(_first: Received) -> None:
            self._handle(messages)

        return await tried(handle, messages[0], timeout_s=self._timeout_s, threads=self._threads)


def _concerns_all(raised: BaseException) -> bool:
    """Return whether handling the messages one by one would end the same way."""
    return is_outage(raised) or isinstance(raised, HandlerStuck)
