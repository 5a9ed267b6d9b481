"""What a failure keeps of the answer that an exception carries."""

import time
import urllib.error
import urllib.request

import httpx
import pytest
import requests

from holdfast.classify import classify
from holdfast.classify.facts.answer import MAX_BYTES
from holdfast.core.values.failure import MAX_ANSWER_LENGTH, Failure
from tests.classify.rows import NOW, caught
from tests.classify.servers import Connection, Server, http_answer

REFUSAL = {"error": "account 17 is closed", "api_key": "sk-live-51HxQ2eZvKYlo2CJ9", "hint": "none"}


def with_urllib(url: str) -> object:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read()


def with_requests(url: str) -> object:
    answer = requests.get(url, timeout=5)
    answer.raise_for_status()
    return answer.json()


def with_httpx(url: str) -> object:
    answer = httpx.get(url, timeout=5)
    answer.raise_for_status()
    return answer.json()


CLIENTS = {"urllib": with_urllib, "requests": with_requests, "httpx": with_httpx}


def failure_of(call, *arguments) -> Failure:
    """What a call fails with; urllib leaves its connection open."""
    error = caught(call, *arguments)
    try:
        return classify(error, now=NOW)
    finally:
        for each in (error, error.__cause__):
            if isinstance(each, urllib.error.HTTPError):
                each.close()


@pytest.fixture(params=CLIENTS)
def get(request):
    return CLIENTS[request.param]


def test_a_refusal_is_kept_with_its_body_and_without_its_secrets(get):
    with Server(http_answer(422, REFUSAL)) as server:
        failure = failure_of(get, server.url)

    assert failure.http_status == 422
    assert "account 17 is closed" in failure.answer
    assert "sk-live" not in failure.answer


def test_the_body_of_a_cause_is_kept(get):
    def wrapped(url: str) -> object:
        try:
            return get(url)
        except Exception as error:
            raise RuntimeError("the printer failed") from error

    with Server(http_answer(503, {"error": "overloaded"})) as server:
        failure = failure_of(wrapped, server.url)

    assert failure.http_status == 503
    assert "overloaded" in failure.answer


def test_a_long_body_is_cut_and_says_so(get):
    with Server(http_answer(500, {"error": "x" * MAX_BYTES * 2})) as server:
        failure = failure_of(get, server.url)

    assert len(failure.answer) == MAX_ANSWER_LENGTH
    assert "[cut," in failure.answer


def test_a_body_that_does_not_come_is_not_waited_for():
    def stalls(connection: Connection) -> None:
        connection.read_request()
        head = b"HTTP/1.1 500 Oh\r\nContent-Length: 1000\r\n\r\nbegun"
        connection.socket.sendall(head)
        connection.stopping.wait(10)

    with Server(stalls) as server:
        began = time.monotonic()
        failure = failure_of(with_urllib, server.url)
        took_s = time.monotonic() - began

    assert failure.answer == "begun"
    assert took_s < 3


def test_what_is_no_text_is_left_out():
    response = httpx.Response(500, content=b"\x00\x01", request=httpx.Request("GET", "http://x/"))

    failure = failure_of(response.raise_for_status)

    assert failure.answer == ""
    assert "answer" not in failure.to_document()


def test_an_answer_that_was_streamed_and_not_read_says_nothing():
    request = httpx.Request("GET", "http://x/")
    response = httpx.Response(500, content=iter([b"late"]), request=request)

    assert failure_of(response.raise_for_status).answer == ""
