"""httpx2, httpx, requests and aiohttp against servers that answer, refuse, break off and hang."""

import pytest

from holdfast.classify import classify
from tests.classify import rows
from tests.classify.http_clients import CLIENTS, SHORT_S, get_with_aiohttp
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
    untrusted_tls,
    unused_port,
)


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
