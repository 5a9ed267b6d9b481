"""An application with consumers of a real RabbitMQ, beside a transport that feeds them."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TypeVar

from holdfast import Holdfast, Pipeline
from holdfast.bridges.rabbitmq import RabbitMq
from holdfast.bridges.rabbitmq.consumer import RabbitMqConsumer
from holdfast.bridges.rabbitmq.topology import Queue, dead_exchange
from holdfast.core.values.outbox import Confirmed
from holdfast.runtime.outbox.received import Received
from tests.bridges.broker import delete, on_channel, own

PATIENCE_S = 30.0

convert = Pipeline("convert")


@convert.stage
def only(job):
    return job.payload


def eventually(look: Callable[[], object], *, within_s: float = PATIENCE_S) -> object:
    until = time.monotonic() + within_s
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < until, f"not within {within_s} s (last look: {found!r})"
        time.sleep(0.02)


class Bench:
    """An application with consumers, beside a transport that feeds them."""

    def __init__(self, url: str, broker_url: str, pipelines: Sequence[Pipeline]) -> None:
        self.url = url
        self.broker_url = broker_url
        self.exchange = own("exchange")
        self.queue = Queue(name=own("queue"), types=("#",), delivery_limit=2)
        self.transport = RabbitMq(broker_url, exchange=self.exchange, queues=[self.queue])
        assert self.transport.ready() is None
        self.app = Holdfast(url, pipelines=pipelines)
        self.cleanup = ExitStack()
        self.handled: list[Received] = []
        self.raises: dict[str, Exception] = {}

    def handle(self, message: Received, connection) -> None:
        self.handled.append(message)
        error = self.raises.get(message.id)
        if error is not None:
            raise error
        connection.execute(f"insert into effect values ('{message.id}')")

    def effects(self) -> list[str]:
        with self.app.store.transaction() as connection:
            return [row[0] for row in connection.execute("select id from effect").fetchall()]

    def start(self, consumer: RabbitMqConsumer) -> RabbitMqConsumer:
        consumer.start()
        self.cleanup.callback(consumer.stop)
        assert consumer.consuming(timeout_s=PATIENCE_S)
        return consumer

    def consumer(self, **options) -> RabbitMqConsumer:
        options = {"handler": self.handle, **options}
        return self.start(
            self.app.consumer(self.broker_url, queue=self.queue, exchange=self.exchange, **options)
        )

    def dead_letter_consumer(self) -> RabbitMqConsumer:
        return self.start(
            self.app.dead_letter_consumer(self.broker_url, queue=self.queue, exchange=self.exchange)
        )

    def send(self, *messages):
        outcomes = self.transport.publish([[one] for one in messages], timeout_s=20)
        assert set(outcomes.values()) == {Confirmed()}

    def depth(self) -> int:
        async def count(channel):
            queue = await channel.declare_queue(self.queue.name, passive=True)
            return queue.declaration_result.message_count

        return on_channel(self.broker_url, count)

    def close(self) -> None:
        self.cleanup.close()
        self.transport.close()
        self.app.close()


_Bench = TypeVar("_Bench", bound=Bench)


def bench_on(
    url: str,
    broker_url: str,
    *,
    pipelines: Sequence[Pipeline] = (convert,),
    kind: type[_Bench] = Bench,
) -> Iterator[_Bench]:
    bench = kind(url, broker_url, pipelines)
    with bench.app.store.transaction() as connection:
        connection.execute("create table effect (id text)")
    yield bench
    bench.close()
    delete(
        broker_url,
        queues=(bench.queue.name, bench.queue.dead_queue),
        exchanges=(bench.exchange, dead_exchange(bench.exchange)),
    )
