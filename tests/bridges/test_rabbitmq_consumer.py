"""Consumers of a real RabbitMQ: every message has its effect once, whatever comes how often."""

import json
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import aio_pika
import pytest

from holdfast import GiveUp, Holdfast, Pipeline
from holdfast.bridges.rabbitmq import RabbitMq
from holdfast.bridges.rabbitmq_consumer import RabbitMqConsumer
from holdfast.bridges.rabbitmq_topology import Queue, dead_exchange
from holdfast.core.dead_letter import MESSAGE
from holdfast.core.outbox import Confirmed
from holdfast.errors import InvalidValue, TopologyMismatch, UsageError
from holdfast.runtime.received import Received
from holdfast.testing.proxy import PostgresProxy
from holdfast.testing.rabbitmq_server import PrivateRabbitmq
from tests.bridges.broker import a_message, delete, drained, on_channel, own
from tests.plugins.rabbitmq import CONSUMER_TIMEOUT_S

pytestmark = pytest.mark.timeout(200)

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

    def __init__(self, url: str, broker_url: str) -> None:
        self.url = url
        self.broker_url = broker_url
        self.exchange = own("exchange")
        self.queue = Queue(name=own("queue"), types=("#",), delivery_limit=2)
        self.transport = RabbitMq(broker_url, exchange=self.exchange, queues=[self.queue])
        assert self.transport.ready() is None
        self.app = Holdfast(url, pipelines=[convert])
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


def bench_on(url: str, broker_url: str) -> Iterator[Bench]:
    bench = Bench(url, broker_url)
    with bench.app.store.transaction() as connection:
        connection.execute("create table effect (id text)")
    yield bench
    bench.close()
    delete(
        broker_url,
        queues=(bench.queue.name, bench.queue.dead_queue),
        exchanges=(bench.exchange, dead_exchange(bench.exchange)),
    )


@pytest.fixture
def bench(database_url: str, amqp_url: str) -> Iterator[Bench]:
    yield from bench_on(database_url, amqp_url)


@pytest.fixture
def hurt(either_database_url: str, rabbitmq_server: PrivateRabbitmq) -> Iterator[Bench]:
    yield from bench_on(either_database_url, rabbitmq_server.url)


def test_a_message_is_handled_with_what_its_producer_said(bench: Bench):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    sent = a_message(3, trace=trace)
    bench.consumer()
    bench.send(sent)

    eventually(bench.effects)

    (got,) = bench.handled
    assert got[:4] == (sent.id, "grading.request", "submission-3", {"n": 3})
    assert (got.source, got.trace, got.deliveries) == ("/holdfast", trace, 1)
    assert got.time.isoformat() == "2023-11-14T22:13:20+00:00"
    assert got.sequence == "00000000000000000003"
    eventually(lambda: bench.depth() == 0)


def test_duplicates_in_any_order_have_one_effect_each(bench: Bench):
    messages = [a_message(number) for number in range(30)]
    mixed = messages * 3
    random.Random(5).shuffle(mixed)
    bench.consumer(prefetch=8)
    bench.consumer(prefetch=8)

    for message in mixed:
        bench.send(message)

    eventually(lambda: bench.depth() == 0)
    eventually(lambda: len(bench.effects()) == 30)
    assert sorted(bench.effects()) == sorted(message.id for message in messages)


def test_two_consumers_by_different_names_both_handle_a_message(bench: Bench):
    bench.consumer(name="billing")
    sent = a_message()
    bench.send(sent)
    eventually(lambda: len(bench.effects()) == 1)
    bench.cleanup.close()

    bench.consumer(name="mailing")
    bench.send(sent)

    eventually(lambda: len(bench.effects()) == 2)


def test_a_job_is_made_of_a_message_once(bench: Bench):
    bench.consumer(handler=None, pipeline=convert)
    sent = a_message(4)
    for _ in range(3):
        bench.send(sent)

    eventually(lambda: bench.depth() == 0)
    jobs = eventually(bench.app.jobs)
    assert [(job.job.key, job.payload) for job in jobs] == [(sent.id, {"n": 4})]


def test_what_may_pass_is_tried_again_and_then_has_its_effect(bench: Bench):
    sent = a_message()
    bench.raises[sent.id] = TimeoutError("the ledger does not answer")
    bench.consumer()
    bench.send(sent)

    eventually(lambda: len(bench.handled) == 2)
    del bench.raises[sent.id]

    assert eventually(bench.effects) == [sent.id]
    assert [message.deliveries for message in bench.handled] == [1, 2, 3]


def test_poison_becomes_a_dead_letter_at_the_limit_and_does_not_loop(bench: Bench):
    poison, fine = a_message(1), a_message(2)
    bench.raises[poison.id] = TimeoutError("never")
    bench.consumer()
    bench.send(poison, fine)

    letters = eventually(lambda: drained(bench.broker_url, bench.queue.dead_queue))

    assert [letter.message_id for letter in letters] == [poison.id]
    headers = letters[0].headers
    assert headers["holdfast-attempts"] == 3
    assert headers["holdfast-queue"] == bench.queue.name
    failure = json.loads(headers["holdfast-failure"])
    assert (failure["error_class"], failure["message"]) == ("NETWORK_TIMEOUT", "never")
    assert headers["cloudEvents:subject"] == "submission-1"
    assert [one.id for one in bench.handled].count(poison.id) == 3
    assert bench.effects() == [fine.id]
    assert bench.depth() == 0


def test_what_cannot_succeed_is_a_dead_letter_at_once(bench: Bench):
    sent = a_message()
    bench.raises[sent.id] = GiveUp("SCHEMA_INVALID", "no such course")
    bench.consumer()
    bench.send(sent)

    (letter,) = eventually(lambda: drained(bench.broker_url, bench.queue.dead_queue))

    assert len(bench.handled) == 1
    assert json.loads(letter.headers["holdfast-failure"])["error_class"] == "SCHEMA_INVALID"


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b"NaN"])
def test_a_message_that_cannot_be_read_is_a_dead_letter_at_once(bench: Bench, body):
    bench.consumer()

    async def send(channel):
        exchange = await channel.get_exchange(bench.exchange)
        await exchange.publish(aio_pika.Message(body, message_id="m-1"), routing_key="x")

    on_channel(bench.broker_url, send)

    (letter,) = eventually(lambda: drained(bench.broker_url, bench.queue.dead_queue))
    assert letter.body == body
    assert json.loads(letter.headers["holdfast-failure"])["error_class"] == "PAYLOAD_INVALID"
    assert bench.handled == []


def test_dead_letters_of_the_broker_become_dead_letters_here(bench: Bench):
    sent = a_message(1, message_type="grading.request")
    bench.raises[sent.id] = GiveUp("SCHEMA_INVALID", "no such course")
    bench.consumer()
    bench.dead_letter_consumer()
    bench.send(sent)

    (view,) = eventually(bench.app.dead.find)

    letter = view.letter
    assert (letter.id, letter.kind) == (sent.id, MESSAGE)
    assert (letter.pipeline, letter.stage) == ("grading.request", bench.queue.name)
    assert (letter.error_class, letter.message) == ("SCHEMA_INVALID", "no such course")
    assert letter.attempts == 1
    assert json.loads(letter.payload) == {
        "message_id": sent.id,
        "message_type": "grading.request",
        "aggregate_id": "submission-1",
        "trace": None,
        "payload": {"n": 1},
    }
    assert bench.app.verify() == []


@pytest.mark.slow
def test_a_dead_message_is_published_again_and_dies_again_or_lives(bench: Bench):
    sent = a_message(1)
    bench.raises[sent.id] = GiveUp("SCHEMA_INVALID", "no such course")
    bench.consumer()
    bench.dead_letter_consumer()
    relay = bench.app.relay(RabbitMq(bench.broker_url, exchange=bench.exchange))
    relay.start()
    bench.cleanup.callback(relay.stop)
    bench.send(sent)
    eventually(bench.app.dead.find)

    def send_back() -> None:
        dead = bench.app.dead
        dead.triage(sent.id, cause="data", by="ada")
        dead.remediate(sent.id, evidence="the course exists now", by="ada")
        assert dead.replay(sent.id, by="ada").standing == "replaying"

    send_back()
    eventually(lambda: bench.app.dead.get(sent.id).letter.deaths == 2)
    assert bench.app.dead.get(sent.id).standing == "escalated"
    del bench.raises[sent.id]
    send_back()

    assert eventually(bench.effects) == [sent.id]
    assert bench.app.outbox.get(sent.id).status == "published"
    assert bench.app.dead.get(sent.id).standing == "replaying"
    assert bench.app.verify() == []


def test_what_the_broker_gave_up_on_its_own_is_a_dead_letter_too(bench: Bench):
    sent = a_message(1)
    bench.send(sent)

    async def let_die(channel):
        queue = await channel.get_queue(bench.queue.name)
        while (message := await queue.get(fail=False)) is not None:
            await message.nack(requeue=True)

    on_channel(bench.broker_url, let_die)
    bench.dead_letter_consumer()

    (view,) = eventually(bench.app.dead.find)
    assert (view.letter.id, view.letter.error_class) == (sent.id, "WORKER_CRASH")
    assert view.letter.queue == bench.queue.name


def test_a_queue_that_is_made_otherwise_ends_the_consumer_with_its_name(bench: Bench):
    stricter = Queue(name=bench.queue.name, types=("#",), delivery_limit=9)
    consumer = bench.app.consumer(
        bench.broker_url, queue=stricter, exchange=bench.exchange, handler=bench.handle
    )

    with pytest.raises(TopologyMismatch, match=bench.queue.name):
        consumer.run(handle_signals=False)


def test_a_consumer_needs_one_thing_to_do(bench: Bench):
    for options in ({}, {"handler": bench.handle, "pipeline": convert}):
        with pytest.raises(UsageError, match="a handler or a pipeline"):
            bench.app.consumer(bench.broker_url, queue=bench.queue, **options)
    with pytest.raises(InvalidValue, match="prefetch"):
        bench.app.consumer(bench.broker_url, queue=bench.queue, handler=bench.handle, prefetch=0)


def test_a_queue_that_was_deleted_is_declared_and_consumed_again(bench: Bench):
    bench.consumer()
    delete(bench.broker_url, queues=(bench.queue.name,))

    def sent_and_handled():
        outcome = bench.transport.publish([[a_message()]], timeout_s=5)
        return Confirmed() in outcome.values()

    eventually(sent_and_handled)
    eventually(bench.effects)


def test_messages_at_hand_are_handled_before_a_consumer_ends(bench: Bench):
    begun, go_on = threading.Event(), threading.Event()

    def slow(message: Received, connection) -> None:
        begun.set()
        assert go_on.wait(PATIENCE_S)
        bench.handle(message, connection)

    consumer = bench.consumer(handler=slow)
    bench.send(a_message())
    assert begun.wait(PATIENCE_S)
    stopping = threading.Thread(target=consumer.stop)
    stopping.start()
    go_on.set()
    stopping.join(PATIENCE_S)

    assert len(bench.effects()) == 1
    assert bench.depth() == 0


@pytest.mark.parametrize("how", [pytest.param("restart", marks=pytest.mark.slow), "kill"])
def test_consumers_come_back_when_the_broker_does(hurt: Bench, rabbitmq_server, how):
    hurt.consumer()
    hurt.send(a_message(1))
    eventually(lambda: len(hurt.effects()) == 1)
    rabbitmq_server.settle()

    if how == "kill":
        rabbitmq_server.kill()
        rabbitmq_server.start()
    else:
        rabbitmq_server.restart()
    back_by = time.monotonic() + PATIENCE_S
    eventually(lambda: hurt.transport.ready() is None)
    hurt.send(a_message(2))

    eventually(lambda: len(hurt.effects()) == 2)
    assert time.monotonic() < back_by
    assert len(rabbitmq_server.consumers(hurt.queue.name)) == 1


def test_long_work_is_a_job_and_holds_no_delivery(hurt: Bench):
    """The broker takes a delivery back after a few seconds; the job takes longer than that."""
    slow = Pipeline("slow")

    @slow.stage
    def work(job):
        time.sleep(CONSUMER_TIMEOUT_S + 2)
        return job.payload

    app = Holdfast(hurt.url, pipelines=[slow])
    worker = app.worker()
    worker.start()
    consumer = app.consumer(
        hurt.broker_url, queue=hurt.queue, exchange=hurt.exchange, pipeline=slow
    )
    hurt.start(consumer)
    hurt.send(*(a_message(number) for number in range(3)))

    eventually(lambda: hurt.depth() == 0, within_s=CONSUMER_TIMEOUT_S)
    eventually(lambda: [job.state for job in app.jobs()] == ["complete"] * 3)
    assert [job.job.attempt for job in app.jobs()] == [1] * 3
    assert consumer.consuming()
    consumer.stop()
    worker.request_stop()
    worker.drain()
    app.close()


@pytest.mark.slow
def test_a_handler_that_holds_a_delivery_too_long_has_one_effect_all_the_same(
    hurt: Bench, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "holdfast.consumer")
    first = threading.Event()

    def slow(message: Received, connection) -> None:
        if not first.is_set():
            first.set()
            time.sleep(CONSUMER_TIMEOUT_S + 3)
        hurt.handle(message, connection)

    hurt.consumer(handler=slow)
    sent = a_message()
    hurt.send(sent)

    eventually(lambda: [line for line in caplog.records if line.event == "duplicate"])
    assert hurt.effects() == [sent.id]


def test_while_the_database_is_away_messages_are_kept_at_no_cost(
    postgres_url: str, amqp_url: str, caplog: pytest.LogCaptureFixture
):
    with PostgresProxy(postgres_url) as proxy:
        for bench in bench_on(proxy.url, amqp_url):
            bench.consumer()
            proxy.refuse()
            sent = a_message()
            bench.send(sent)
            eventually(
                lambda: [line for line in caplog.records if line.event == "consumer_held_up"]
            )

            proxy.pass_through()

            assert eventually(bench.effects) == [sent.id]
            assert [message.deliveries for message in bench.handled] == [1]
