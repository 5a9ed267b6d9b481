"""Consumers of a real RabbitMQ outlast it, long work and a database that is away."""

import logging
import threading
import time
from collections.abc import Iterator

import pytest

from holdfast import Holdfast, Pipeline
from holdfast.runtime.outbox.received import Received
from holdfast.testing.rabbitmq.server import PrivateRabbitmq
from holdfast.testing.servers.proxy import PostgresProxy
from tests.bridges.broker import a_message
from tests.bridges.consuming import PATIENCE_S, Bench, bench_on, eventually
from tests.plugins.rabbitmq import CONSUMER_TIMEOUT_S

pytestmark = pytest.mark.timeout(200)


@pytest.fixture
def hurt(either_database_url: str, rabbitmq_server: PrivateRabbitmq) -> Iterator[Bench]:
    yield from bench_on(either_database_url, rabbitmq_server.url)


@pytest.mark.slow
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
