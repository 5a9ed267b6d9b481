"""httpx2, httpx, requests and aiohttp against servers that answer, refuse, break off and hang."""

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

from holdfast.classify import classify
from tests.classify import rows
from tests.classify.rows import NOW, caught, row_of
from tests.classify.servers import (
    LOOPBACK,
    NOT_GZIP,
    NOT_JSON,
    REDIRECTS_TO_ITSELF,
    TRUNCATED,
    UNKNOWN_HOST,
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

SHORT_S = 0.2


def get_with_httpx2(url, *, read_s=5.0, connect_s=5.0):
    with httpx2.Client(
        timeout=httpx2.Timeout(5, read=read_s, connect=connect_s), follow_redirects=True
    ) as client:
        return client.get(url).raise_for_status().json()


def get_with_httpx(url, *, read_s=5.0, connect_s=5.0):
    with httpx.Client(
        timeout=httpx.Timeout(5, read=read_s, connect=connect_s),
        follow_redirects=True,
        trust_env=False,
    ) as client:
        return client.get(url).raise_for_status().json()


def get_with_requests(url, *, read_s=5.0, connect_s=5.0):
    response = requests.get(url, timeout=(connect_s, read_s))
    response.raise_for_status()
    return response.json()


def get_with_aiohttp(url, *, read_s=5.0, connect_s=5.0):
    async def get():
        timeout = aiohttp.ClientTimeout(sock_read=read_s, sock_connect=connect_s)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as response:
            response.raise_for_status()
            return await response.json()

    return asyncio.run(get())


CLIENTS = {
    "httpx2": get_with_httpx2,
    "httpx": get_with_httpx,
    "requests": get_with_requests,
    "aiohttp": get_with_aiohttp,
}


@pytest.fixture(params=CLIENTS)
def get(request):
    return CLIENTS[request.param]


def test_every_client_reads_a_good_answer(get):
    with Server(http_answer(200, {"fine": True})) as server:
        assert get(server.url) == {"fine": True}


@pytest.mark.parametrize("status", sorted(rows.STATUSES))
def test_a_status(get, status):
    with Server(http_answer(status)) as server:
        error = caught(get, server.url)

    assert row_of(error) == rows.STATUSES[status]
    assert classify(error, now=NOW).http_status == status


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("headers", "asked_us"),
    [
        ({"retry-after": "7"}, 7_000_000),
        ({"retry-after": "Wed, 21 Oct 2015 07:29:00 GMT"}, 60_000_000),
        ({"retry-after-ms": "250", "retry-after": "1"}, 250_000),
        ({}, None),
    ],
)
def test_a_wait_that_the_upstream_asks_for(get, status, headers, asked_us):
    with Server(http_answer(status, headers=headers)) as server:
        error = caught(get, server.url)

    assert classify(error, now=NOW).retry_after_us == asked_us


def test_the_wait_until_an_exhausted_limit_starts_anew(get):
    headers = {"x-ratelimit-reset-requests": "1m30s", "x-ratelimit-remaining-requests": "0"}
    with Server(http_answer(429, headers=headers)) as server:
        error = caught(get, server.url)

    assert classify(error, now=NOW).retry_after_us == 90_000_000


def test_a_403_that_means_too_often(get):
    with Server(http_answer(403, headers={"retry-after": "5"})) as server:
        assert row_of(caught(get, server.url)) == rows.RATE_LIMITED


def test_nobody_listens(get):
    assert row_of(caught(get, f"http://{LOOPBACK}:{unused_port()}")) == rows.UNSENT


def test_a_name_that_nobody_knows(get):
    assert row_of(caught(get, f"http://{UNKNOWN_HOST}/")) == rows.UNSENT


def test_a_connection_that_is_not_made_in_time(get):
    with deaf_port() as port:
        error = caught(get, f"http://{LOOPBACK}:{port}", connect_s=SHORT_S)

    assert row_of(error) == rows.TIMEOUT_UNSENT


def test_an_answer_that_does_not_come_in_time(get):
    with Server(hangs) as server:
        assert row_of(caught(get, server.url, read_s=SHORT_S)) == rows.TIMEOUT


@pytest.mark.parametrize("behave", [resets, closes, TRUNCATED], ids=["reset", "close", "truncated"])
def test_a_connection_that_breaks(get, behave):
    with Server(behave) as server:
        assert row_of(caught(get, server.url)) == rows.NETWORK


def test_a_certificate_that_nobody_vouches_for(get):
    with Server(http_answer(200), tls=untrusted_tls()) as server:
        assert row_of(caught(get, server.url)) == rows.AUTH


def test_a_server_that_does_not_speak_tls(get):
    with Server(http_answer(200)) as server:
        row = row_of(caught(get, server.url.replace("http:", "https:")))

    assert row.error_class == "NETWORK"
    assert row.retryable is True


def test_an_answer_that_is_no_json(get):
    with Server(NOT_JSON) as server:
        assert row_of(caught(get, server.url)) == rows.ANSWER_INVALID


def test_an_answer_of_another_kind(get):
    with Server(http_answer(200, "<p>hello</p>", content_type="text/html")) as server:
        assert row_of(caught(get, server.url)) == rows.ANSWER_INVALID


def test_an_answer_that_cannot_be_decompressed(get):
    with Server(NOT_GZIP) as server:
        row = row_of(caught(get, server.url))

    # aiohttp calls it a broken payload, like one that was cut off.
    assert row == (rows.NETWORK if get is get_with_aiohttp else rows.ANSWER_INVALID)


def test_redirects_without_end(get):
    with Server(REDIRECTS_TO_ITSELF) as server:
        assert row_of(caught(get, server.url)) == rows.MISCONFIGURED


@pytest.mark.parametrize("url", ["gopher://localhost/", "http://", "http://[::1"])
def test_an_address_that_is_none(get, url):
    assert row_of(caught(get, url)) == rows.MISCONFIGURED


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
