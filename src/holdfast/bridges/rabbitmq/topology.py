"""Which exchange and queues there are to be, and how they are declared.

Declaring what is there already changes nothing. What is there and made otherwise is a
`TopologyMismatch` that names it, because nothing can be repaired by trying again. Where others
declare, it is only checked that all of it is there; what is missing is an outage, until it comes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, get_args

from aio_pika.abc import AbstractChannel, AbstractExchange
from aio_pika.exceptions import ChannelPreconditionFailed

from holdfast.core.values.outbox import checked_name
from holdfast.errors import InvalidValue, TopologyMismatch

EXCHANGE: Final = "holdfast"
DELIVERY_LIMIT: Final = 5
MAX_DELIVERIES: Final = 1_000
_FOR_EVER: Final = 1_000_000_000
# Newer brokers limit deliveries by default, and then drop what is here.
_UNLIMITED: Final = {"x-queue-type": "quorum", "x-delivery-limit": _FOR_EVER}
_INEQUIVALENT: Final = re.compile(
    r"inequivalent arg '(?P<argument>[^']*)' for (?P<kind>queue|exchange) '(?P<name>[^']*)'"
    r"(?: in vhost '[^']*')?: (?P<reason>.*)"
)


ExchangeType = Literal["topic", "direct"]
"""How an exchange routes: by patterns of types, or by exact types."""


class Exchange(NamedTuple):
    """The exchange that messages are published to, and who declares what belongs to it."""

    name: str = EXCHANGE
    type: ExchangeType = "topic"
    declare: bool = True
    """False where others declare it and its queues, so that they are only looked for."""

    @classmethod
    def checked(cls, owner: str, *, name: str, exchange_type: str, declare: bool) -> Exchange:
        """Return the exchange, or raise `InvalidValue` in the name of `owner`."""
        checked(owner, "exchange", name)
        for known in EXCHANGE_TYPES:
            if exchange_type == known:
                return cls(name, known, declare)
        limit = f"one of {', '.join(EXCHANGE_TYPES)}"
        raise InvalidValue(owner, field="exchange_type", value=exchange_type, limit=limit)

    def check_types(self, queue: Queue) -> None:
        """Raise `InvalidValue` for patterns where the exchange compares types as they are."""
        for given in queue.types if self.type == "direct" else ():
            if set(given.split(".")) & _WILDCARDS:
                limit = f"exact types: the exchange {self.name!r} is direct"
                raise InvalidValue("Queue", field="types", value=given, limit=limit)


EXCHANGE_TYPES: Final[tuple[ExchangeType, ...]] = get_args(ExchangeType)
_WILDCARDS: Final = frozenset({"*", "#"})


class Binding(NamedTuple):
    """Another exchange whose messages a queue wants, by these types."""

    exchange: str
    types: tuple[str, ...]
    exchange_type: ExchangeType = "direct"


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A quorum queue, the types of messages it wants, and where its dead letters go.

    Without a delivery limit it is a plain one: it has no dead letters, and a consumer tries each
    of its messages until it succeeds.
    """

    name: str
    types: tuple[str, ...] = ()
    """Types of messages, also as patterns such as `grading.*` or `#`."""
    delivery_limit: int | None = DELIVERY_LIMIT
    """How often a message is handed out again before it is a dead letter."""
    dead_letters: str | None = None
    """The queue of its dead letters; its own name and `.dead` unless given."""
    bindings: tuple[Binding, ...] = ()
    """Other exchanges that it wants messages of."""

    def __post_init__(self) -> None:
        checked("Queue", "name", self.name)
        for pattern in self.types:
            checked("Queue", "types", pattern)
        for binding in self.bindings:
            self._check_binding(binding)
        if self.dead_letters is not None:
            checked("Queue", "dead_letters", self.dead_letters)
        limit: object = self.delivery_limit
        if limit is None and self.dead_letters is None:
            return
        if type(limit) is not int or not 1 <= limit <= MAX_DELIVERIES:
            raise InvalidValue(
                "Queue",
                field="delivery_limit",
                value=limit,
                limit=f"a whole number from 1 to {MAX_DELIVERIES}, "
                "or None for a queue without dead letters",
            )

    @property
    def dead_queue(self) -> str:
        """The name of the queue of its dead letters."""
        return self.dead_letters or f"{self.name}.dead"

    @property
    def is_plain(self) -> bool:
        """Whether it has neither a limit nor dead letters."""
        return self.delivery_limit is None

    def _check_binding(self, binding: Binding) -> None:
        for kind in binding.types:
            checked("Queue", "bindings", kind)
        Exchange.checked(
            "Binding",
            name=binding.exchange,
            exchange_type=binding.exchange_type,
            declare=True,
        )


def dead_exchange(exchange: str) -> str:
    """Return the name of the exchange that dead letters of an exchange's queues go through."""
    return f"{exchange}.dead"


def arguments_of(queue: Queue, *, exchange: str) -> dict[str, Any]:
    """Return how a queue is made."""
    if queue.is_plain:
        return dict(_UNLIMITED)
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


async def declare_exchange(channel: AbstractChannel, exchange: Exchange) -> AbstractExchange:
    """Declare the exchange that messages are published to, by their types."""
    return await _declare_exchange(
        channel, exchange.name, exchange_type=exchange.type, declare=exchange.declare
    )


async def declare_queue(channel: AbstractChannel, exchange: Exchange, queue: Queue) -> None:
    """Declare a queue, the queue of its dead letters, and what leads to both."""
    declare = exchange.declare
    if not queue.is_plain:
        dead = dead_exchange(exchange.name)
        await _declare_exchange(channel, dead, exchange_type="direct", declare=declare)
        letters = await _declare(channel, queue.dead_queue, _UNLIMITED, declare=declare)
        if declare:
            await letters.bind(dead, routing_key=queue.name)
    arguments = arguments_of(queue, exchange=exchange.name)
    declared = await _declare(channel, queue.name, arguments, declare=declare)
    if not declare:
        return
    for pattern in queue.types:
        await declared.bind(exchange.name, routing_key=pattern)
    for binding in queue.bindings:
        await _declare_exchange(
            channel, binding.exchange, exchange_type=binding.exchange_type, declare=True
        )
        for pattern in binding.types:
            await declared.bind(binding.exchange, routing_key=pattern)


async def _declare_exchange(
    channel: AbstractChannel, name: str, *, exchange_type: ExchangeType, declare: bool
) -> AbstractExchange:
    try:
        return await channel.declare_exchange(
            name, exchange_type, durable=True, passive=not declare
        )
    except ChannelPreconditionFailed as error:
        raise _mismatch(error, kind="exchange", name=name) from error


async def _declare(
    channel: AbstractChannel, name: str, arguments: dict[str, Any], *, declare: bool
) -> Any:  # noqa: ANN401 - AbstractQueue
    try:
        if not declare:
            return await channel.declare_queue(name, passive=True)
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
