"""Which exchange and queues there are to be, and how they are declared.

Declaring what is there already changes nothing. What is there and made otherwise is a
`TopologyMismatch` that names it, because nothing can be repaired by trying again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from aio_pika import ExchangeType
from aio_pika.abc import AbstractChannel, AbstractExchange
from aio_pika.exceptions import ChannelPreconditionFailed

from holdfast.core.outbox import checked_name
from holdfast.errors import InvalidValue, TopologyMismatch

EXCHANGE: Final = "holdfast"
DELIVERY_LIMIT: Final = 5
MOST_DELIVERIES: Final = 1_000
_FOR_EVER: Final = 1_000_000_000
_INEQUIVALENT: Final = re.compile(
    r"inequivalent arg '(?P<argument>[^']*)' for (?P<kind>queue|exchange) '(?P<name>[^']*)'"
    r"(?: in vhost '[^']*')?: (?P<reason>.*)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A quorum queue, the types of messages it wants, and where its dead letters go."""

    name: str
    types: tuple[str, ...] = ()
    """Types of messages, also as patterns such as `grading.*` or `#`."""
    delivery_limit: int = DELIVERY_LIMIT
    """How often a message is handed out again before it is a dead letter."""
    dead_letters: str | None = None
    """The queue of its dead letters; its own name and `.dead` unless given."""

    def __post_init__(self) -> None:
        checked("Queue", "name", self.name)
        for pattern in self.types:
            checked("Queue", "types", pattern)
        if self.dead_letters is not None:
            checked("Queue", "dead_letters", self.dead_letters)
        limit: object = self.delivery_limit
        if type(limit) is not int or not 1 <= limit <= MOST_DELIVERIES:
            raise InvalidValue(
                "Queue",
                field="delivery_limit",
                value=limit,
                limit=f"a whole number from 1 to {MOST_DELIVERIES}",
            )

    @property
    def dead_queue(self) -> str:
        """The name of the queue of its dead letters."""
        return self.dead_letters or f"{self.name}.dead"


def dead_exchange(exchange: str) -> str:
    """Return the name of the exchange that dead letters of an exchange's queues go through."""
    return f"{exchange}.dead"


def arguments_of(queue: Queue, *, exchange: str) -> dict[str, Any]:
    """Return how a queue is made."""
    return {
        "x-queue-type": "quorum",
        "x-delivery-limit": queue.delivery_limit,
        "x-dead-letter-exchange": dead_exchange(exchange),
        "x-dead-letter-routing-key": queue.name,
        # A dead letter leaves the queue only when it is safe in the other one, which takes
        # that the queue refuses new messages rather than drop old ones.
        "x-dead-letter-strategy": "at-least-once",
        "x-overflow": "reject-publish",
    }


async def declare_exchange(channel: AbstractChannel, name: str) -> AbstractExchange:
    """Declare the exchange that messages are published to, by their types."""
    try:
        return await channel.declare_exchange(name, ExchangeType.TOPIC, durable=True)
    except ChannelPreconditionFailed as error:
        raise _mismatch(error, kind="exchange", name=name) from error


async def declare_queue(channel: AbstractChannel, exchange: str, queue: Queue) -> None:
    """Declare a queue, the queue of its dead letters, and what leads to both."""
    dead = dead_exchange(exchange)
    try:
        await channel.declare_exchange(dead, ExchangeType.DIRECT, durable=True)
    except ChannelPreconditionFailed as error:
        raise _mismatch(error, kind="exchange", name=dead) from error
    # Newer brokers limit deliveries unless told otherwise, and then drop what is here.
    unlimited = {"x-queue-type": "quorum", "x-delivery-limit": _FOR_EVER}
    letters = await _declare(channel, queue.dead_queue, unlimited)
    await letters.bind(dead, routing_key=queue.name)
    declared = await _declare(channel, queue.name, arguments_of(queue, exchange=exchange))
    for pattern in queue.types:
        await declared.bind(exchange, routing_key=pattern)


async def _declare(channel: AbstractChannel, name: str, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - AbstractQueue
    try:
        return await channel.declare_queue(name, durable=True, arguments=arguments)
    except ChannelPreconditionFailed as error:
        raise _mismatch(error, kind="queue", name=name) from error


def checked(owner: str, field: str, text: object) -> str:
    """Return a name that the broker can hold."""
    return checked_name(owner, field=field, text=text)


def _mismatch(error: ChannelPreconditionFailed, *, kind: str, name: str) -> TopologyMismatch:
    said = str(error)
    found = _INEQUIVALENT.search(said)
    if found is None:
        return TopologyMismatch(kind, name, argument="something", reason=said)
    return TopologyMismatch(
        found["kind"],
        found["name"],
        argument=found["argument"],
        reason=found["reason"].strip("\"')"),
    )
