"""The loopback: messages of a real outbox, handed to handles in this process."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from holdfast import Holdfast
from holdfast.bridges.loopback import DELIVERY_LIMIT, Loopback, LoopbackFaults, received_of
from holdfast.bridges.rabbitmq import Queue, RabbitMq
from holdfast.bridges.rabbitmq.received import unpacked
from holdfast.bridges.rabbitmq.topology import dead_exchange
from holdfast.core.values.instant import SECOND_US
from holdfast.core.values.outbox import Confirmed, NotTaken, Trouble
from holdfast.errors import GiveUp, HandlerStuck, InvalidValue, StoreUnavailable
from holdfast.messaging import OutboxStatus, Received
from holdfast.runtime.kernel.clock import Chance
from holdfast.runtime.outbox.relay import RelayOptions, RelayService
from holdfast.testing import ManualClock
from tests.bridges.broker import a_message, delete, drained, own

PATIENCE_S = 20.0
PENDING, PUBLISHED, FAILED = OutboxStatus


class Bench:
    """A relay over a loopback, turn by turn in the test's own time."""

    def __init__(self, url: str) -> None:
        self.clock = ManualClock()
        self.app = Holdfast(url, clock=self.clock, chance=Chance(7))
        self.got: list[Received] = []
        self.raises: list[BaseException] = []
        self.faults = LoopbackFaults()
        self.transport = Loopback(
            self.app, {"note": self.handle, "memo": self.handle}, faults=self.faults
        )
        self.fatal: list[str] = []
        self.relay = RelayService(
            self.app.store,
            self.transport,
            holder="relay-1",
            clock=self.clock,
            chance=Chance(7),
            options=RelayOptions(),
            on_fatal=self.fatal.append,
        )

    def handle(self, message: Received) -> None:
        self.got.append(message)
        if self.raises:
            raise self.raises.pop(0)

    def turn(self) -> float:
        """One turn, and the seconds until the next."""
        now = self.clock.now()
        return (self.relay.tick(now) - now) / SECOND_US

    def turns(self, count: int, *, every_s: float = 60.0) -> None:
        for _ in range(count):
            self.turn()
            self.clock.advance(every_s)

    def status(self, message_id: str) -> OutboxStatus:
        return self.app.outbox.get(message_id).status

    def payloads(self) -> list[object]:
        return [message.payload for message in self.got]


@pytest.fixture
def bench(database_url: str) -> Iterator[Bench]:
    made = Bench(database_url)
    yield made
    made.app.close()


def until(look: Callable[[], object]) -> None:
    ends_at_s = time.monotonic() + PATIENCE_S
    while not look():
        assert time.monotonic() < ends_at_s
        time.sleep(0.01)


def test_a_message_goes_to_the_handle_of_its_type_and_is_confirmed(bench: Bench):
    sent = bench.app.publish("note", {"n": 1}, aggregate_id="a")

    bench.turn()

    (got,) = bench.got
    assert (got.id, got.type, got.subject, got.payload) == (sent, "note", "a", {"n": 1})
    assert (got.deliveries, got.has_id) == (1, True)
    assert bench.status(sent) is PUBLISHED


def test_a_handle_sees_what_a_consumer_of_rabbitmq_would_see(amqp_url: str):
    exchange, queue = own("exchange"), Queue(name=own("queue"), types=("#",))
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    sent = a_message(3, trace=trace, payload='{"callback_token":"t.s","n":[1,null,"č"]}')
    transport = RabbitMq(amqp_url, exchange=exchange, queues=[queue])
    assert transport.ready() is None
    assert transport.publish([[sent]], timeout_s=20) == {sent.id: Confirmed()}
    transport.close()
    (taken,) = drained(amqp_url, queue.name)
    delete(
        amqp_url,
        queues=(queue.name, queue.dead_queue),
        exchanges=(exchange, dead_exchange(exchange)),
    )

    here, there = received_of(sent, deliveries=1), unpacked(taken)

    assert here.arrived_s is not None
    brokers_own = {name: value for name, value in there.headers.items() if name.startswith("x-")}
    assert {**here.headers, **brokers_own} == there.headers
    assert here._replace(arrived_s=None, headers=there.headers) == there


def test_a_type_without_a_handle_is_unroutable_and_stays(bench: Bench):
    sent = bench.app.publish("grade", 1)

    bench.turn()

    message = bench.app.outbox.get(sent)
    assert message.status is PENDING
    assert message.error_message == "unroutable: no handle takes messages of type 'grade'"


def test_what_may_pass_is_tried_again_and_then_confirmed(bench: Bench):
    bench.raises = [TimeoutError("slow"), TimeoutError("slow")]
    sent = bench.app.publish("note", 1)

    bench.turns(3)

    assert [message.deliveries for message in bench.got] == [1, 2, 3]
    assert bench.status(sent) is PUBLISHED
    assert bench.app.dead.find() == []


def test_what_fails_as_often_as_the_limit_allows_is_a_dead_letter(bench: Bench):
    bench.raises = [TimeoutError("slow") for _ in range(20)]
    sent = bench.app.publish("note", {"n": 1}, aggregate_id="a")

    bench.turns(DELIVERY_LIMIT + 3)

    assert [message.deliveries for message in bench.got] == [1, 2, 3, 4, 5, 6]
    assert bench.status(sent) is PUBLISHED
    (letter,) = bench.app.dead.find()
    assert (letter.id, letter.letter.kind, letter.letter.attempts) == (sent, "message", 6)
    assert (letter.letter.pipeline, letter.letter.error_class) == ("note", "NETWORK_TIMEOUT")


def test_the_limit_holds_across_processes(bench: Bench):
    bench.raises = [TimeoutError("slow") for _ in range(20)]
    bench.app.publish("note", 1)
    bench.turns(3)
    successor = Loopback(bench.app, {"note": bench.handle})
    bench.relay._transport = successor

    bench.turns(5)

    assert [message.deliveries for message in bench.got] == [1, 2, 3, 4, 5, 6]


def test_what_cannot_succeed_is_a_dead_letter_at_once_and_holds_nothing_up(bench: Bench):
    bench.raises = [GiveUp("NO_SUCH_ESSAY", "there is no essay e-1")]
    first = bench.app.publish("note", 1, aggregate_id="a")
    second = bench.app.publish("note", 2, aggregate_id="a")

    bench.turn()

    assert bench.payloads() == [1, 2]
    assert [bench.status(one) for one in (first, second)] == [PUBLISHED, PUBLISHED]
    (letter,) = bench.app.dead.find()
    assert (letter.id, letter.letter.error_class) == (first, "NO_SUCH_ESSAY")
    assert (letter.letter.queue, letter.letter.message) == ("loopback", "there is no essay e-1")


def test_a_dead_letter_that_is_replayed_is_handed_over_again(bench: Bench):
    bench.raises = [GiveUp("NO_SUCH_ESSAY", "there is no essay e-1")]
    sent = bench.app.publish("note", {"n": 1})
    bench.turn()
    dead = bench.app.dead
    dead.triage(sent, cause="data", by="ada")
    dead.remediate(sent, evidence="the essay is back", by="ada")

    dead.replay(sent, by="ada")
    bench.turn()

    assert [(got.id, got.payload, got.deliveries) for got in bench.got] == [(sent, {"n": 1}, 1)] * 2
    assert bench.status(sent) is PUBLISHED


def test_an_outage_of_the_store_costs_no_delivery(bench: Bench):
    bench.raises = [StoreUnavailable("sqlite", reason="no connection") for _ in range(9)]
    sent = bench.app.publish("note", 1)

    bench.turns(10)

    assert [message.deliveries for message in bench.got] == [1] * 10
    assert bench.status(sent) is PUBLISHED
    assert bench.app.dead.find() == []


def test_messages_of_an_aggregate_are_handed_over_in_order(bench: Bench):
    bench.raises = [TimeoutError("slow")]
    for number in range(4):
        bench.app.publish("note", number, aggregate_id="a")

    bench.turns(2)

    assert bench.payloads() == [0, 0, 1, 2, 3]


def test_while_it_is_down_messages_wait_unspent(bench: Bench):
    bench.faults.mode = "down"
    sent = bench.app.publish("note", 1)
    bench.turns(3)
    assert bench.got == []

    bench.faults.mode = "healthy"
    bench.turn()

    assert bench.payloads() == [1]
    assert (bench.status(sent), bench.app.outbox.get(sent).retry_count) == (PUBLISHED, 0)


def test_a_lost_confirmation_brings_a_message_again(bench: Bench):
    bench.faults.mode = "loses_confirms"
    sent = bench.app.publish("note", 1)
    bench.turns(2)
    message = bench.app.outbox.get(sent)
    assert (message.status, message.error_message) == (
        PENDING,
        "unconfirmed: the loopback lost the confirmation",
    )

    bench.faults.mode = "healthy"
    bench.turn()

    assert [(got.id, got.deliveries) for got in bench.got] == [(sent, 1)] * 3
    assert bench.status(sent) is PUBLISHED


def test_every_message_may_be_handed_over_twice(bench: Bench):
    bench.faults.mode = "delivers_twice"
    sent = [bench.app.publish("note", number) for number in range(3)]

    bench.turn()

    assert sorted(got.id for got in bench.got) == sorted(sent * 2)
    assert [bench.status(one) for one in sent] == [PUBLISHED] * 3


def test_delayed_messages_come_when_their_time_is_up_and_hold_no_others_up(bench: Bench):
    bench.faults.mode = "delays"
    bench.faults.delay_s = 30
    bench.faults.delayed_types = ["memo"]
    memo = bench.app.publish("memo", "late")
    bench.app.publish("note", "soon")

    bench.turn()
    assert bench.payloads() == ["soon"]
    bench.turn()
    bench.clock.advance(29)
    bench.turn()
    assert bench.payloads() == ["soon"]
    bench.clock.advance(1)
    bench.turn()

    assert bench.payloads() == ["soon", "late"]
    message = bench.app.outbox.get(memo)
    assert (message.status, message.retry_count) == (PUBLISHED, 0)


def test_a_relay_sleeps_until_a_delayed_message_is_due(bench: Bench):
    bench.faults.mode = "delays"
    bench.faults.delay_s = 3
    bench.app.publish("memo", "late")

    bench.turn()

    assert bench.turn() == 3.0


def test_a_slow_handle_holds_up_no_other_aggregate_and_is_not_called_again(bench: Bench):
    let_go = threading.Event()
    calls: list[str] = []

    def slow(message: Received) -> None:
        calls.append(message.id)
        assert let_go.wait(PATIENCE_S)

    transport = Loopback(bench.app, {"slow": slow, "note": bench.handle})
    held, behind = a_message(1, message_type="slow"), a_message(2, message_type="note")
    other = a_message(3, message_type="note")

    first = transport.publish([[held, behind], [other]], timeout_s=0.2)
    again = transport.publish([[held, behind]], timeout_s=0.2)
    let_go.set()
    until(lambda: not transport._under_way)
    last = transport.publish([[held, behind]], timeout_s=PATIENCE_S)

    assert (first[held.id].trouble, first[other.id]) == (Trouble.UNCONFIRMED, Confirmed())
    assert again[held.id] == NotTaken(Trouble.UNCONFIRMED, "it is still being handled")
    assert behind.id not in {**first, **again}
    assert last == {held.id: Confirmed(), behind.id: Confirmed()}
    assert calls == [held.id]


def test_a_handle_that_does_not_end_ends_the_relay(bench: Bench):
    let_go = threading.Event()
    transport = Loopback(
        bench.app, {"note": lambda _: let_go.wait(PATIENCE_S) and None}, timeout_s=0.05
    )
    held = a_message(1, message_type="note")
    transport.publish([[held]], timeout_s=0.1)

    with pytest.raises(HandlerStuck, match=held.id):
        transport.ready()

    let_go.set()
    until(lambda: transport.ready() is None if not transport._under_way else False)


def test_a_payload_that_is_no_json_is_a_dead_letter(bench: Bench):
    broken = a_message(1, message_type="note", payload="{no json")

    assert bench.transport.publish([[broken]], timeout_s=5) == {broken.id: Confirmed()}

    assert bench.got == []
    (letter,) = bench.app.dead.find()
    assert (letter.id, letter.letter.error_class) == (broken.id, "PAYLOAD_INVALID")


def test_a_relay_hands_messages_over_as_they_are_published(database_url: str):
    with Holdfast(database_url) as app:
        got: list[object] = []
        handle = app.handle_once(lambda message, _: got.append(message.payload), name="notes")
        relay = app.relay(Loopback(app, {"note": handle}), types=["note"])
        relay.start()
        app.publish("note", 1)
        app.publish("note", 2)

        until(lambda: app.outbox.standing().pending == 0)
        assert relay.stop() == 0
        assert sorted(got) == [1, 2]


@pytest.mark.parametrize(
    ("field", "value"), [("mode", "sleepy"), ("delay_s", -1), ("delay_s", "soon")]
)
def test_a_fault_that_there_is_not_is_refused(field: str, value: object):
    faults = LoopbackFaults()

    with pytest.raises(InvalidValue, match=field):
        setattr(faults, field, value)
    assert (faults.mode, faults.delay_s) == ("healthy", 10.0)
