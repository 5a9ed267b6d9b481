"""Consumers of a real RabbitMQ: every message has its effect once, whatever comes how often."""

import json
import logging
import random
import threading
import time
from collections.abc import Iterator

import aio_pika
import kombu
import pytest

from holdfast import GiveUp, Holdfast, Pipeline
from holdfast.bridges.rabbitmq import RabbitMq
from holdfast.bridges.rabbitmq_topology import Queue
from holdfast.core.dead_letter import MESSAGE
from holdfast.core.outbox import Confirmed
from holdfast.errors import InvalidValue, TopologyMismatch, UsageError
from holdfast.runtime.received import Received
from holdfast.testing.proxy import PostgresProxy
from holdfast.testing.rabbitmq_server import PrivateRabbitmq
from tests.bridges.broker import a_message, delete, drained, on_channel
from tests.bridges.consuming import PATIENCE_S, Bench, bench_on, convert, eventually
from tests.plugins.rabbitmq import CONSUMER_TIMEOUT_S

pytestmark = pytest.mark.timeout(200)

BUSY_S = 60.0
"""For what takes a relay, two consumers and the broker one after the other."""


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
    assert bench.effects() == [sent.id] * 2


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


@pytest.mark.parametrize("body", [b"{", b"\xff\x00", b""])
@pytest.mark.parametrize("message_id", ["m-1", None])
def test_a_dead_letter_that_cannot_be_read_is_kept_here_and_does_not_loop(
    bench: Bench, body, message_id
):
    bench.consumer()
    dead = bench.dead_letter_consumer()

    # aio-pika would give every message an id.
    given = {} if message_id is None else {"message_id": message_id}
    with kombu.Connection(bench.broker_url) as connection:
        connection.Producer().publish(
            body,
            exchange=bench.exchange,
            routing_key="x",
            content_type="application/octet-stream",
            content_encoding="binary",
            **given,
        )

    (view,) = eventually(bench.app.dead.find)
    assert view.letter.error_class == "PAYLOAD_INVALID"
    kept = json.loads(view.letter.payload)
    assert kept["message_id"] == message_id or len(kept["message_id"]) == 64
    assert kept["unreadable"] == {b"{": "{", b"\xff\x00": "\\xff\\x00", b"": ""}[body]
    dead.stop()
    assert drained(bench.broker_url, bench.queue.dead_queue) == []
    bench.app.dead.triage(view.id, cause="data", by="ada")
    bench.app.dead.remediate(view.id, evidence="told its producer", by="ada")
    with pytest.raises(UsageError, match="have its producer send it anew"):
        bench.app.dead.replay(view.id, by="ada")


def test_a_dead_message_is_published_again_and_dies_again_or_lives(bench: Bench):
    sent = a_message(1)
    bench.raises[sent.id] = GiveUp("SCHEMA_INVALID", "no such course")
    bench.consumer()
    bench.dead_letter_consumer()
    relay = bench.app.relay(RabbitMq(bench.broker_url, exchange=bench.exchange))
    relay.start()
    bench.cleanup.callback(relay.stop)
    bench.send(sent)
    eventually(bench.app.dead.find, within_s=BUSY_S)

    def send_back() -> None:
        dead = bench.app.dead
        dead.triage(sent.id, cause="data", by="ada")
        dead.remediate(sent.id, evidence="the course exists now", by="ada")
        assert dead.replay(sent.id, by="ada").standing == "replaying"

    send_back()
    eventually(lambda: bench.app.dead.get(sent.id).letter.deaths == 2, within_s=BUSY_S)
    assert bench.app.dead.get(sent.id).standing == "escalated"
    del bench.raises[sent.id]
    send_back()

    assert eventually(bench.effects, within_s=BUSY_S) == [sent.id]
    # The consumer may be faster than the relay, which marks what the broker has confirmed.
    eventually(lambda: bench.app.outbox.get(sent.id).status == "published", within_s=BUSY_S)
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
    too_many = (
        {"handler": bench.handle, "pipeline": convert},
        {"handler": bench.handle, "replies": True},
        {"pipeline": convert, "replies": True},
    )
    for options in ({}, *too_many):
        with pytest.raises(UsageError, match="a handler or a pipeline or replies"):
            bench.app.consumer(bench.broker_url, queue=bench.queue, **options)
    with pytest.raises(InvalidValue, match="prefetch"):
        bench.app.consumer(bench.broker_url, queue=bench.queue, handler=bench.handle, prefetch=0)


def test_a_queue_that_was_deleted_is_declared_and_consumed_again(bench: Bench):
    bench.consumer()
    delete(bench.broker_url, queues=(bench.queue.name,))

    sent = a_message()

    def taken():
        outcome = bench.transport.publish([[sent]], timeout_s=5)
        return Confirmed() in outcome.values()

    eventually(taken)
    assert eventually(bench.effects) == [sent.id]


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
