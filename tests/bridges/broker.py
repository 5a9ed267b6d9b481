"""What tests of the broker share: names of a test's own, and a look behind holdfast's back."""

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage

from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.core.values.outbox import OutboxMessage, OutboxStatus

NOW = Instant(1_700_000_000 * SECOND_US)
PATIENCE_S = 60.0
"""For one answer of a broker that many tests use at once."""

_T = TypeVar("_T")


def own(name: str) -> str:
    """A name on the shared broker that no other test has."""
    return f"{name}-{uuid.uuid4().hex[:12]}"


def a_message(number: int = 1, **changes: Any) -> OutboxMessage:
    message = OutboxMessage(
        position=number,
        id=str(uuid.uuid4()),
        aggregate_id=f"submission-{number}",
        message_type="grading.request",
        payload=f'{{"n":{number}}}',
        trace=None,
        status=OutboxStatus.PENDING,
        created_at=NOW,
        processed_at=None,
        retry_count=0,
        error_message=None,
        run_at=NOW,
        holder="relay-1",
        lease_until=NOW,
    )
    return message._replace(**changes)


def on_channel(url: str, work: Callable[[AbstractChannel], Coroutine[Any, Any, _T]]) -> _T:
    """Run `work` on a channel of its own."""

    async def run() -> _T:
        async with await aio_pika.connect(url) as connection:
            return await work(await connection.channel())

    return asyncio.run(run())


def drained(url: str, queue: str) -> list[AbstractIncomingMessage]:
    """Take everything out of a queue."""

    async def drain(channel: AbstractChannel) -> list[AbstractIncomingMessage]:
        found = []
        declared = await channel.get_queue(queue, ensure=False)
        while (message := await declared.get(fail=False, timeout=PATIENCE_S)) is not None:
            await message.ack()
            found.append(message)
        return found

    return on_channel(url, drain)


def delete(url: str, *, queues: tuple[str, ...] = (), exchanges: tuple[str, ...] = ()) -> None:
    async def remove(channel: AbstractChannel) -> None:
        for queue in queues:
            await channel.queue_delete(queue)
        for exchange in exchanges:
            await channel.exchange_delete(exchange)

    on_channel(url, remove)
