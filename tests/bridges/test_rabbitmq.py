"""The transport to RabbitMQ, against a real broker."""

import json
from collections.abc import Iterator

import pytest

from holdfast.bridges.rabbitmq import RabbitMq
from holdfast.bridges.rabbitmq.topology import Queue
from holdfast.core.values.outbox import Confirmed, NotTaken, Trouble, Unsendable
from holdfast.errors import InvalidValue, TopologyMismatch
from holdfast.testing.rabbitmq.server import PrivateRabbitmq
from tests.bridges.broker import a_message, delete, drained, on_channel, own

pytestmark = pytest.mark.timeout(200)

TIMEOUT_S = 5.0


class Bench:
    """A transport, and the queue that wants its messages."""

    def __init__(self, url: str, **options) -> None:
        self.url = url
        self.exchange = own("exchange")
        self.queue = Queue(name=own("queue"), types=("grading.#",))
        options = {"exchange": self.exchange, "queues": [self.queue], **options}
        self.transport = RabbitMq(url, **options)

    def publish(self, *runs, timeout_s=TIMEOUT_S):
        return self.transport.publish(runs, timeout_s=timeout_s)

    def received(self):
        return drained(self.url, self.queue.name)


@pytest.fixture
def bench(amqp_url: str) -> Iterator[Bench]:
    bench = Bench(amqp_url)
    assert bench.transport.ready() is None
    yield bench
    bench.transport.close()
    delete(
        amqp_url,
        queues=(bench.queue.name, bench.queue.dead_queue),
        exchanges=(bench.exchange, f"{bench.exchange}.dead"),
    )


def test_a_message_arrives_as_a_cloud_event(bench):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    sent = a_message(7, trace=trace, payload='{"text":"čaj"}')

    assert bench.publish([sent]) == {sent.id: Confirmed()}

    (got,) = bench.received()
    assert json.loads(got.body) == {"text": "čaj"}
    assert (got.message_id, got.type, got.content_type) == (
        sent.id,
        "grading.request",
        "application/json",
    )
    assert got.delivery_mode == 2
    assert got.routing_key == "grading.request"
    assert {name: value for name, value in got.headers.items() if ":" in name} == {
        "cloudEvents:specversion": "1.0",
        "cloudEvents:id": sent.id,
        "cloudEvents:source": "/holdfast",
        "cloudEvents:type": "grading.request",
        "cloudEvents:subject": "submission-7",
        "cloudEvents:time": "2023-11-14T22:13:20.000000Z",
        "cloudEvents:sequence": "00000000000000000007",
        "cloudEvents:traceparent": trace,
    }
    assert got.headers["traceparent"] == trace


def test_a_trace_that_is_none_of_w3c_is_not_sent_as_one(bench):
    bench.publish([a_message(trace="my own words")])

    (got,) = bench.received()
    assert "traceparent" not in got.headers


def test_many_messages_are_confirmed_and_each_run_keeps_its_order(bench):
    runs = [
        [a_message(100 * run + number, aggregate_id=str(run)) for number in range(5)]
        for run in range(20)
    ]

    outcomes = bench.publish(*runs)

    assert set(outcomes.values()) == {Confirmed()}
    assert len(outcomes) == 100
    got = [json.loads(message.body)["n"] for message in bench.received()]
    for run in range(20):
        assert [n for n in got if n // 100 == run] == [100 * run + number for number in range(5)]


def test_a_message_that_no_queue_wants_is_not_taken(bench):
    lost, wanted = a_message(message_type="nobody.cares"), a_message()

    outcomes = bench.publish([lost], [wanted])

    assert outcomes[wanted.id] == Confirmed()
    assert outcomes[lost.id].trouble is Trouble.UNROUTABLE
    assert "no queue wants messages of type 'nobody.cares'" in outcomes[lost.id].error


def test_behind_a_message_that_was_not_taken_nothing_of_its_run_is_sent(bench):
    first, second = a_message(1, message_type="nobody.cares"), a_message(2)

    outcomes = bench.publish([first, second])

    assert set(outcomes) == {first.id}
    assert bench.received() == []


def test_a_queue_that_is_full_refuses(amqp_url, bench):
    queue = own("full")

    async def declare(channel):
        declared = await channel.declare_queue(
            queue, durable=True, arguments={"x-max-length": 1, "x-overflow": "reject-publish"}
        )
        await declared.bind(bench.exchange, routing_key="tiny")

    on_channel(amqp_url, declare)

    first, second = (a_message(number, message_type="tiny") for number in (1, 2))
    assert bench.publish([first]) == {first.id: Confirmed()}
    assert bench.publish([second])[second.id].trouble is Trouble.REFUSED
    delete(amqp_url, queues=(queue,))


def test_an_exchange_that_was_deleted_is_an_outage_and_declared_again(amqp_url, bench):
    delete(amqp_url, exchanges=(bench.exchange,))
    message = a_message()

    first = bench.publish([message])
    assert first[message.id].trouble in {Trouble.UNAVAILABLE, Trouble.UNCONFIRMED}
    assert bench.transport.ready() is None
    assert bench.publish([message]) == {message.id: Confirmed()}
    assert [got.message_id for got in bench.received()] == [message.id]


def test_a_message_over_the_limit_is_never_sent(amqp_url):
    bench = Bench(amqp_url, max_message_bytes=1_000)
    assert bench.transport.ready() is None
    large, small = a_message(payload=f'"{"x" * 1_000}"'), a_message(2)

    outcomes = bench.publish([large, small])

    assert outcomes == {
        large.id: Unsendable("its 1002 bytes are over the limit of 1000"),
        small.id: Confirmed(),
    }
    bench.transport.close()


def test_a_broker_that_is_not_there_is_an_outage():
    transport = RabbitMq("amqp://guest:sesame-opens@127.0.0.1:1/", connect_timeout=2)

    trouble = transport.ready()

    assert trouble is not None
    assert trouble.trouble is Trouble.UNAVAILABLE
    assert "amqp://127.0.0.1:1/" in trouble.error
    assert "sesame" not in trouble.error
    message = a_message()
    lost = NotTaken(Trouble.UNAVAILABLE, "the connection was lost")
    assert transport.publish([[message]], timeout_s=1) == {message.id: lost}
    transport.close()


@pytest.mark.parametrize("url", ["", "http://host/", "amqp:///", "amqp://host:port/", None])
def test_what_is_no_url_of_a_broker_is_refused(url):
    with pytest.raises(InvalidValue, match="like amqp://"):
        RabbitMq(url)


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "x" * 256}),
        ("types", {"name": "q", "types": ("a\nb",)}),
        ("delivery_limit", {"name": "q", "delivery_limit": 0}),
        ("dead_letters", {"name": "q", "dead_letters": ""}),
    ],
)
def test_a_queue_that_cannot_be_is_refused(field, changes):
    with pytest.raises(InvalidValue, match=field):
        Queue(**changes)


def test_a_classic_queue_where_a_quorum_queue_is_wanted_is_named(amqp_url):
    queue = Queue(name=own("queue"), types=("x",))
    exchange = own("exchange")

    async def predeclare(channel):
        await channel.declare_queue(queue.name, durable=True)

    on_channel(amqp_url, predeclare)
    transport = RabbitMq(amqp_url, exchange=exchange, queues=[queue])

    for _ in range(2):
        with pytest.raises(TopologyMismatch) as raised:
            transport.ready()
        assert (raised.value.kind, raised.value.name) == ("queue", queue.name)
        assert raised.value.argument.startswith("x-")
        assert "received" in raised.value.reason
        assert queue.name in str(raised.value)

    transport.close()
    delete(
        amqp_url,
        queues=(queue.name, queue.dead_queue),
        exchanges=(exchange, f"{exchange}.dead"),
    )


def test_a_queue_whose_limit_differs_is_named_with_the_limit(amqp_url, bench):
    stricter = Queue(name=bench.queue.name, types=bench.queue.types, delivery_limit=9)
    transport = RabbitMq(amqp_url, exchange=bench.exchange, queues=[stricter])

    with pytest.raises(
        TopologyMismatch, match=r"x-delivery-limit differs \(received '9'"
    ) as raised:
        transport.ready()
    assert raised.value.argument == "x-delivery-limit"
    transport.close()


def test_an_exchange_that_is_made_otherwise_is_named(amqp_url):
    exchange = own("exchange")

    async def predeclare(channel):
        await channel.declare_exchange(exchange, "fanout", durable=True)

    on_channel(amqp_url, predeclare)
    transport = RabbitMq(amqp_url, exchange=exchange)

    with pytest.raises(TopologyMismatch, match=f"exchange '{exchange}', but made otherwise: type"):
        transport.ready()
    transport.close()
    delete(amqp_url, exchanges=(exchange,))


def test_declaring_again_changes_nothing(amqp_url, bench):
    bench.publish([a_message()])
    again = RabbitMq(amqp_url, exchange=bench.exchange, queues=[bench.queue])

    assert again.ready() is None
    again.close()
    assert len(bench.received()) == 1


@pytest.mark.slow  # in every run: a relay in front of a blocked broker
def test_a_blocked_broker_is_waited_for_and_then_takes_everything(rabbitmq_server: PrivateRabbitmq):
    bench = Bench(rabbitmq_server.url)
    assert bench.transport.ready() is None
    first, second = a_message(1), a_message(2)
    rabbitmq_server.block()
    try:
        # The broker tells who publishes, and does not before somebody has.
        assert bench.publish([first], timeout_s=2)[first.id].trouble is Trouble.BLOCKED
        assert bench.transport.ready().trouble is Trouble.BLOCKED
    finally:
        rabbitmq_server.unblock()

    assert bench.transport.ready() is None
    assert bench.publish([second]) == {second.id: Confirmed()}
    assert second.id in {got.message_id for got in bench.received()}
    bench.transport.close()


@pytest.mark.slow
def test_a_broker_that_was_killed_is_found_again(rabbitmq_server: PrivateRabbitmq):
    bench = Bench(rabbitmq_server.url)
    assert bench.transport.ready() is None
    before, between, after = a_message(1), a_message(2), a_message(3)
    assert bench.publish([before]) == {before.id: Confirmed()}
    rabbitmq_server.settle()

    rabbitmq_server.kill()
    assert isinstance(bench.publish([between])[between.id], NotTaken)
    assert bench.transport.ready().trouble is Trouble.UNAVAILABLE
    rabbitmq_server.start()

    assert bench.transport.ready() is None
    assert bench.publish([after], timeout_s=20) == {after.id: Confirmed()}
    assert [got.message_id for got in bench.received()] == [before.id, after.id]
    bench.transport.close()
