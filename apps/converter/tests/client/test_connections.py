"""Connections that are kept from one call to the next, and those that are not."""

import asyncio
import time

import pytest

from apps.converter.tests.client.conftest import PDF, Job
from apps.converter.tests.scripted_gateway import XML, Reply, ScriptedGateway
from converter.gateway_client import GatewayClient
from converter.gateway_failures import GatewayFailed
from tests.bridges.fake_mail_server import trusted_tls

KEEPS = Reply(keeps=True)
LENGTH = b"Content-Length: %d\r\n" % len(XML)
HEAD = b"HTTP/1.1 200 OK\r\n"
PATIENCE_S = 30.0


class Sent:
    """A small PDF."""

    size = len(PDF)
    whole = None

    def __init__(self):
        self._parts = [PDF]

    async def read(self):
        return self._parts.pop() if self._parts else b""


class Received:
    def __init__(self):
        self.xml = b""

    async def write(self, chunk):
        self.xml += chunk


async def convert(client):
    received = Received()
    await client.convert(Sent(), "text", into=received, job=Job())
    return received.xml


async def until(holds):
    given_up_at_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < given_up_at_s, "it has not come about in time"
        await asyncio.sleep(0.01)


@pytest.fixture
def client(gateway):
    made = GatewayClient(gateway.url, timeout_s=PATIENCE_S, max_answer_bytes=1_000_000)
    yield made
    made.close()


async def in_turn(client, count):
    return [await convert(client) for _ in range(count)]


def test_calls_one_after_the_other_share_a_connection(client, gateway):
    gateway.usual = KEEPS

    assert asyncio.run(in_turn(client, 5)) == [XML] * 5
    assert (gateway.connections, len(gateway.calls)) == (1, 5)
    assert [call.body for call in gateway.calls] == [PDF] * 5


def test_calls_at_the_same_time_have_connections_of_their_own(client, gateway):
    gateway.usual = Reply(keeps=True, delay_s=0.2)

    async def twice():
        await asyncio.gather(*(in_turn(client, 2) for _ in range(4)))

    asyncio.run(twice())

    assert (gateway.connections, gateway.most_at_once, len(gateway.calls)) == (4, 4, 8)


def test_calls_of_another_event_loop_share_connections_too(client, gateway):
    gateway.usual = KEEPS

    assert [asyncio.run(convert(client)) for _ in range(2)] == [XML] * 2
    assert gateway.connections == 1


def test_connections_under_tls_are_kept_as_well():
    with ScriptedGateway(usual=KEEPS, tls=trusted_tls().server) as gateway:
        client = GatewayClient(gateway.url, timeout_s=PATIENCE_S, tls=trusted_tls().client)

        assert asyncio.run(in_turn(client, 3)) == [XML] * 3
        assert gateway.connections == 1
        client.close()


def test_a_refusal_that_was_read_to_its_end_keeps_the_connection(client, gateway):
    gateway.then(Reply(status=406, body=b"Unsupported mapping.", keeps=True), KEEPS)

    async def refused_then_converted():
        with pytest.raises(GatewayFailed, match="Unsupported mapping"):
            await convert(client)
        return await convert(client)

    assert asyncio.run(refused_then_converted()) == XML
    assert gateway.connections == 1


def test_a_connection_that_the_gateway_has_ended_is_not_used_again(client, gateway):
    gateway.usual = Reply(headers={"Connection": "keep-alive"})

    async def converted_later():
        first = await convert(client)
        await until(lambda: gateway.open_connections == 0)
        return first, await convert(client)

    assert asyncio.run(converted_later()) == (XML, XML)
    assert gateway.connections == 2


@pytest.mark.parametrize(
    "reply",
    [
        Reply(),
        Reply(raw=HEAD + LENGTH + b"Connection: close\r\n\r\n" + XML, keeps=True),
        Reply(raw=b"HTTP/1.0 200 OK\r\n" + LENGTH + b"\r\n" + XML, keeps=True),
        # What nobody asked for must not be taken for the answer to the next call.
        Reply(
            raw=HEAD + LENGTH + b"\r\n" + XML + HEAD + b"Content-Length: 4\r\n\r\n<a/>", keeps=True
        ),
        Reply(raw=HEAD + LENGTH + b"\r\n" + XML + b"\0", keeps=True),
    ],
)
def test_a_connection_whose_state_is_not_certain_is_not_kept(client, gateway, reply):
    gateway.then(reply, KEEPS)

    assert asyncio.run(in_turn(client, 2)) == [XML] * 2
    assert gateway.connections == 2


def test_what_comes_late_on_a_kept_connection_is_no_answer(client, gateway):
    late = [HEAD + LENGTH + b"\r\n" + XML, HEAD + b"Content-Length: 4\r\n\r\n<a/>"]
    gateway.then(Reply(raw=late, pause_s=0.3, keeps=True), KEEPS)

    async def converted_later():
        first = await convert(client)
        await asyncio.sleep(0.6)  # what is late is sent meanwhile
        return first, await convert(client)

    assert asyncio.run(converted_later()) == (XML, XML)


def test_a_call_is_not_made_twice_when_a_kept_connection_breaks(client, gateway):
    gateway.then(KEEPS, Reply(cut="before"))

    async def broken():
        await convert(client)
        with pytest.raises(GatewayFailed, match="could not be called to the end"):
            await convert(client)

    asyncio.run(broken())

    assert len(gateway.calls) == 2
    assert gateway.connections == 1


def test_a_connection_that_nobody_uses_is_closed_soon(client, gateway):
    gateway.usual = KEEPS

    async def converted_then_idle():
        await convert(client)
        assert gateway.open_connections == 1
        await until(lambda: gateway.open_connections == 0)

    asyncio.run(converted_then_idle())


def test_a_call_that_is_cancelled_gives_its_connection_up(client, gateway):
    gateway.then(Reply(delay_s=60.0, keeps=True), KEEPS)

    async def cancelled():
        call = asyncio.create_task(convert(client))
        await until(lambda: len(gateway.calls) == 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return await convert(client)

    assert asyncio.run(cancelled()) == XML
    assert gateway.connections == 2


def test_a_client_that_is_closed_keeps_nothing(client, gateway):
    gateway.usual = KEEPS

    async def closed():
        await convert(client)
        client.close()
        await until(lambda: gateway.open_connections == 0)
        return gateway.connections

    assert asyncio.run(closed()) == 1
