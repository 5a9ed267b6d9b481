"""What consumers of a real RabbitMQ cannot handle becomes a dead letter, there and here."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

import aio_pika
import kombu
import pytest

from holdfast import GiveUp
from holdfast.bridges.rabbitmq import RabbitMq
from holdfast.bridges.rabbitmq.topology import dead_exchange
from holdfast.core.dead_letter.dead_letter import MESSAGE
from holdfast.errors import UsageError
from tests.bridges.broker import a_message, delete, drained, on_channel
from tests.bridges.consuming import Bench, bench_on, eventually

pytestmark = pytest.mark.timeout(200)

BUSY_S = 60.0
"""For what takes a relay, two consumers and the broker one after the other."""


@pytest.fixture
def bench(database_url: str, amqp_url: str) -> Iterator[Bench]:
    yield from bench_on(database_url, amqp_url)


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


@pytest.mark.parametrize(
    "body", [b"{", b"\xff\xfe", b"NaN", b"1e999", b'{"a":"\\u0000"}', b'{"a":"\\ud800"}']
)
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


UNREADABLE = {b"{": "{", b"\xff\x00": "\\xff\\x00", b"": "", b'"\\ud800"': '"\\ud800"'}


@pytest.mark.parametrize("body", UNREADABLE)
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
    assert kept["unreadable"] == UNREADABLE[body]
    dead.stop()
    assert drained(bench.broker_url, bench.queue.dead_queue) == []
    bench.app.dead.triage(view.id, cause="data", by="ada")
    bench.app.dead.remediate(view.id, evidence="told its producer", by="ada")
    with pytest.raises(UsageError, match="have its producer send it anew"):
        bench.app.dead.replay(view.id, by="ada")


ODD = {
    "a NUL in its id": {"message_id": "m\0"},
    "an id longer than a property": {"headers": {"cloudEvents:id": "m" * 300}},
    "a NUL in its type": {"message_id": "m-1", "type": "a\0b"},
    "headers that look like a dead letter's": {
        "message_id": "m-1",
        "headers": {
            "holdfast-failure": "[" * 30_000,
            "holdfast-attempts": 2**60,
            "holdfast-queue": "\0",
            "x-delivery-count": 2**60,
            "x-death": "?",
        },
    },
    "headers of every kind": {
        "message_id": "m-1",
        "headers": {
            "nothing": None,
            "bytes": b"\xff\0",
            "list": [1, [2.5, {"deep": True}]],
            "time": datetime(2026, 1, 31, tzinfo=UTC),
            "amount": Decimal("1.5"),
            "number": 1e300,
        },
    },
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("buried_by", ["consumer", "broker"])
def test_whatever_a_message_says_of_itself_it_is_one_dead_letter_and_does_not_loop(
    bench: Bench, odd: str, buried_by: str
):
    with kombu.Connection(bench.broker_url) as connection:
        connection.Producer().publish(
            b"{",
            exchange=bench.exchange if buried_by == "consumer" else dead_exchange(bench.exchange),
            routing_key=bench.queue.name,
            content_type="application/json",
            content_encoding="utf-8",
            **ODD[odd],
        )
    if buried_by == "consumer":
        bench.consumer()
    dead = bench.dead_letter_consumer()

    (view,) = eventually(bench.app.dead.find)

    assert json.loads(view.letter.payload)["unreadable"] == "{"
    dead.stop()
    assert bench.depth() == 0
    assert drained(bench.broker_url, bench.queue.dead_queue) == []


def test_a_queue_of_dead_letters_that_was_deleted_is_declared_again_and_none_is_lost(bench: Bench):
    sent = [a_message(number) for number in range(3)]
    for message in sent:
        bench.raises[message.id] = GiveUp("SCHEMA_INVALID", "no such course")
    bench.consumer(prefetch=2)
    delete(bench.broker_url, queues=(bench.queue.dead_queue,))

    bench.send(*sent)
    eventually(lambda: bench.depth() == 0 and len(bench.handled) >= len(sent))
    letters = []

    # One that was handled last may be on its way to the new queue.
    def are_all_there() -> bool:
        letters.extend(drained(bench.broker_url, bench.queue.dead_queue))
        return len(letters) >= len(sent)

    eventually(are_all_there, within_s=BUSY_S)

    assert sorted(letter.message_id for letter in letters) == sorted(one.id for one in sent)
    fine = a_message(4)
    bench.send(fine)
    assert eventually(bench.effects) == [fine.id]


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
