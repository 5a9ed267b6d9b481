"""Consumers of a real RabbitMQ: every message has its effect once, whatever comes how often."""

import random
import threading
from collections.abc import Iterator, Sequence

import pytest

from holdfast.bridges.rabbitmq.topology import Queue
from holdfast.core.values.outbox import Confirmed
from holdfast.errors import GiveUp, InvalidValue, TopologyMismatch, UsageError
from holdfast.runtime.outbox.received import Received
from tests.bridges.broker import a_message, delete
from tests.bridges.consuming import PATIENCE_S, Bench, bench_on, convert, eventually

pytestmark = pytest.mark.timeout(200)


@pytest.fixture
def bench(database_url: str, amqp_url: str) -> Iterator[Bench]:
    yield from bench_on(database_url, amqp_url)


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


def test_messages_that_wait_are_handed_over_together_and_poison_is_a_dead_letter_alone(
    bench: Bench,
):
    batches: list[list[str]] = []

    def take(messages: Sequence[Received]) -> None:
        batches.append([each.id for each in messages])
        if poison.id in batches[-1]:
            raise GiveUp("POISON", "it cannot be read")
        with bench.app.transaction() as tx:
            for each in messages:
                tx.execute("insert into effect values (:id)", {"id": each.id})

    sent = [a_message(number) for number in range(20)]
    poison = sent[7]
    bench.send(*sent)
    bench.consumer(handler=None, handle_many=take, prefetch=20)

    eventually(lambda: bench.depth() == 0 and len(bench.effects()) == 19)
    bench.dead_letter_consumer()
    [letter] = eventually(bench.app.dead.find)
    assert (letter.id, letter.letter.error_class) == (poison.id, "POISON")
    assert sorted(bench.effects()) == sorted(each.id for each in sent if each is not poison)
    assert max(map(len, batches)) > 1


def test_a_handle_gets_every_message_as_often_as_it_comes(bench: Bench):
    bench.consumer(handler=None, handle=bench.handled.append)
    sent = a_message(4)
    for _ in range(3):
        bench.send(sent)

    eventually(lambda: len(bench.handled) == 3)
    assert {message.id for message in bench.handled} == {sent.id}
    eventually(lambda: bench.depth() == 0)


def test_a_handle_that_was_made_to_handle_once_does(bench: Bench):
    bench.consumer(handler=None, handle=bench.app.handle_once(bench.handle, name="billing"))
    sent = a_message(4)
    for _ in range(3):
        bench.send(sent)

    eventually(lambda: bench.depth() == 0)
    assert eventually(bench.effects) == [sent.id]


def test_what_may_pass_is_tried_again_and_then_has_its_effect(bench: Bench):
    sent = a_message()
    bench.raises[sent.id] = TimeoutError("the ledger does not answer")
    bench.consumer()
    bench.send(sent)

    eventually(lambda: len(bench.handled) == 2)
    del bench.raises[sent.id]

    assert eventually(bench.effects) == [sent.id]
    assert [message.deliveries for message in bench.handled] == [1, 2, 3]


def test_a_queue_that_is_made_otherwise_ends_the_consumer_with_its_name(bench: Bench):
    stricter = Queue(name=bench.queue.name, types=("#",), delivery_limit=9)
    consumer = bench.app.consumer(
        bench.broker_url, queue=stricter, exchange=bench.exchange, handler=bench.handle
    )

    with pytest.raises(TopologyMismatch, match=bench.queue.name):
        consumer.run(handle_signals=False)


def test_a_consumer_needs_one_thing_to_do(bench: Bench):
    too_many = (
        {"handler": bench.handle, "handle": bench.handled.append},
        {"handler": bench.handle, "pipeline": convert},
        {"handler": bench.handle, "replies": True},
        {"pipeline": convert, "replies": True},
    )
    for options in ({}, *too_many):
        with pytest.raises(UsageError, match="a handler or a handle or a pipeline"):
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
