"""What only one client of HTTP raises, and clients of the standard library."""

import asyncio
import http.client
import urllib.request

import aiohttp
import httpx
import httpx2
import pytest
import requests
import urllib3
from urllib3.util import Retry

from tests.classify import rows
from tests.classify.http_clients import SHORT_S, get_with_aiohttp, get_with_requests
from tests.classify.rows import caught, row_of
from tests.classify.servers import (
    LOOPBACK,
    NOT_JSON,
    TRUNCATED,
    Server,
    closes,
    deaf_port,
    hangs,
    http_answer,
    resets,
    stalls,
    untrusted_tls,
    unused_port,
)

BOTH_HTTPX = pytest.mark.parametrize("library", [httpx2, httpx], ids=["httpx2", "httpx"])
A_LOT = b"x" * 50_000_000


@BOTH_HTTPX
def test_all_our_own_connections_are_in_use(library):
    timeout = library.Timeout(5, pool=0.05)
    limits = library.Limits(max_connections=1)
    with (
        Server(stalls) as server,
        library.Client(timeout=timeout, limits=limits) as client,
        client.stream("GET", server.url),
    ):
        error = caught(client.get, server.url)

    assert isinstance(error, library.PoolTimeout)
    assert row_of(error) == rows.SATURATED


@BOTH_HTTPX
def test_a_request_that_cannot_be_sent_in_time(library):
    with Server(lambda connection: connection.hang()) as server:
        timeout = library.Timeout(5, write=SHORT_S)
        error = caught(library.post, server.url, content=A_LOT, timeout=timeout)

    assert isinstance(error, library.WriteTimeout)
    assert row_of(error) == rows.TIMEOUT


@BOTH_HTTPX
def test_a_request_that_is_cut_off_while_it_is_sent(library):
    def reads_little(connection):
        connection.read_exactly(1_000)
        connection.reset()

    with Server(reads_little) as server:
        error = caught(library.post, server.url, content=A_LOT)

    assert isinstance(error, library.TransportError)
    assert row_of(error) == rows.NETWORK


@BOTH_HTTPX
def test_an_answer_that_is_not_http(library):
    with Server(lambda connection: connection.send(b"220 welcome to mail\r\n")) as server:
        error = caught(library.get, server.url)

    assert isinstance(error, library.RemoteProtocolError | library.ReadError)
    assert row_of(error) == rows.NETWORK


@BOTH_HTTPX
def test_a_header_that_must_not_be_sent(library):
    with Server(http_answer(200)) as server:
        error = caught(library.get, server.url, headers={"x-note": "two\nlines"})

    assert isinstance(error, library.LocalProtocolError)
    assert row_of(error) == rows.MISCONFIGURED


@BOTH_HTTPX
def test_a_body_that_is_read_twice(library):
    with (
        Server(http_answer(200, b"once")) as server,
        library.Client() as client,
        client.stream("GET", server.url) as response,
    ):
        list(response.iter_raw())
        error = caught(lambda: list(response.iter_raw()))

    assert isinstance(error, library.StreamConsumed)
    assert row_of(error) == rows.MISCONFIGURED


@pytest.mark.parametrize(("status", "row"), [(407, rows.AUTH), (502, rows.UNSENT)])
@BOTH_HTTPX
def test_a_proxy_that_refuses(library, status, row):
    with Server(http_answer(status)) as proxy, library.Client(proxy=proxy.url) as client:
        error = caught(client.get, "https://upstream.test/")

    assert isinstance(error, library.ProxyError)
    assert row_of(error) == row


@pytest.mark.parametrize(("status", "row"), [(407, rows.AUTH), (502, rows.UNSENT)])
def test_a_proxy_that_refuses_requests(status, row):
    with Server(http_answer(status)) as proxy:
        error = caught(requests.get, "https://upstream.test/", proxies={"https": proxy.url})

    assert isinstance(error, requests.exceptions.ProxyError)
    assert row_of(error) == row


def test_retries_of_urllib3_that_were_used_up():
    with Server(http_answer(503)) as server, requests.Session() as session:
        adapter = requests.adapters.HTTPAdapter(
            max_retries=Retry(total=1, status_forcelist=[503], backoff_factor=0)
        )
        session.mount("http://", adapter)
        error = caught(session.get, server.url)

    assert isinstance(error, requests.exceptions.RetryError)
    assert row_of(error) == rows.UPSTREAM


def test_something_to_send_that_is_no_json():
    error = caught(requests.post, "http://localhost", json={"number": float("nan")})

    assert isinstance(error, requests.exceptions.InvalidJSONError)
    assert row_of(error) == rows.INVALID


def test_what_requests_raises_is_an_os_error_and_still_judged_by_its_own_rows():
    with Server(NOT_JSON) as server:
        error = caught(get_with_requests, server.url)

    assert isinstance(error, OSError)
    assert isinstance(error, ValueError)
    assert row_of(error) == rows.ANSWER_INVALID


@pytest.mark.parametrize(
    ("behave", "row"),
    [(resets, rows.NETWORK), (closes, rows.NETWORK), (hangs, rows.TIMEOUT)],
    ids=["reset", "close", "hang"],
)
@pytest.mark.parametrize("retries", [False, 0], ids=["bare", "wrapped"])
def test_urllib3_by_itself(behave, row, retries):
    with Server(behave) as server, urllib3.PoolManager(timeout=SHORT_S) as pool:
        assert row_of(caught(pool.request, "GET", server.url, retries=retries)) == row


@pytest.mark.parametrize("retries", [False, 0], ids=["bare", "wrapped"])
def test_urllib3_without_a_connection(retries):
    with urllib3.PoolManager() as pool:
        url = f"http://{LOOPBACK}:{unused_port()}"
        refused = caught(pool.request, "GET", url, retries=retries)
        with deaf_port() as port:
            slow = caught(
                pool.request, "GET", f"http://{LOOPBACK}:{port}", retries=retries, timeout=SHORT_S
            )
        with Server(http_answer(200), tls=untrusted_tls()) as server:
            untrusted = caught(pool.request, "GET", server.url, retries=retries)
        odd = caught(pool.request, "GET", "gopher://localhost", retries=retries)

    assert row_of(refused) == rows.UNSENT
    assert row_of(slow) in (rows.UNSENT, rows.TIMEOUT_UNSENT)
    assert row_of(untrusted) == rows.AUTH
    assert row_of(odd) == rows.MISCONFIGURED


def test_the_total_timeout_of_aiohttp_is_the_built_in_one():
    async def get(url):
        timeout = aiohttp.ClientTimeout(total=SHORT_S)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            await session.get(url)

    with Server(hangs) as server:
        error = caught(asyncio.run, get(server.url))

    assert type(error) is TimeoutError
    assert row_of(error) == rows.TIMEOUT


def test_aiohttp_may_ask_twice_when_a_connection_closes():
    with Server(closes) as server:
        error = caught(get_with_aiohttp, server.url)

    assert isinstance(error, aiohttp.ServerDisconnectedError)
    assert server.connections == 2


def test_an_error_page_of_another_kind_is_judged_by_its_status():
    async def get(url):
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            return await response.json()

    with Server(http_answer(503, "<p>busy</p>", content_type="text/html")) as server:
        error = caught(asyncio.run, get(server.url))

    assert isinstance(error, aiohttp.ContentTypeError)
    assert row_of(error) == rows.UPSTREAM


def test_a_proxy_that_refuses_aiohttp():
    async def get(proxy):
        async with aiohttp.ClientSession() as session:
            await session.get("https://upstream.test/", proxy=proxy)

    with Server(http_answer(407)) as proxy:
        error = caught(asyncio.run, get(proxy.url))

    assert isinstance(error, aiohttp.ClientHttpProxyError)
    assert row_of(error) == rows.AUTH


def open_with_urllib(url, timeout=5.0):
    with urllib.request.urlopen(url, timeout=timeout) as response:
        return response.read()


@pytest.mark.parametrize("status", sorted(rows.STATUSES))
def test_a_status_that_urllib_reports(status):
    with Server(http_answer(status)) as server:
        error = caught(open_with_urllib, server.url)
        with error:
            assert row_of(error) == rows.STATUSES[status]


@pytest.mark.parametrize(
    ("behave", "row"),
    [
        (resets, rows.NETWORK),
        (closes, rows.NETWORK),
        (TRUNCATED, rows.NETWORK),
        (hangs, rows.TIMEOUT),
        (lambda connection: connection.send(b"220 welcome to mail\r\n"), rows.NETWORK),
    ],
    ids=["reset", "close", "truncated", "hang", "not http"],
)
def test_the_standard_librarys_own_client(behave, row):
    with Server(behave) as server:
        assert row_of(caught(open_with_urllib, server.url, timeout=SHORT_S)) == row


def test_an_address_that_the_standard_librarys_client_refuses():
    error = caught(open_with_urllib, f"http://{LOOPBACK}/two words")

    assert isinstance(error, http.client.InvalidURL)
    assert row_of(error) == rows.MISCONFIGURED
