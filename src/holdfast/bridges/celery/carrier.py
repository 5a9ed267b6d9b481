"""Brings messages about due jobs to Celery's workers, through RabbitMQ."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

import aio_pika
from aio_pika.exceptions import AMQPError

from holdfast.bridges.celery.message import body_of, broker_queue, headers_of
from holdfast.bridges.rabbitmq.publisher import RabbitMq
from holdfast.bridges.rabbitmq.topology import EXCHANGE, Exchange, Queue, declare_queue
from holdfast.core.values.instant import Instant
from holdfast.core.values.outbox import (
    NotTaken,
    OutboxMessage,
    OutboxStatus,
    Publication,
    Trouble,
    Untried,
)
from holdfast.runtime.dispatcher.dispatcher import DueMessage

LOOK_S: Final = 5.0
_UNREACHABLE: Final = (AMQPError, OSError, RuntimeError)


def due_queue(exchange: str, queue: str) -> Queue:
    """Return the declaration of the broker's queue for a queue of jobs."""
    name = broker_queue(exchange, queue)
    return Queue(name=name, types=(name,))


class CeleryCarrier(RabbitMq):
    """A carrier through the exchange `exchange`, with a queue of the broker per queue of jobs."""

    name = "celery"

    def __init__(self, url: str, *, exchange: str = EXCHANGE) -> None:
        super().__init__(url, exchange=exchange)
        self._prefix = exchange
        self._declared_on: object = None

    def waiting(self, queues: Sequence[str]) -> Mapping[str, int] | NotTaken:
        """Return how many messages wait in the queue of each; declare what is not there."""
        trouble = self.ready()
        if trouble is not None:
            return trouble
        try:
            return self._call(self._count(queues), LOOK_S)
        except _UNREACHABLE as error:
            return NotTaken(Trouble.UNAVAILABLE, self._words(error))

    def carry(self, messages: Sequence[DueMessage], *, timeout_s: float) -> Sequence[Publication]:
        """Send messages and return what became of each."""
        packed = [self._outgoing(message) for message in messages]
        outcomes = self.publish([[message] for message in packed], timeout_s=timeout_s)
        return [outcomes.get(message.id, Untried()) for message in packed]

    async def _count(self, queues: Sequence[str]) -> dict[str, int]:
        channel = self._channel
        if channel is None:
            raise RuntimeError("the connection was lost")
        async with asyncio.timeout(LOOK_S):
            if self._declared_on is not channel:
                for queue in queues:
                    declared = due_queue(self._prefix, queue)
                    await declare_queue(channel, Exchange(self._prefix), declared)
                self._declared_on = channel
            try:
                return {queue: await self._messages_in(channel, queue) for queue in queues}
            except AMQPError:
                # A queue was deleted, or the channel is broken: either is declared anew.
                self._declared_on = None
                raise

    async def _messages_in(self, channel: aio_pika.abc.AbstractChannel, queue: str) -> int:
        name = broker_queue(self._prefix, queue)
        found = await channel.declare_queue(name, passive=True)
        return found.declaration_result.message_count or 0

    def _outgoing(self, message: DueMessage) -> OutboxMessage:
        """Return a message in the form in which a transport takes it; it is stored nowhere."""
        message_id = str(uuid.uuid4())
        return OutboxMessage(
            position=0,
            id=message_id,
            aggregate_id=message_id,
            message_type=broker_queue(self._prefix, message.route.queue),
            payload=body_of(message),
            trace=None,
            status=OutboxStatus.PENDING,
            created_at=Instant(0),
            processed_at=None,
            retry_count=0,
            error_message=None,
            run_at=Instant(0),
            holder=None,
            lease_until=None,
        )

    def _packed(self, message: OutboxMessage, body: bytes) -> aio_pika.Message:
        headers: dict[str, Any] = headers_of(message.id)
        return aio_pika.Message(
            body,
            message_id=message.id,
            correlation_id=message.id,
            content_type="application/json",
            content_encoding="utf-8",
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
            priority=0,
            headers=headers,
        )
