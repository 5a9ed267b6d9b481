"""A gateway that breaks, stalls, lies or attacks: the call ends in time, in little memory."""

import gzip
import itertools
import socket
import threading
import time
import tracemalloc

import pytest

from apps.converter.tests.client.test_convert import failed
from apps.converter.tests.scripted_gateway import XML, Reply, ScriptedGateway
from converter.codes import CODES
from converter.gateway_client import GatewayClient
from tests.bridges.fake_mail_server import trusted_tls

LAUGHS = b"""<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<lolz>&b;</lolz>"""
QUADRATIC = b'<!DOCTYPE x [<!ENTITY a "%s">]><x>%s</x>' % (b"a" * 10_000, b"&a;" * 1_000)


def is_gateways_fault(failure, code="GW_5XX"):
    return (CODES.of(failure).code, failure.retryable) == (code, True)


@pytest.mark.parametrize("cut", ["before", "headers", "body"])
def test_a_connection_that_breaks_is_a_failing_gateway(convert, client, gateway, storage, cut):
    gateway.then(Reply(cut=cut))

    failure = failed(convert, client)

    assert is_gateways_fault(failure)
    assert failure.blames_upstream
    assert not storage.exists("result.xml")


def test_a_gateway_that_is_down_is_a_failing_gateway(convert, client, gateway):
    gateway.down()

    failure = failed(convert, client)

    assert is_gateways_fault(failure)
    assert failure.blames_upstream

    gateway.up()
    assert convert(client) == XML


def test_a_name_that_nobody_knows_is_a_failing_gateway(convert):
    failure = failed(convert, GatewayClient("http://gateway.invalid", timeout_s=10.0))

    assert is_gateways_fault(failure)


def test_a_gateway_with_a_certificate_nobody_vouches_for_is_a_failing_gateway(convert):
    with ScriptedGateway(tls=trusted_tls().server) as gateway:
        failure = failed(convert, GatewayClient(gateway.url, timeout_s=10.0))

    assert is_gateways_fault(failure)
    assert "certificate verify failed" in failure.message
    assert gateway.calls == []


def test_a_gateway_that_speaks_no_tls_is_a_failing_gateway(convert):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        url = f"https://127.0.0.1:{server.getsockname()[1]}"
        failure = failed(convert, GatewayClient(url, timeout_s=10.0))

    assert is_gateways_fault(failure)


def within(seconds, convert, client):
    started_at_s = time.monotonic()
    failure = failed(convert, client)
    assert time.monotonic() - started_at_s < seconds
    return failure


def test_a_gateway_that_does_not_answer_times_out(convert, gateway):
    gateway.then(Reply(delay_s=60.0))

    failure = within(5.0, convert, GatewayClient(gateway.url, timeout_s=0.3))

    assert is_gateways_fault(failure, "GW_TIMEOUT")
    assert failure.blames_upstream


def test_a_gateway_that_works_long_before_it_answers_is_not_idle(convert, gateway):
    gateway.then(Reply(delay_s=0.6))

    assert convert(GatewayClient(gateway.url, timeout_s=20.0, idle_s=0.2)) == XML


def test_an_answer_that_stops_flowing_times_out_before_the_whole_time_is_up(convert, gateway):
    gateway.then(Reply(body=[XML[:20], XML[20:]], chunked=True, pause_s=60.0))

    failure = within(10.0, convert, GatewayClient(gateway.url, timeout_s=50.0, idle_s=0.3))

    assert is_gateways_fault(failure, "GW_TIMEOUT")


def test_an_answer_that_trickles_for_ever_times_out(convert, gateway):
    trickle = itertools.chain([b"<a>"], itertools.repeat(b"x"))
    gateway.then(Reply(body=trickle, chunked=True, pause_s=0.05))

    failure = within(5.0, convert, GatewayClient(gateway.url, timeout_s=0.5, idle_s=5.0))

    assert is_gateways_fault(failure, "GW_TIMEOUT")


def test_headers_that_trickle_for_ever_time_out(convert, gateway):
    trickle = itertools.chain([b"HTTP/1.1 200 OK\r\nX: "], itertools.repeat(b"x"))
    gateway.then(Reply(raw=trickle, pause_s=0.05))

    failure = within(5.0, convert, GatewayClient(gateway.url, timeout_s=0.5, idle_s=5.0))

    assert is_gateways_fault(failure, "GW_TIMEOUT")


def test_a_refusal_that_trickles_for_ever_is_still_a_refusal(convert, gateway):
    gateway.then(Reply(status=400, body=[b"x"], endless=True, pause_s=0.05))

    failure = within(10.0, convert, GatewayClient(gateway.url, timeout_s=40.0, idle_s=30.0))

    assert failure.error_class == "GW_4XX"


def test_a_gateway_that_takes_nothing_times_out(convert, storage):
    # Connections to it are made by the system alone; nobody ever reads from them.
    storage.put("big.pdf", itertools.repeat(b"x" * 65536, 200))
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        client = GatewayClient(
            f"http://127.0.0.1:{deaf.getsockname()[1]}", timeout_s=30.0, idle_s=0.3
        )
        started_at_s = time.monotonic()
        with pytest.raises(Exception, match="in time"):
            convert(client, source="big.pdf")

    assert time.monotonic() - started_at_s < 10.0


def test_a_gateway_that_refuses_before_it_has_read_everything_is_heard(convert, client, gateway):
    gateway.then(Reply(status=413, body=b"Too large", reads_body=False))

    failure = failed(convert, client)

    assert (failure.error_class, failure.http_status) == ("GW_4XX", 413)


def test_a_gateway_that_refuses_a_big_file_early_is_heard(convert, client, gateway, storage):
    storage.put("source.pdf", itertools.repeat(b"x" * 65536, 400))
    gateway.then(Reply(status=413, body=b"Too large", reads_body=False))

    failure = within(8.0, convert, client)

    assert (failure.error_class, failure.http_status) == ("GW_4XX", 413)


def test_an_endless_answer_is_cut_at_the_limit_in_little_memory(convert, client, gateway, storage):
    gateway.then(Reply(body=[b"<a>" + b" " * 16_000 + b"</a>"], endless=True))
    gateway.then(
        Reply(body=itertools.chain([b"<a>"], itertools.repeat(b" " * 16_000)), chunked=True)
    )

    assert is_gateways_fault(failed(convert, client))
    tracemalloc.start()
    failure = failed(convert, client)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert is_gateways_fault(failure)
    assert not failure.blames_upstream
    assert "larger than 1000000 bytes" in failure.message
    assert peak_bytes < 1_000_000
    assert not storage.exists("result.xml")


def test_an_answer_that_says_it_is_too_large_is_not_read_at_all(convert, client, gateway):
    gateway.then(Reply(headers={"Content-Length": "1000001"}, body=XML))

    assert "larger than" in failed(convert, client).message


def test_an_answer_of_exactly_the_limit_is_kept(convert, gateway):
    client = GatewayClient(gateway.url, timeout_s=20.0, max_answer_bytes=len(XML))

    assert convert(client) == XML


def test_a_bomb_of_gzip_is_refused_and_not_unpacked(convert, client, gateway):
    bomb = gzip.compress(b"<a>" + b" " * 50_000_000 + b"</a>")
    gateway.then(Reply(headers={"Content-Encoding": "gzip"}, body=bomb))
    gateway.then(Reply(body=bomb))

    tracemalloc.start()
    declared, undeclared = failed(convert, client), failed(convert, client)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert is_gateways_fault(declared)
    assert "compressed, which nobody asked for" in declared.message
    assert is_gateways_fault(undeclared)
    assert peak_bytes < 5_000_000


@pytest.mark.parametrize("number", [101, 100_000])
def test_more_headers_than_any_gateway_sends_are_refused(convert, client, gateway, number):
    lines = b"".join(b"X-%d: 1\r\n" % each for each in range(number))
    gateway.then(Reply(raw=b"HTTP/1.1 200 OK\r\n" + lines + b"\r\n" + XML))

    assert is_gateways_fault(failed(convert, client))


def test_one_endless_header_is_refused(convert, client, gateway):
    head = itertools.chain([b"HTTP/1.1 200 OK\r\nX: "], itertools.repeat(b"x" * 16_000, 100))
    gateway.then(Reply(raw=head))

    assert is_gateways_fault(failed(convert, client))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 999 What\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"\x16\x03\x01\x00",
    ],
)
def test_what_is_no_http_is_a_failing_gateway(convert, client, gateway, raw):
    gateway.then(Reply(raw=raw))

    assert is_gateways_fault(failed(convert, client))


@pytest.mark.parametrize("place", ["http://169.254.169.254/latest/meta-data/", "/elsewhere"])
def test_a_redirect_is_not_followed(convert, client, gateway, place):
    gateway.then(Reply(status=302, headers={"Location": place}))

    assert is_gateways_fault(failed(convert, client))
    assert len(gateway.calls) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not xml",
        b"<html><body>Welcome</html>",
        b"<a>",
        b"<a></a><b></b>",
        b"<a>&undefined;</a>",
        b"<a>\x00</a>",
        b'{"xml": false}',
        LAUGHS,
        QUADRATIC,
        b'<!DOCTYPE a SYSTEM "http://127.0.0.1:1/evil.dtd"><a/>',
        b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        b'<!DOCTYPE a [<!ENTITY % p SYSTEM "http://127.0.0.1:1/"> %p;]><a/>',
        b"<!DOCTYPE a><a/>",
        b"<a>" * 1000 + b"</a>" * 1000,
        XML[: len(XML) - 5],
    ],
)
def test_an_answer_that_is_no_xml_to_keep_is_refused(convert, client, gateway, storage, body):
    gateway.then(Reply(body=body))

    failure = failed(convert, client)

    assert is_gateways_fault(failure)
    assert not storage.exists("result.xml")


def test_a_call_leaves_no_connection_and_no_thread_behind(convert, client, gateway):
    gateway.then(Reply(status=500), Reply(cut="body"), Reply(body=b"no xml"), Reply())
    before = threads_beside_storage()

    for _ in range(3):
        failed(convert, client)
    convert(client)

    gateway.down()
    deadline_s = time.monotonic() + 10
    while threads_beside_storage() > before and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert threads_beside_storage() <= before


def threads_beside_storage():
    """How many threads there are that are none of storage, which keeps its own."""
    names = [thread.name for thread in threading.enumerate()]
    return sum(not name.startswith(("converter-storage", "converter-sync")) for name in names)
