"""Relays to a transport, consumers of a broker, and handles of messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from holdfast.bridges.messages.inbound import buried, once, replied, submitted
from holdfast.core.values.outbox import checked_name
from holdfast.engine.jobs.access import JobAccess
from holdfast.engine.jobs.answers import Answers
from holdfast.engine.submit.submission import checked_text
from holdfast.engine.submit.submissions import Submissions
from holdfast.errors import InvalidValue, UsageError
from holdfast.pipeline.declaration import Pipeline
from holdfast.runtime.kernel.clock import Chance, Clock
from holdfast.runtime.outbox.received import Handle, HandleMany, Received
from holdfast.runtime.outbox.relay import RelayOptions
from holdfast.runtime.outbox.relay_process import Relay
from holdfast.runtime.outbox.transport import Transport
from holdfast.store.contract import Store
from holdfast.store.tables.outbox import TypeFilter

if TYPE_CHECKING:
    from holdfast.bridges.rabbitmq.consumer import RabbitMqConsumer
    from holdfast.bridges.rabbitmq.topology import ExchangeType, Queue


class Messaging:
    """Makes what carries messages: relays, consumers and handles."""

    def __init__(
        self,
        store: Callable[[], Store],
        *,
        clock: Clock,
        chance: Chance,
        access: JobAccess,
        submissions: Submissions,
        answers: Answers,
    ) -> None:
        self._store = store
        self._clock = clock
        self._chance = chance
        self._access = access
        self._submissions = submissions
        self._answers = answers

    def relay(
        self,
        transport: Transport,
        *,
        options: RelayOptions | None = None,
        types: Sequence[str] | None = None,
        without_types: Sequence[str] = (),
    ) -> Relay:
        """Return a relay that publishes what the outbox holds through `transport`.

        With `types` it publishes messages of exactly those types, and messages of `without_types`
        it leaves to another relay. The order of an aggregate holds among the messages of its own
        types: those of others neither wait for them nor hold them up.
        """
        wanted = _type_filter(types, without_types)
        return Relay(
            self._store(),
            transport,
            clock=self._clock,
            chance=self._chance,
            options=options or RelayOptions(),
            types=wanted,
        )

    def consumer(
        self,
        broker_url: str,
        *,
        queue: Queue,
        handler: Callable[[Received, Any], None] | None = None,
        handle: Handle | None = None,
        handle_many: HandleMany | None = None,
        pipeline: Pipeline | str | None = None,
        replies: bool = False,
        name: str | None = None,
        exchange: str = "holdfast",
        exchange_type: ExchangeType = "topic",
        declare: bool = True,
        prefetch: int = 10,
        timeout: float = 45.0,
    ) -> RabbitMqConsumer:
        """Return a consumer of a queue of RabbitMQ that handles each message once.

        Either `handler(message, connection)` runs in a transaction that also notes the message, or
        `handle(message)` is called, which notes nothing and has to do no harm when a message comes
        twice, or `handle_many(messages)` is called with all that wait, up to `prefetch` of them, so
        that they can share a transaction. Or a job of `pipeline` is made of it, with the message's
        id as its key, or with `replies` it answers the stage whose callback token it carries.
        `name` is under which messages for a handler are noted, the queue's unless given: consumers
        that share it share the work. What is not handled after `timeout` seconds has failed, and
        ends the consumer with `HandlerStuck`. Exchange and queues are declared, with
        `exchange_type`, or without `declare` only looked for.
        """
        ways = (handler, handle, handle_many, pipeline)
        if sum(way is not None for way in ways) + replies != 1:
            raise UsageError(
                "a consumer needs a handler or a handle or a pipeline or replies, and one of them"
            )
        kind = _rabbitmq_consumer()
        if handler is not None:
            handle = self.handle_once(handler, name=name or queue.name)
        elif replies:
            handle = self.handle_replies()
        elif pipeline is not None:
            found = self._access.open_pipeline(self._submissions.pipeline(pipeline).name)
            handle = submitted(partial(self._submissions.submit, found))
        self._store()
        return kind(
            broker_url,
            queue=queue,
            handle=handle,
            handle_many=handle_many,
            clock=self._clock,
            chance=self._chance,
            exchange=exchange,
            exchange_type=exchange_type,
            declare=declare,
            prefetch=prefetch,
            timeout_s=timeout,
            of_replies=replies,
        )

    def dead_letter_consumer(
        self,
        broker_url: str,
        *,
        queue: Queue,
        exchange: str = "holdfast",
        exchange_type: ExchangeType = "topic",
        declare: bool = True,
        handle: Handle | None = None,
    ) -> RabbitMqConsumer:
        """Return a consumer that makes the dead letters of a queue dead letters of this store.

        With `handle` they are given to that instead.
        """
        kind = _rabbitmq_consumer()
        self._store()
        return kind(
            broker_url,
            queue=queue,
            handle=handle or self.handle_dead_letters(queue=queue.name),
            clock=self._clock,
            chance=self._chance,
            exchange=exchange,
            exchange_type=exchange_type,
            declare=declare,
            of_dead_letters=True,
        )

    def handle_once(self, handler: Callable[[Received, Any], None], *, name: str) -> Handle:
        """Return a handle that runs `handler(message, connection)` once for each message.

        It runs in a transaction that also notes the message under `name`; what was noted before is
        left out.
        """
        who = checked_text("consumer", field="name", text=name)
        return once(self._store, consumer=who, clock=self._clock, handler=handler)

    def handle_dead_letters(self, *, queue: str) -> Handle:
        """Return a handle that keeps a message as a dead letter of the store, from `queue`."""
        return buried(self._store(), clock=self._clock, queue=queue)

    def handle_replies(self) -> Handle:
        """Return a handle by which a message answers the stage whose callback token it carries."""
        return replied(self._answers.receive, clock=self._clock)


def _type_filter(types: Sequence[str] | None, without: Sequence[str]) -> TypeFilter:
    """Return which messages a relay publishes, or raise what is wrong with it."""
    for field, given in (("types", types), ("without_types", without)):
        if isinstance(given, str) or (field == "types" and given is not None and not given):
            limit = "a list of types with at least one"
            raise InvalidValue("relay", field=field, value=given, limit=limit)
        for one in given or ():
            checked_name("relay", field=field, text=one)
    return TypeFilter(None if types is None else tuple(types), tuple(without))


def _rabbitmq_consumer() -> type[RabbitMqConsumer]:
    try:
        from holdfast.bridges.rabbitmq.consumer import (  # noqa: PLC0415 - an extra brings it
            RabbitMqConsumer,
        )
    except ModuleNotFoundError as error:
        raise UsageError("RabbitMQ takes an extra: pip install 'holdfast[rabbitmq]'") from error
    return RabbitMqConsumer
