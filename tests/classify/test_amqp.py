"""aio-pika, pika and kombu against a broker that refuses, returns, and hangs up."""

import asyncio

import aio_pika
import aiormq
import amqp
import kombu
import kombu.exceptions
import pika
import pika.exceptions
import pytest

from holdfast.classify import classify
from tests.classify import rows
from tests.classify.broker import DROP, NACK, RETURN, Broker
from tests.classify.rows import NOW, caught, retried, row_of
from tests.classify.servers import LOOPBACK, Server, unused_port

NOT_TAKEN = retried("UPSTREAM_5XX", known=True, blames=False)


def url_of(port):
    return f"amqp://guest:guest@{LOOPBACK}:{port}/"


def send_with_aio_pika(port):
    async def send():
        connection = await aio_pika.connect(url_of(port), timeout=5)
        try:
            channel = await connection.channel(on_return_raises=True)
            await channel.declare_queue("q", timeout=5)
            message = aio_pika.Message(b"hello")
            await channel.default_exchange.publish(message, "q", mandatory=True, timeout=5)
        finally:
            await connection.close()

    return asyncio.run(send())


def send_with_pika(port):
    parameters = pika.ConnectionParameters(
        LOOPBACK, port, connection_attempts=1, socket_timeout=5, blocked_connection_timeout=5
    )
    connection = pika.BlockingConnection(parameters)
    try:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.queue_declare("q")
        channel.basic_publish("", "q", b"hello", mandatory=True)
    finally:
        if connection.is_open:
            connection.close()


def send_with_kombu(port):
    options = {"confirm_publish": True, "max_retries": 0}
    with kombu.Connection(url_of(port), connect_timeout=5, transport_options=options) as connection:
        connection.ensure_connection(max_retries=1, interval_start=0, timeout=5)
        channel = connection.channel()
        queue = kombu.Queue("q", channel=channel)
        queue.declare()
        kombu.Producer(channel).publish(b"hello", routing_key="q", mandatory=True)


SENDS = {"aio-pika": send_with_aio_pika, "pika": send_with_pika, "kombu": send_with_kombu}


@pytest.fixture(params=SENDS)
def send(request):
    return SENDS[request.param]


def error_of(send, broker):
    with Server(broker) as server:
        return caught(send, server.port)


def test_a_message_that_is_taken(send):
    with Server(Broker()) as server:
        assert send(server.port) is None


def test_nobody_listens(send):
    error = caught(send, unused_port())

    assert isinstance(
        error,
        aiormq.exceptions.AMQPConnectionError
        | pika.exceptions.AMQPConnectionError
        | kombu.exceptions.OperationalError,
    )
    assert row_of(error) == rows.NETWORK


@pytest.mark.parametrize("login", [403, DROP], ids=["said", "unsaid"])
def test_a_login_that_is_refused(send, login):
    error = error_of(send, Broker(login=login))

    # Of a broker that only hangs up, only pika guesses why.
    guessed = login == 403 or send is send_with_pika
    assert row_of(error) == (rows.AUTH if guessed else rows.NETWORK)


def test_an_authentication_error_of_aiormq_is_a_connection_error_and_still_its_own():
    error = error_of(send_with_aio_pika, Broker(login=403))

    assert isinstance(error, aiormq.exceptions.ProbableAuthenticationError)
    assert isinstance(error, ConnectionError)
    assert row_of(error) == rows.AUTH


def test_a_virtual_host_that_is_not_for_us(send):
    row = row_of(error_of(send, Broker(vhost=530)))

    # aio-pika calls it an unexpected frame.
    assert row == (rows.MISCONFIGURED if send is send_with_aio_pika else rows.AUTH)


@pytest.mark.parametrize(
    ("code", "row"),
    [
        (403, rows.AUTH),
        (404, rows.NOT_FOUND),
        (405, rows.CONFLICT),
        (406, rows.MISCONFIGURED),
    ],
)
def test_a_declaration_that_is_refused(send, code, row):
    error = error_of(send, Broker(declare=code))

    assert row_of(error) == row
    assert classify(error, now=NOW).http_status is None


def test_a_broker_that_is_being_stopped(send):
    error = error_of(send, Broker(declare=320, closes_connection=True))

    assert row_of(error) == rows.NETWORK


@pytest.mark.parametrize("step", ["declare", "publish"])
def test_a_connection_that_is_lost(send, step):
    assert row_of(error_of(send, Broker(**{step: DROP}))) == rows.NETWORK


def test_a_message_that_the_broker_does_not_take(send):
    assert row_of(error_of(send, Broker(publish=NACK))) == NOT_TAKEN


def test_a_message_that_nobody_would_get(send):
    error = error_of(send, Broker(publish=RETURN))

    assert isinstance(
        error,
        aiormq.exceptions.PublishError | pika.exceptions.UnroutableError | amqp.ChannelError,
    )
    assert row_of(error) == rows.MISCONFIGURED


def use_closed_aio_pika(port):
    async def use():
        connection = await aio_pika.connect(url_of(port), timeout=5)
        channel = await connection.channel()
        underlay = await channel.get_underlay_channel()
        await connection.close()
        await underlay.queue_declare("q")

    return asyncio.run(use())


def use_closed_pika(port):
    connection = pika.BlockingConnection(pika.ConnectionParameters(LOOPBACK, port))
    channel = connection.channel()
    connection.close()
    channel.queue_declare("q")


def use_closed_kombu(port):
    with kombu.Connection(url_of(port)) as connection:
        channel = connection.channel()
        channel.connection.close()
        channel.queue_declare("q")


@pytest.mark.parametrize("use", [use_closed_aio_pika, use_closed_pika, use_closed_kombu])
def test_a_channel_whose_connection_is_gone(use):
    with Server(Broker()) as server:
        error = caught(use, server.port)

    assert row_of(error) == rows.NETWORK


def test_a_broker_that_speaks_something_else(send):
    def speaks_http(connection):
        connection.read_exactly(8)
        connection.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    row = row_of(error_of(send, speaks_http))

    assert row.error_class in {"BUG", "NETWORK"}


@pytest.mark.parametrize(
    ("code", "row"),
    [
        (311, rows.MISCONFIGURED),
        (320, rows.NETWORK),
        (402, rows.AUTH),
        (403, rows.AUTH),
        (404, rows.NOT_FOUND),
        (405, rows.CONFLICT),
        (406, rows.MISCONFIGURED),
        (501, rows.MISCONFIGURED),
        (504, rows.MISCONFIGURED),
        (506, NOT_TAKEN),
        (530, rows.AUTH),
        (541, rows.UPSTREAM),
    ],
)
def test_a_reply_code_of_the_library_below_kombu(code, row):
    error = amqp.exceptions.error_for_code(code, "no", (50, 10), amqp.ChannelError)

    assert error.code == code
    assert row_of(error) == row
    assert classify(error, now=NOW).http_status is None


def test_an_error_of_kombu_for_its_own_limits():
    assert row_of(kombu.exceptions.ConnectionLimitExceeded(5)) == rows.SATURATED
