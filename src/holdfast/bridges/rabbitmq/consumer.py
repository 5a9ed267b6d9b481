"""Consumes a queue of RabbitMQ: hands each message over once, and settles it when it is handled.

Work that takes long is no work for a consumer: the broker takes a message back that is not settled
in time. Make a job of it; then the store's leases, and not the broker's patience, own the work.
"""

from __future__ import annotations

import asyncio
import logging
import queue as queue_module
import signal
import struct
import threading
from concurrent.futures import Future
from contextlib import suppress
from types import FrameType
from typing import Final

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractIncomingMessage
from aio_pika.exceptions import AMQPError, DeliveryError

from holdfast.bridges.messages.batches import handing_over
from holdfast.bridges.messages.dead_messages import headers_of_letter
from holdfast.bridges.messages.handler_threads import HandlerThreads
from holdfast.bridges.messages.handling import (
    TIMEOUT_S,
    Handle,
    checked_timeout,
    invalid,
    is_outage,
    judged,
    log_failure,
)
from holdfast.bridges.messages.loop_thread import LoopThread
from holdfast.bridges.rabbitmq.publisher import CONNECT_S, checked_url, location_of
from holdfast.bridges.rabbitmq.received import deliveries_of, unearthed, unpacked
from holdfast.bridges.rabbitmq.topology import (
    EXCHANGE,
    Exchange,
    ExchangeType,
    Queue,
    dead_exchange,
    declare_exchange,
    declare_queue,
)
from holdfast.core.values.failure import Failure
from holdfast.errors import (
    HandlerStuck,
    InvalidDocument,
    InvalidValue,
    TopologyMismatch,
    UnavailableError,
    UsageError,
)
from holdfast.redaction import secrets_in_url
from holdfast.runtime.kernel import failpoint
from holdfast.runtime.kernel.clock import Chance, Clock, monotonic_s
from holdfast.runtime.outbox.received import HandleMany, Received
from holdfast.secrecy import keep_secret, redacted

LOGGER: Final = logging.getLogger("holdfast.consumer")
PREFETCH: Final = 10
MAX_PREFETCHED: Final = 1_000
PAUSES_S: Final = (0.2, 0.5, 1.0, 2.0, 4.0)
"""How long a message is kept that failed before the broker hands it out again."""
RECONNECT_S: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
_UNREACHABLE: Final = (AMQPError, OSError, RuntimeError)


class RabbitMqConsumer:
    """Takes the messages of one queue to `handle`, `prefetch` at a time; see `run`.

    With `handle_many` those that wait are handed over together. What either raises is judged like
    the exception of a handler: what may pass is tried again until the queue's delivery limit, what
    cannot succeed is a dead letter at once. While the store is away messages are kept and tried
    again, at no cost. One that is not handled after `timeout_s` has failed, and ends the consumer
    with `HandlerStuck`: only the end of its process ends a thread and gives back what it holds.
    With `of_replies` a message needs no id of its own where it says what it answers. With
    `of_dead_letters` it is the queue's dead letters that are consumed, which are tried again for
    ever, as are those of a plain queue. Without `declare` the queue is others' to declare, and it
    is waited for.
    """

    def __init__(
        self,
        url: str,
        *,
        queue: Queue,
        handle: Handle | None = None,
        handle_many: HandleMany | None = None,
        clock: Clock,
        chance: Chance,
        exchange: str = EXCHANGE,
        exchange_type: ExchangeType = "topic",
        declare: bool = True,
        prefetch: int = PREFETCH,
        timeout_s: float = TIMEOUT_S,
        of_replies: bool = False,
        of_dead_letters: bool = False,
    ) -> None:
        given: object = prefetch
        if type(given) is not int or not 1 <= given <= MAX_PREFETCHED:
            limit = f"a whole number from 1 to {MAX_PREFETCHED}"
            raise InvalidValue("consumer", field="prefetch", value=prefetch, limit=limit)
        self._url = checked_url(url)
        keep_secret(secrets_in_url(url))
        self.location = location_of(url)
        self._queue = queue
        self._of_replies = of_replies
        self._of_dead_letters = of_dead_letters
        self.consumes = queue.dead_queue if of_dead_letters else queue.name
        self._clock = clock
        self._chance = chance
        self._exchange = Exchange.checked(
            "consumer", name=exchange, exchange_type=exchange_type, declare=declare
        )
        self._exchange.check_types(queue)
        if of_dead_letters and queue.is_plain:
            raise UsageError(f"the queue {queue.name!r} has no dead letters; consume it as it is")
        self._prefetch = prefetch
        self._timeout_s = checked_timeout(timeout_s)
        self._loop = LoopThread("holdfast-consumer")
        self._threads = HandlerThreads()
        self._tried = handing_over(
            handle, handle_many, timeout_s=self._timeout_s, threads=self._threads
        )
        self._stop_requested = False
        self._noticed: queue_module.SimpleQueue[None] = queue_module.SimpleQueue()
        self._serving: Future[None] | None = None
        self._stopping: asyncio.Event | None = None
        self._under_way: set[asyncio.Task[None]] = set()
        self._fatal: UsageError | None = None
        self._consuming = threading.Event()

    def run(self, *, handle_signals: bool = True) -> int:
        """Consume until stopped, and return 0.

        SIGTERM or SIGINT ends it once the messages at hand are handled. A queue that is made
        otherwise is raised, and so is a handler that does not end, each as a `UsageError`.
        """
        if handle_signals and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._on_signal)
            signal.signal(signal.SIGINT, self._on_signal)
        self.start()
        while not self._stop_requested:
            with suppress(queue_module.Empty):
                self._noticed.get(timeout=1.0)
        self.stop()
        if self._fatal is not None:
            raise self._fatal
        return 0

    def start(self) -> None:
        """Consume in threads, and return."""
        self._serving = self._loop.begin(self._serve())

    def consuming(self, *, timeout_s: float = 0.0) -> bool:
        """Return whether the broker hands messages to this consumer, or does within that time."""
        return self._consuming.wait(timeout_s)

    def request_stop(self) -> None:
        """Ask the consumer to end. Safe in a signal handler."""
        self._stop_requested = True
        self._noticed.put(None)

    def stop(self, *, grace_s: float = 10.0) -> None:
        """Take no more messages, let those at hand be handled, and end all threads."""
        self._stop_requested = True
        serving, self._serving = self._serving, None
        if serving is not None:
            with suppress(*_UNREACHABLE):
                self._loop.call(self._wind_up(), timeout_s=1.0)
            with suppress(*_UNREACHABLE):
                serving.result(grace_s)
        self._loop.close()
        self._threads.close()

    async def _wind_up(self) -> None:
        if self._stopping is not None:
            self._stopping.set()

    async def _serve(self) -> None:
        """Keep a session with the broker open until stopped."""
        stopping = self._stopping = asyncio.Event()
        failures = 0
        while not stopping.is_set():
            try:
                await self._session(stopping)
            except UsageError as error:
                self._give_up(error)
                return
            except _UNREACHABLE as error:
                failures = 0 if self._consuming.is_set() else failures
                if failures == 0:
                    self._tell_outage(error)
                failures += 1
            finally:
                self._consuming.clear()
            longest_s = RECONNECT_S[min(max(failures, 1), len(RECONNECT_S)) - 1]
            with suppress(TimeoutError):
                async with asyncio.timeout(longest_s * (0.5 + self._chance.roll() / 2)):
                    await stopping.wait()

    def _give_up(self, error: UsageError) -> None:
        LOGGER.critical("the consumer ends: %s", error, extra={"event": "fatal"})
        self._fatal = error
        self.request_stop()

    async def _session(self, stopping: asyncio.Event) -> None:
        """Connect, declare, consume, and return when the broker or the program ends it."""
        connection = await aio_pika.connect(
            self._url,
            timeout=CONNECT_S,
            client_properties={"connection_name": f"holdfast consumer of {self.consumes}"},
        )
        try:
            await self._consume(connection, stopping)
        finally:
            with suppress(*_UNREACHABLE):
                await connection.close()

    async def _consume(self, connection: AbstractConnection, stopping: asyncio.Event) -> None:
        channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
        await channel.set_qos(prefetch_count=self._prefetch)
        await declare_exchange(channel, self._exchange)
        await declare_queue(channel, self._exchange, self._queue)
        over = asyncio.Event()
        connection.close_callbacks.add(lambda *_: over.set(), weak=False)
        channel.close_callbacks.add(lambda *_: over.set(), weak=False)
        # A queue that is deleted takes its consumers along without a word to the connection.
        underlay = await channel.get_underlay_channel()
        underlay.on_consumer_cancel_callbacks.add(lambda *_: over.set())

        async def on_message(message: AbstractIncomingMessage) -> None:
            task = asyncio.current_task()
            if task is None:
                raise AssertionError("aio-pika runs this as a task")
            self._under_way.add(task)
            try:
                await self._take(channel, message)
            finally:
                self._under_way.discard(task)

        consumed = await channel.get_queue(self.consumes, ensure=False)
        tag = await consumed.consume(on_message)
        self._consuming.set()
        LOGGER.info(
            "consuming %s", self.consumes, extra={"event": "consuming", "queue": self.consumes}
        )
        await _either(over, stopping)
        if not stopping.is_set():
            raise ConnectionError("the broker ended the session")
        await consumed.cancel(tag)
        if self._under_way:
            await asyncio.wait(self._under_way)

    async def _take(self, channel: AbstractChannel, message: AbstractIncomingMessage) -> None:
        """Handle one message and settle it; what cannot be settled comes again."""
        # A queue that was made otherwise ends the session, and the next one names it.
        with suppress(UnavailableError, TopologyMismatch, *_UNREACHABLE):
            failure = await self._handled(channel, message)
            if failure is None:
                await _settle(message)
            elif self._may_pass(message, failure):
                self._tell_failure(message, failure, again=True)
                await self._put_back(message)
            else:
                self._tell_failure(message, failure, again=False)
                await self._bury(channel, message, failure)

    def _may_pass(self, message: AbstractIncomingMessage, failure: Failure) -> bool:
        limit = self._queue.delivery_limit
        if self._of_dead_letters or limit is None:
            return True  # there is no other place for it
        return failure.retryable and deliveries_of(message) <= limit

    async def _handled(
        self, channel: AbstractChannel, message: AbstractIncomingMessage
    ) -> Failure | None:
        """Return why a message cannot be handled, or None once it is."""
        arrived_s = monotonic_s()
        try:
            received = self._read(message)._replace(arrived_s=arrived_s)
        except InvalidDocument as error:
            return invalid(str(error))
        tries = 0
        while True:
            raised = await self._tried(received)
            if raised is None or not is_outage(raised):
                break
            if tries == 0:
                self._tell_outage(raised)
            tries += 1
            await asyncio.sleep(RECONNECT_S[min(tries, len(RECONNECT_S)) - 1])
            if channel.is_closed:
                raise raised
        if isinstance(raised, HandlerStuck):
            await self._leave(raised)
        return None if raised is None else judged(raised, now=self._clock.now())

    async def _leave(self, stuck: HandlerStuck) -> None:
        """Take no more messages, so that this one goes to another, and have `run` raise why."""
        if self._fatal is None:
            self._give_up(stuck)
        await self._wind_up()

    def _read(self, message: AbstractIncomingMessage) -> Received:
        if self._of_dead_letters:
            return unearthed(message)
        return unpacked(message, is_reply=self._of_replies)

    async def _put_back(self, message: AbstractIncomingMessage) -> None:
        """Keep a message for a while, longer each time, and have it handed out again."""
        pause_s = PAUSES_S[min(deliveries_of(message), len(PAUSES_S)) - 1]
        await asyncio.sleep(pause_s * (0.5 + self._chance.roll() / 2))
        await message.nack(requeue=True)

    async def _bury(
        self, channel: AbstractChannel, message: AbstractIncomingMessage, failure: Failure
    ) -> None:
        """Put a message among the dead letters with what is known of its failure, then settle it.

        A crash in between leaves it in both places; the dead letter is the same one then.
        """
        exchange = await channel.get_exchange(dead_exchange(self._exchange.name), ensure=False)
        letter = self._letter(message, failure)
        try:
            await exchange.publish(letter, routing_key=self._queue.name, mandatory=True)
        except DeliveryError as error:
            self._tell_outage(error)
            # The queue may have been deleted: that of dead letters.
            await declare_queue(channel, self._exchange, self._queue)
            await self._put_back(message)
        except (TypeError, ValueError, ArithmeticError, struct.error):
            # A header that the client can read and not write; the broker needs to do neither.
            await message.reject(requeue=False)
        else:
            await _settle(message)

    def _letter(self, message: AbstractIncomingMessage, failure: Failure) -> aio_pika.Message:
        return aio_pika.Message(
            message.body,
            message_id=unearthed(message).id,
            type=message.type,
            correlation_id=message.correlation_id,
            content_type=message.content_type,
            content_encoding=message.content_encoding,
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
            timestamp=message.timestamp,
            headers=headers_of_letter(
                message.headers,
                failure,
                attempts=deliveries_of(message),
                queue=self._queue.name,
                now=self._clock.now(),
            ),
        )

    def _tell_outage(self, error: BaseException) -> None:
        LOGGER.warning(
            "nothing can be consumed from %s: %s",
            self.consumes,
            redacted(str(error) or type(error).__name__),
            extra={"event": "consumer_held_up", "queue": self.consumes},
        )

    def _tell_failure(
        self, message: AbstractIncomingMessage, failure: Failure, *, again: bool
    ) -> None:
        log_failure(
            message.message_id,
            failure,
            queue=self.consumes,
            deliveries=deliveries_of(message),
            again=again,
        )

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.request_stop()


async def _settle(message: AbstractIncomingMessage) -> None:
    """Tell the broker that a message has had its effect, which is committed by now."""
    failpoint.reach("settle.before")
    await message.ack()
    failpoint.reach("settle.after")


async def _either(*events: asyncio.Event) -> None:
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
