"""Exchanges and queues of other kinds: direct, plain, bound twice, and declared by others."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from aio_pika.exceptions import ChannelNotFoundEntity

from holdfast import GiveUp, Holdfast
from holdfast.bridges.rabbitmq import Binding, Queue, RabbitMq
from holdfast.bridges.rabbitmq.topology import dead_exchange
from holdfast.core.values.outbox import Confirmed, NotTaken, Trouble
from holdfast.errors import InvalidValue, TopologyMismatch, UsageError
from holdfast.messaging import Received
from tests.bridges.broker import a_message, delete, drained, on_channel, own
from tests.bridges.consuming import PATIENCE_S, eventually

pytestmark = pytest.mark.timeout(200)
REQUEST = "grading.request"


@dataclass
class Names:
    """Names on the broker that are removed after the test."""

    url: str
    exchanges: list[str] = field(default_factory=list)
    queues: list[str] = field(default_factory=list)

    def exchange(self) -> str:
        made = own("exchange")
        self.exchanges += [made, dead_exchange(made)]
        return made

    def queue(self) -> str:
        made = own("queue")
        self.queues += [made, f"{made}.dead"]
        return made

    def exist(self) -> list[str]:
        """Which of the queues there are."""
        return [name for name in self.queues if self._is_there(name)]

    def _is_there(self, name: str) -> bool:
        async def look(channel):
            await channel.declare_queue(name, passive=True)

        try:
            on_channel(self.url, look)
        except ChannelNotFoundEntity:
            return False
        return True


@pytest.fixture
def names(amqp_url: str) -> Iterator[Names]:
    made = Names(amqp_url)
    yield made
    delete(amqp_url, queues=tuple(made.queues), exchanges=tuple(made.exchanges))


@pytest.fixture
def transport(amqp_url: str):
    opened = []

    def make(**options) -> RabbitMq:
        opened.append(RabbitMq(amqp_url, **options))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def app(sqlite_url: str) -> Iterator[Holdfast]:
    with Holdfast(sqlite_url) as made:
        yield made


@pytest.fixture
def consuming(app: Holdfast, amqp_url: str):
    started = []

    def start(**options):
        consumer = app.consumer(amqp_url, **options)
        consumer.start()
        started.append(consumer)
        return consumer

    yield start
    for one in started:
        one.stop()


def sent(transport: RabbitMq, *messages):
    return transport.publish([[one] for one in messages], timeout_s=20)


def numbers(url: str, queue: str) -> list[int]:
    return sorted(json.loads(message.body)["n"] for message in drained(url, queue))


def test_a_direct_exchange_routes_by_exact_types(amqp_url: str, names: Names, transport):
    queue = Queue(name=names.queue(), types=(REQUEST,))
    publishing = transport(exchange=names.exchange(), exchange_type="direct", queues=[queue])
    assert publishing.ready() is None
    wanted, other = a_message(1), a_message(2, message_type="grading.request.again")

    outcomes = sent(publishing, wanted, other)

    assert outcomes[wanted.id] == Confirmed()
    assert outcomes[other.id].trouble is Trouble.UNROUTABLE
    assert numbers(amqp_url, queue.name) == [1]


def test_a_consumer_of_a_direct_exchange_takes_its_messages(names: Names, transport, consuming):
    exchange, queue = names.exchange(), Queue(name=names.queue(), types=(REQUEST,))
    got: list[Received] = []
    consumer = consuming(queue=queue, exchange=exchange, exchange_type="direct", handle=got.append)
    assert consumer.consuming(timeout_s=PATIENCE_S)
    publishing = transport(exchange=exchange, exchange_type="direct")
    assert publishing.ready() is None

    sent(publishing, a_message(1))

    eventually(lambda: [message.payload for message in got] == [{"n": 1}])


def test_patterns_are_refused_where_types_are_compared_as_they_are(app: Holdfast, amqp_url: str):
    for pattern in ("#", "grading.*", "*.request"):
        queue = Queue(name="q", types=(REQUEST, pattern))
        with pytest.raises(InvalidValue, match="exact types"):
            RabbitMq(amqp_url, exchange_type="direct", queues=[queue])
        with pytest.raises(InvalidValue, match="exact types"):
            app.consumer(amqp_url, queue=queue, exchange_type="direct", handle=print)
    with pytest.raises(InvalidValue, match="exchange_type"):
        RabbitMq(amqp_url, exchange_type="fanout")


def test_an_exchange_of_the_other_type_is_named_with_what_differs(names: Names, transport):
    exchange = names.exchange()
    assert transport(exchange=exchange).ready() is None

    with pytest.raises(TopologyMismatch, match="type differs") as raised:
        transport(exchange=exchange, exchange_type="direct").ready()
    assert (raised.value.kind, raised.value.name) == ("exchange", exchange)


def test_a_plain_queue_has_no_dead_letters_and_tries_until_it_succeeds(
    names: Names, transport, consuming, caplog
):
    exchange, name = names.exchange(), names.queue()
    queue = Queue(name=name, types=(REQUEST,), delivery_limit=None)
    left = [GiveUp("NO", "not yet")] * 3
    got: list[int] = []

    def handle(message: Received) -> None:
        got.append(message.deliveries)
        if left:
            raise left.pop()

    assert consuming(queue=queue, exchange=exchange, handle=handle).consuming(timeout_s=PATIENCE_S)
    publishing = transport(exchange=exchange)
    assert publishing.ready() is None

    sent(publishing, a_message(1))

    eventually(lambda: got == [1, 2, 3, 4])
    assert names.exist() == [name]
    events = [getattr(record, "event", "") for record in caplog.records]
    assert (events.count("message_failed"), events.count("consumer_held_up")) == (3, 0)


def test_a_queue_bound_twice_gets_the_messages_of_both_exchanges(
    amqp_url: str, names: Names, transport
):
    exchange, request = names.exchange(), names.queue()
    letters = own("dlq")
    names.queues.append(letters)
    requests = Queue(name=request, types=(REQUEST,), dead_letters=letters)
    records = Queue(
        name=letters,
        types=("grading.dlq",),
        delivery_limit=None,
        bindings=(Binding(dead_exchange(exchange), (request,)),),
    )
    publishing = transport(exchange=exchange, queues=[records, requests])
    assert publishing.ready() is None

    sent(publishing, a_message(1, message_type="grading.dlq"), a_message(2))
    reject(amqp_url, request)

    eventually(lambda: depth(amqp_url, letters) == 2)
    assert numbers(amqp_url, letters) == [1, 2]
    assert transport(exchange=exchange, queues=[requests, records]).ready() is None


def reject(url: str, queue: str) -> None:
    async def take(channel):
        message = await (await channel.get_queue(queue, ensure=False)).get(timeout=PATIENCE_S)
        await message.reject(requeue=False)

    on_channel(url, take)


def depth(url: str, queue: str) -> int:
    async def count(channel):
        found = await channel.declare_queue(queue, passive=True)
        return found.declaration_result.message_count

    return on_channel(url, count)


def test_who_does_not_declare_waits_for_what_others_declare(amqp_url: str, names: Names, transport):
    exchange, queue = names.exchange(), Queue(name=names.queue(), types=(REQUEST,))
    waiting = transport(exchange=exchange, queues=[queue], declare=False)

    nothing = waiting.ready()
    assert isinstance(nothing, NotTaken)
    assert nothing.trouble is Trouble.UNAVAILABLE
    assert exchange in nothing.error
    assert names.exist() == []
    assert transport(exchange=exchange, exchange_type="direct", queues=[queue]).ready() is None

    assert waiting.ready() is None
    message = a_message(1)
    assert sent(waiting, message) == {message.id: Confirmed()}
    assert numbers(amqp_url, queue.name) == [1]


def test_a_queue_that_others_have_yet_to_declare_is_not_made(names: Names, transport):
    exchange, queue = names.exchange(), Queue(name=names.queue(), delivery_limit=None)
    assert transport(exchange=exchange).ready() is None

    missing = transport(exchange=exchange, queues=[queue], declare=False).ready()

    assert isinstance(missing, NotTaken)
    assert queue.name in missing.error
    assert names.exist() == []


def test_a_consumer_that_does_not_declare_waits_for_its_queue(names: Names, transport, consuming):
    exchange, queue = names.exchange(), Queue(name=names.queue(), types=(REQUEST,))
    got: list[Received] = []
    consumer = consuming(queue=queue, exchange=exchange, handle=got.append, declare=False)
    assert not consumer.consuming(timeout_s=1.0)
    assert names.exist() == []

    publishing = transport(exchange=exchange, queues=[queue])
    assert publishing.ready() is None
    sent(publishing, a_message(1))

    eventually(lambda: [message.payload for message in got] == [{"n": 1}])


def test_a_plain_queue_has_no_consumer_of_dead_letters(app: Holdfast, amqp_url: str):
    with pytest.raises(UsageError, match="has no dead letters"):
        app.dead_letter_consumer(amqp_url, queue=Queue(name="q", delivery_limit=None))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"delivery_limit": None, "dead_letters": "q.dead"}, "delivery_limit"),
        ({"bindings": (Binding("", ("a",)),)}, "exchange"),
        ({"bindings": (Binding("e", ("",)),)}, "bindings"),
        ({"bindings": (Binding("e", ("a",), "fanout"),)}, "exchange_type"),
    ],
)
def test_a_queue_that_cannot_be_declared_is_refused(changes, said: str):
    with pytest.raises(InvalidValue, match=said):
        Queue(name="q", **changes)
