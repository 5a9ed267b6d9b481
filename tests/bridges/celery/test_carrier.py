"""From a dispatcher to the broker: what is declared, what is sent, and where poison ends."""

import json
import time
from collections.abc import Callable, Iterator

import aio_pika
import pytest

from holdfast import Holdfast
from holdfast.bridges.celery.carrier import CeleryCarrier, due_queue
from holdfast.bridges.rabbitmq.topology import dead_exchange
from holdfast.core.job.plan import Route
from holdfast.core.values.ids import JobId
from holdfast.core.values.outbox import Confirmed, NotTaken, Trouble
from holdfast.errors import TopologyMismatch
from holdfast.runtime.dispatcher.dispatcher import DueMessage
from tests.bridges.broker import delete, drained, on_channel, own

pytestmark = pytest.mark.timeout(200)
PATIENCE_S = 30.0
JOB = JobId("01a1e20e-f7bd-766a-afe3-548dc18f1ad7")
DUE = DueMessage(Route("default", "p", "s"), (JOB,))


class Bench:
    """A carrier with names of its own."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.exchange = own("shop")
        self.queue = due_queue(self.exchange, "default")
        self.carrier = CeleryCarrier(url, exchange=self.exchange)

    def close(self) -> None:
        self.carrier.close()
        delete(
            self.url,
            queues=(self.queue.name, self.queue.dead_queue),
            exchanges=(self.exchange, dead_exchange(self.exchange)),
        )


@pytest.fixture
def bench(amqp_url: str) -> Iterator[Bench]:
    made = Bench(amqp_url)
    yield made
    made.close()


def eventually(look: Callable[[], object]) -> object:
    until_s = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < until_s
        time.sleep(0.02)
    return found


def test_a_message_is_a_task_of_celerys_that_names_jobs_and_survives_a_restart(bench: Bench):
    assert bench.carrier.waiting(["default"]) == {"default": 0}
    assert bench.carrier.carry([DUE, DUE], timeout_s=10) == [Confirmed(), Confirmed()]
    eventually(lambda: bench.carrier.waiting(["default"]) == {"default": 2})

    first, second = drained(bench.url, bench.queue.name)

    args, kwargs, _ = json.loads(first.body)
    assert (args, kwargs["due"]["jobs"]) == ([], [JOB])
    assert (first.headers["task"], first.headers["id"]) == ("holdfast.run", first.message_id)
    assert (first.content_type, first.content_encoding) == ("application/json", "utf-8")
    assert first.delivery_mode is aio_pika.DeliveryMode.PERSISTENT
    assert first.message_id != second.message_id


def test_a_queue_that_was_deleted_is_declared_again(bench: Bench):
    bench.carrier.waiting(["default"])
    delete(bench.url, queues=(bench.queue.name,))

    eventually(lambda: bench.carrier.waiting(["default"]) == {"default": 0})
    assert bench.carrier.carry([DUE], timeout_s=10) == [Confirmed()]


def test_a_broker_that_is_away_is_told_and_not_raised():
    carrier = CeleryCarrier("amqp://127.0.0.1:1/")

    found = carrier.waiting(["default"])

    assert isinstance(found, NotTaken)
    assert found.trouble is Trouble.UNAVAILABLE
    carrier.close()


def test_a_queue_that_is_made_otherwise_is_named(bench: Bench):
    async def predeclare(channel):
        await channel.declare_queue(bench.queue.name, durable=True)

    on_channel(bench.url, predeclare)

    with pytest.raises(TopologyMismatch, match=bench.queue.name):
        bench.carrier.waiting(["default"])


def test_poison_that_was_rejected_becomes_a_dead_letter_of_the_store(
    bench: Bench, database_url: str
):
    body = b'[[], {"due": {"version": 2}}, {}]'
    bench.carrier.waiting(["default"])

    async def reject(channel):
        exchange = await channel.get_exchange(bench.exchange)
        await exchange.publish(aio_pika.Message(body), routing_key=bench.queue.name)
        queue = await channel.get_queue(bench.queue.name)
        message = await queue.get(timeout=PATIENCE_S)
        await message.reject(requeue=False)

    on_channel(bench.url, reject)
    with Holdfast(database_url) as app:
        consumer = app.dead_letter_consumer(bench.url, queue=bench.queue, exchange=bench.exchange)
        consumer.start()
        try:
            (view,) = eventually(app.dead.find)
        finally:
            consumer.stop()

    assert view.letter.queue == bench.queue.name
