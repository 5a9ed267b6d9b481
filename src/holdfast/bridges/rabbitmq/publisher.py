"""Publishes to RabbitMQ: persistent messages, confirmed by the broker, and none that nobody wants.

A connection that broke is opened again by the next turn, and what is to be there is declared again.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractExchange
from aio_pika.exceptions import (
    AMQPError,
    ChannelInvalidStateError,
    ChannelNotFoundEntity,
    ChannelPreconditionFailed,
    DeliveryError,
    PublishError,
)

from holdfast.bridges.messages.correlation import correlation_of
from holdfast.bridges.messages.envelope import CONTENT_TYPE, headers_of
from holdfast.bridges.messages.loop_thread import LoopThread
from holdfast.bridges.rabbitmq.topology import (
    EXCHANGE,
    Exchange,
    ExchangeType,
    Queue,
    checked,
    declare_exchange,
    declare_queue,
)
from holdfast.core.values.instant import SECOND_US
from holdfast.core.values.outbox import (
    Confirmed,
    NotTaken,
    OutboxMessage,
    Publication,
    Trouble,
    Unsendable,
)
from holdfast.errors import InvalidValue
from holdfast.redaction import secrets_in_url
from holdfast.secrecy import keep_secret, redacted

SOURCE: Final = "/holdfast"
CONNECT_S: Final = 10.0
CONFIRM_S: Final = 5.0
MAX_BYTES: Final = 16 * 1024 * 1024
"""What RabbitMQ takes in one message, by default."""
_GRACE_S: Final = 5.0
_CLOSE_S: Final = 2.0
_UNREACHABLE: Final = (AMQPError, OSError, RuntimeError)
_TOO_LARGE: Final = re.compile(r"message size (\d+) is larger than configured max size (\d+)")

_T = TypeVar("_T")


def checked_url(url: object) -> str:
    """Return the URL of a broker, or raise what is wrong with it."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        fine = parts is not None and parts.scheme in {"amqp", "amqps"} and bool(parts.hostname)
        _ = parts.port if parts is not None else None  # raises when it is no number
    except ValueError:
        fine = False
    if not fine or not isinstance(url, str):
        raise InvalidValue(
            "RabbitMq", field="url", value="…", limit="like amqp://user:password@host:5672/"
        )
    return url


def location_of(url: str) -> str:
    """Return the URL of a broker without credentials."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"


class RabbitMq:
    """A transport to the exchange `exchange`; messages are routed by their types.

    `queues` are declared with the exchange, which is enough where the relay starts before the
    consumers. A `direct` exchange routes by exact types. Without `declare` the exchange and the
    queues are others' to declare: nothing is published before they are there. `source` says in
    every message where it comes from. `reply_to` is the queue in which replies are awaited: those
    that answer a message with a callback token are notified of it.
    """

    name = "rabbitmq"

    def __init__(
        self,
        url: str,
        *,
        exchange: str = EXCHANGE,
        exchange_type: ExchangeType = "topic",
        declare: bool = True,
        queues: Sequence[Queue] = (),
        source: str = SOURCE,
        reply_to: str | None = None,
        confirm_timeout: float = CONFIRM_S,
        connect_timeout: float = CONNECT_S,
        max_message_bytes: int = MAX_BYTES,
    ) -> None:
        self._url = checked_url(url)
        keep_secret(secrets_in_url(url))
        self.location = location_of(url)
        self._topology = Exchange.checked(
            "RabbitMq", name=exchange, exchange_type=exchange_type, declare=declare
        )
        self._queues = tuple(queues)
        for queue in self._queues:
            self._topology.check_types(queue)
        self._source = checked("RabbitMq", "source", source)
        self._reply_to = None if reply_to is None else checked("RabbitMq", "reply_to", reply_to)
        self._confirm_s = confirm_timeout
        self._connect_s = connect_timeout
        self._most_bytes = max_message_bytes
        self._loop = LoopThread("holdfast-rabbitmq")
        self._connection: AbstractConnection | None = None
        self._channel: AbstractChannel | None = None
        self._exchange: AbstractExchange | None = None
        self._declared = False

    def ready(self) -> NotTaken | None:
        """Connect and declare where that is needed; return why nothing can be published now."""
        try:
            return self._call(self._ready(), self._connect_s)
        except _UNREACHABLE as error:
            return NotTaken(Trouble.UNAVAILABLE, self._words(error))

    def publish(
        self, runs: Sequence[Sequence[OutboxMessage]], *, timeout_s: float
    ) -> Mapping[str, Publication]:
        """Publish messages and return what became of each."""
        outcomes: dict[str, Publication] = {}
        with suppress(*_UNREACHABLE):
            # What was handed over by then is in there; the rest was not tried.
            self._call(self._publish(runs, outcomes, timeout_s), timeout_s)
        return outcomes

    def close(self) -> None:
        """Close the connection and end the thread."""
        with suppress(*_UNREACHABLE):
            self._call(self._drop(), _CLOSE_S)
        self._loop.close()

    def _call(self, work: Coroutine[Any, Any, _T], timeout_s: float) -> _T:
        return self._loop.call(work, timeout_s=timeout_s + _GRACE_S)

    async def _ready(self) -> NotTaken | None:
        try:
            async with asyncio.timeout(self._connect_s):
                connection = await self._open()
        except BaseException:
            await self._drop()
            raise
        if await _is_blocked(connection):
            return NotTaken(Trouble.BLOCKED, "it is short of memory or disk and takes no messages")
        return None

    async def _open(self) -> AbstractConnection:
        """Return a connection whose channel is open and whose exchange is declared."""
        connection = self._connection
        if connection is None or connection.is_closed:
            connection = await aio_pika.connect(
                self._url,
                timeout=self._connect_s,
                client_properties={"connection_name": "holdfast relay"},
            )
            self._connection, self._channel = connection, None
        channel = self._channel
        if channel is None or channel.is_closed:
            channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
            self._channel, self._declared = channel, False
        if not self._declared:
            self._exchange = await declare_exchange(channel, self._topology)
            for queue in self._queues:
                await declare_queue(channel, self._topology, queue)
            self._declared = True
        return connection

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._channel = self._exchange = None
        if connection is not None:
            with suppress(*_UNREACHABLE):
                async with asyncio.timeout(_CLOSE_S):
                    await connection.close()

    async def _publish(
        self,
        runs: Sequence[Sequence[OutboxMessage]],
        outcomes: dict[str, Publication],
        timeout_s: float,
    ) -> None:
        ends_at_s = asyncio.get_running_loop().time() + timeout_s
        await asyncio.gather(*(self._publish_run(run, outcomes, ends_at_s) for run in runs))
        troubles = {
            outcome.trouble for outcome in outcomes.values() if isinstance(outcome, NotTaken)
        }
        if Trouble.UNROUTABLE in troubles:
            # A queue may have been deleted.
            self._declared = False
        if Trouble.UNCONFIRMED in troubles:
            # A connection on which answers get lost may lose the next ones, too.
            await self._drop()

    async def _publish_run(
        self, run: Sequence[OutboxMessage], outcomes: dict[str, Publication], ends_at_s: float
    ) -> None:
        for message in run:
            left_s = ends_at_s - asyncio.get_running_loop().time()
            if left_s <= 0:
                return
            outcome = await self._publish_one(message, min(left_s, self._confirm_s))
            outcomes[message.id] = outcome
            if isinstance(outcome, NotTaken):
                return

    async def _publish_one(self, message: OutboxMessage, timeout_s: float) -> Publication:
        body = message.payload.encode()
        if len(body) > self._most_bytes:
            return Unsendable(f"its {len(body)} bytes are over the limit of {self._most_bytes}")
        exchange, connection = self._exchange, self._connection
        if exchange is None or connection is None:
            return NotTaken(Trouble.UNAVAILABLE, "the connection was lost")
        try:
            await exchange.publish(
                self._packed(message, body),
                routing_key=message.message_type,
                mandatory=True,
                timeout=timeout_s,
            )
        except PublishError as error:
            return NotTaken(Trouble.UNROUTABLE, _why_returned(error, message))
        except DeliveryError:
            return NotTaken(Trouble.REFUSED, "the broker did not take it (nack)")
        except TimeoutError:
            if await _is_blocked(connection):
                return NotTaken(Trouble.BLOCKED, "the broker takes no messages")
            return NotTaken(Trouble.UNCONFIRMED, f"no confirmation came within {timeout_s:.1f} s")
        except (ChannelNotFoundEntity, ChannelInvalidStateError) as error:
            return NotTaken(Trouble.UNAVAILABLE, self._words(error))
        except ChannelPreconditionFailed as error:
            return _after_refusal(str(error), len(body))
        except _UNREACHABLE as error:
            # It may have been read before the connection broke.
            return NotTaken(Trouble.UNCONFIRMED, self._words(error))
        return Confirmed()

    def _packed(self, message: OutboxMessage, body: bytes) -> aio_pika.Message:
        headers: dict[str, Any] = {**headers_of(message, source=self._source)}
        correlation = correlation_of(message.payload)
        return aio_pika.Message(
            body,
            message_id=message.id,
            type=message.message_type,
            correlation_id=None if correlation is None else correlation.id,
            reply_to=self._reply_to if correlation is not None and correlation.asks else None,
            content_type=CONTENT_TYPE,
            content_encoding="utf-8",
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
            timestamp=datetime.fromtimestamp(message.created_at / SECOND_US, UTC),
            headers=headers,
        )

    def _words(self, error: BaseException) -> str:
        said = str(error) or type(error).__name__
        return redacted(f"{self.location}: {said}")


async def _is_blocked(connection: AbstractConnection) -> bool:
    """Return whether the broker has said that it takes nothing for now."""
    transport = connection.transport
    if transport is None or connection.is_closed:
        return False
    waiting = asyncio.ensure_future(transport.ready())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    if waiting.done():
        return False
    waiting.cancel()
    return True


def _why_returned(error: PublishError, message: OutboxMessage) -> str:
    said = getattr(error.frame, "reply_text", None) or "returned"
    return f"{said}: no queue wants messages of type {message.message_type!r}"


def _after_refusal(said: str, size_bytes: int) -> Publication:
    """Return what it means that the broker closed the channel over one of several messages."""
    too_large = _TOO_LARGE.search(said)
    if too_large is None:
        return NotTaken(Trouble.REFUSED, said)
    if int(too_large[1]) == size_bytes:
        return Unsendable(f"its {size_bytes} bytes are over the broker's limit of {too_large[2]}")
    return NotTaken(Trouble.UNCONFIRMED, "the broker closed the channel over another message")
