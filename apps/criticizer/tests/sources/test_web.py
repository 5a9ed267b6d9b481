"""What every source over HTTP does with servers that are unwell, slow, lying or hostile."""

import gzip
import itertools
import time
import traceback

import httpx2
import pytest

from apps.criticizer.tests.change_server import ROPE_DIFF, ChangeServer
from criticizer.sources.errors import ChangeTooLarge, SourceUnusable
from criticizer.sources.github import GitHubSource
from criticizer.sources.gitlab import GitLabSource
from criticizer.sources.rules import SOURCE_RULES
from criticizer.sources.url import UrlSource
from holdfast.classify import classify
from tests.bridges.fake_mail_server import trusted_tls
from tests.deployed.scripted_server import Reply

NOW = 1_700_000_000_000_000
SECRET = "s3cr3t-t0k3n-value"
KINDS = {
    "url": (UrlSource, "cl-1"),
    "github": (GitHubSource, "team/rope#1"),
    "gitlab": (GitLabSource, "team/rope!1"),
}


@pytest.fixture(params=KINDS)
def ask(request, server, fetched):
    """Ask a source of each kind for a change; returns its diff."""
    made, changelist_id = KINDS[request.param]

    def ask(*, timeout_s=30.0, max_bytes=1_000_000, url=server.url, tls=None):
        source = made(url, token=SECRET, max_bytes=max_bytes, tls=tls)
        return fetched(source, changelist_id, timeout_s=timeout_s).diff

    return ask


def failure_of(ask, **options):
    """What the engine makes of the exception; nothing secret is told on the way."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever it is, it is classified
        ask(**options)
    told = "".join(traceback.format_exception(raised.value))
    assert SECRET not in told
    assert "loops = None" not in told
    request = getattr(raised.value, "_request", None)
    assert request is None or SECRET not in str(dict(request.headers))
    return classify(raised.value, rules=SOURCE_RULES, now=NOW)


def test_nothing_is_asked_for_twice(ask, server):
    server.then(Reply(body=ROPE_DIFF.encode()), Reply(status=503))

    assert ask() == ROPE_DIFF
    asked = [(call.target, call.headers.get("accept")) for call in server.calls]
    assert len(asked) == len(set(asked)) <= 2


@pytest.mark.parametrize(
    ("status", "error_class", "retryable"),
    [
        (400, "INVALID", False),
        (401, "AUTH_DENIED", False),
        (403, "AUTH_DENIED", False),
        (404, "NOT_FOUND", False),
        (410, "NOT_FOUND", False),
        (408, "NETWORK_TIMEOUT", True),
        (429, "RATE_LIMITED", True),
        (500, "UPSTREAM_5XX", True),
        (502, "UPSTREAM_5XX", True),
        (503, "UPSTREAM_5XX", True),
    ],
)
def test_a_status_means_what_the_engine_says_and_is_asked_for_once(
    ask, server, status, error_class, retryable
):
    server.then(Reply(status=status, body=f"{SECRET} loops = None".encode()))
    failure = failure_of(ask)

    assert (failure.error_class, failure.retryable) == (error_class, retryable)
    assert len(server.calls) == 1


@pytest.mark.parametrize(
    ("status", "headers", "wait_us"),
    [
        (429, {"Retry-After": "17"}, 17_000_000),
        (403, {"Retry-After": "60"}, 60_000_000),
        (
            403,
            {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000030"},
            30_000_000,
        ),
        (
            429,
            {"RateLimit-Remaining": "0", "RateLimit-Reset": "1700000045"},
            45_000_000,
        ),
        (503, {"Retry-After": "5"}, 5_000_000),
    ],
)
def test_a_server_that_asks_for_a_wait_gets_it(ask, server, status, headers, wait_us):
    server.then(Reply(status=status, headers=headers))
    failure = failure_of(ask)

    assert (failure.retryable, failure.retry_after_us) == (True, wait_us)


@pytest.mark.parametrize("cut", ["before", "headers", "body"])
def test_a_connection_that_breaks_may_hold_another_time(ask, server, cut):
    server.then(Reply(body=ROPE_DIFF.encode(), cut=cut))
    failure = failure_of(ask)

    assert (failure.error_class, failure.retryable) == ("NETWORK", True)
    assert len(server.calls) == 1


def test_a_server_that_is_down_may_be_up_another_time(ask, server):
    server.down()
    failure = failure_of(ask)

    assert (failure.error_class, failure.retryable) == ("NETWORK", True)


@pytest.mark.parametrize(
    "slow",
    [
        Reply(delay_s=60),
        Reply(body=itertools.repeat(b" "), chunked=True, pause_s=0.05),
        Reply(
            raw=itertools.chain([b"HTTP/1.1 200 OK\r\nX: "], itertools.repeat(b"x")), pause_s=0.05
        ),
    ],
    ids=["silent", "trickling body", "trickling headers"],
)
def test_no_server_holds_a_call_longer_than_it_may_take(ask, server, slow):
    server.then(slow)
    started_at_s = time.monotonic()
    failure = failure_of(ask, timeout_s=0.5)

    assert time.monotonic() - started_at_s < 20
    assert (failure.error_class, failure.retryable) == ("NETWORK_TIMEOUT", True)


@pytest.mark.parametrize("chunked", [True, False])
def test_a_change_over_the_limit_is_not_read_to_its_end(ask, server, chunked):
    endless = itertools.chain([ROPE_DIFF.encode()], itertools.repeat(b"+x" * 30_000, 200))
    server.then(Reply(body=endless, chunked=chunked))

    with pytest.raises(ChangeTooLarge):
        ask(max_bytes=10_000)


def test_a_length_that_is_a_lie_is_a_broken_connection_or_too_large(ask, server):
    server.then(Reply(headers={"Content-Length": "9" * 30}, body=b""))
    failure = failure_of(ask)

    assert failure.error_class in {"NETWORK", "CHANGE_TOO_LARGE"}


def test_what_is_compressed_is_not_unfolded(ask, server):
    bomb = gzip.compress(b" " * 10_000_000)
    server.then(Reply(headers={"Content-Encoding": "gzip"}, body=bomb))
    failure = failure_of(ask)

    assert failure.error_class == "NETWORK"


def test_a_redirect_to_another_server_is_not_followed(ask, server):
    with ChangeServer() as other:
        server.then(Reply(status=302, headers={"Location": f"{other.url}/cl-1.diff"}))
        with pytest.raises(SourceUnusable):
            ask()

    assert other.calls == []


def test_a_redirect_on_the_same_server_is_followed_a_few_times(ask, server):
    server.then(
        Reply(status=301, headers={"Location": "/elsewhere"}), Reply(body=ROPE_DIFF.encode())
    )

    assert ask() == ROPE_DIFF
    assert server.calls[1].path == "/elsewhere"
    server.then(*[Reply(status=302, headers={"Location": "/on"})] * 10)
    with pytest.raises(SourceUnusable):
        ask()


def test_a_certificate_that_nobody_vouches_for_is_refused(ask):
    with ChangeServer(tls=trusted_tls().server) as secured:
        failure = failure_of(ask, url=secured.url)
        secured.then(Reply(body=ROPE_DIFF.encode()))
        diff = ask(url=secured.url, tls=trusted_tls().client)

    assert (failure.error_class, failure.retryable) == ("AUTH_DENIED", False)
    assert diff == ROPE_DIFF


def test_no_proxy_is_taken_from_the_environment(ask, server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    server.then(Reply(body=ROPE_DIFF.encode()))

    assert ask() == ROPE_DIFF


def test_a_status_error_carries_no_body(ask, server):
    server.then(Reply(status=500, body=b"loops = None"))

    with pytest.raises(httpx2.HTTPStatusError) as raised:
        ask()
    with pytest.raises(httpx2.ResponseNotRead):
        _ = raised.value.response.content
    assert "loops" not in str(raised.value)
