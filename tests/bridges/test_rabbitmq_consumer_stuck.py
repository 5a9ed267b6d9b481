"""A handler that does not end costs its message a delivery and its consumer the process."""

import json
import logging
import math
import threading
import time
from collections.abc import Iterator

import pytest

from holdfast.bridges.rabbitmq.consumer import RabbitMqConsumer
from holdfast.errors import HandlerStuck, InvalidValue
from holdfast.runtime.outbox.received import Received
from tests.bridges.broker import a_message, drained
from tests.bridges.consuming import PATIENCE_S, Bench, bench_on, eventually

pytestmark = pytest.mark.timeout(200)


class Hanging(Bench):
    """One whose handler hangs for some messages, until the test is over."""

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self.go_on = threading.Event()
        self.hang_for: set[str] = set()
        self.threads: set[threading.Thread] = set()

    def handle(self, message: Received, connection) -> None:
        self.threads.add(threading.current_thread())
        if message.id in self.hang_for:
            self.go_on.wait()
        super().handle(message, connection)

    def made(self, *, timeout: float) -> RabbitMqConsumer:
        return self.app.consumer(
            self.broker_url,
            queue=self.queue,
            exchange=self.exchange,
            handler=self.handle,
            timeout=timeout,
        )

    def let_go(self) -> None:
        self.go_on.set()
        for thread in self.threads:
            thread.join(PATIENCE_S)


@pytest.fixture
def bench(database_url: str, amqp_url: str) -> Iterator[Hanging]:
    for made in bench_on(database_url, amqp_url, kind=Hanging):
        try:
            yield made
        finally:
            made.let_go()


def test_a_handler_that_does_not_end_ends_its_consumer_and_the_message_goes_back(bench: Hanging):
    sent = a_message()
    bench.hang_for.add(sent.id)
    bench.send(sent)

    with pytest.raises(HandlerStuck, match=sent.id) as raised:
        bench.made(timeout=0.5).run(handle_signals=False)

    assert raised.value.timeout_s == 0.5
    assert bench.depth() == 1


def test_what_a_handler_does_after_its_time_is_done_once_all_the_same(
    bench: Hanging, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "holdfast.consumer")
    sent = a_message()
    bench.hang_for.add(sent.id)
    bench.send(sent)
    with pytest.raises(HandlerStuck):
        bench.made(timeout=0.5).run(handle_signals=False)
    bench.let_go()
    assert bench.effects() == [sent.id]

    bench.consumer()

    eventually(lambda: [line for line in caplog.records if line.event == "duplicate"])
    assert bench.effects() == [sent.id]


def test_at_the_limit_a_message_whose_handler_does_not_end_is_a_dead_letter(bench: Hanging):
    sent = a_message()
    bench.hang_for.add(sent.id)
    bench.send(sent)

    for _ in range(bench.queue.delivery_limit + 1):
        with pytest.raises(HandlerStuck):
            bench.made(timeout=0.3).run(handle_signals=False)

    (letter,) = drained(bench.broker_url, bench.queue.dead_queue)
    failure = json.loads(letter.headers["holdfast-failure"])
    assert (letter.message_id, failure["error_class"]) == (sent.id, "STAGE_TIMEOUT")
    assert failure["outcome_known"] is False
    assert letter.headers["holdfast-attempts"] == 3
    assert bench.depth() == 0


@pytest.mark.slow
def test_what_else_is_at_hand_is_finished_before_the_consumer_ends(
    postgres_url: str, amqp_url: str, caplog: pytest.LogCaptureFixture
):
    for bench in bench_on(postgres_url, amqp_url, kind=Hanging):
        stuck, fine = a_message(1), a_message(2)
        go_on = threading.Event()

        def handle(message: Received, connection, bench=bench, fine=fine, go_on=go_on) -> None:
            if message.id == fine.id:
                assert go_on.wait(PATIENCE_S)
            bench.handle(message, connection)

        bench.hang_for.add(stuck.id)
        timeout_s = 4.0
        consumer = bench.consumer(handler=handle, timeout=timeout_s)
        bench.send(stuck)
        eventually(lambda bench=bench: bench.threads)
        # The other one has so much longer.
        time.sleep(timeout_s / 2)
        bench.send(fine)
        eventually(lambda: [line for line in caplog.records if line.event == "fatal"])
        go_on.set()

        assert eventually(bench.effects) == [fine.id]
        eventually(lambda consumer=consumer: not consumer.consuming())
        eventually(lambda bench=bench: bench.depth() == 1)
        bench.let_go()


def test_a_statement_that_takes_too_long_costs_deliveries_and_does_not_loop(
    postgres_url: str, amqp_url: str
):
    for bench in bench_on(postgres_url, amqp_url):
        deliveries: list[int] = []

        def handle(message: Received, connection, deliveries=deliveries) -> None:
            deliveries.append(message.deliveries)
            connection.execute("set local statement_timeout = 50")
            connection.execute("select pg_sleep(10)")

        bench.consumer(handler=handle)
        sent = a_message()
        bench.send(sent)
        (letter,) = eventually(lambda bench=bench: drained(amqp_url, bench.queue.dead_queue))

        assert letter.message_id == sent.id
        assert "statement timeout" in json.loads(letter.headers["holdfast-failure"])["message"]
        assert deliveries == [1, 2, 3]


@pytest.mark.parametrize("timeout", [0, -1, 56, math.nan, True, "1", None])
def test_a_time_that_makes_no_sense_is_refused_by_name(bench: Hanging, timeout):
    with pytest.raises(InvalidValue, match="timeout"):
        bench.made(timeout=timeout)
