"""The four configurations of a system that reads mail, with what its libraries really raise."""

import socket

import grpc
import pytest
from google.api_core import exceptions as api_core
from googleapiclient.errors import HttpError
from notion_client import APIResponseError

from collabiq import GEMINI_RETRY_CONFIG as GEMINI
from collabiq import GMAIL_RETRY_CONFIG as GMAIL
from collabiq import INFISICAL_RETRY_CONFIG as INFISICAL
from collabiq import NOTION_RETRY_CONFIG as NOTION
from holdfast.classify import classify
from tests.classify.rows import NOW, caught
from tests.classify.servers import Server, http_answer, unused_port
from tests.classify.test_grpc import ask_blocking, upstream
from tests.classify.test_sdks import call_gmail, call_infisical, call_notion


@pytest.mark.parametrize(
    ("config", "numbers"),
    [
        (GMAIL, (3, 1.0, 1.0, 10.0, 0.0, 2.0, 30.0, True)),
        (GEMINI, (3, 1.0, 1.0, 10.0, 0.0, 2.0, 60.0, True)),
        (NOTION, (3, 1.0, 1.0, 10.0, 0.0, 2.0, 30.0, True)),
        (INFISICAL, (2, 1.0, 1.0, 5.0, 0.0, 1.0, 10.0, False)),
    ],
)
def test_each_api_has_its_numbers(config, numbers):
    assert (
        config.max_attempts,
        config.backoff_multiplier,
        config.backoff_min,
        config.backoff_max,
        config.jitter_min,
        config.jitter_max,
        config.timeout,
        config.respect_retry_after,
    ) == numbers


def test_each_api_has_its_exceptions():
    assert GMAIL.retryable_exceptions == {socket.timeout, ConnectionError, HttpError}
    assert GEMINI.retryable_exceptions == {
        api_core.ResourceExhausted,
        api_core.DeadlineExceeded,
        ConnectionError,
    }
    assert NOTION.retryable_exceptions == {APIResponseError}
    assert INFISICAL.retryable_exceptions == {socket.timeout, ConnectionError}


def judged(config, error):
    failure = classify(error, config.rules(), now=NOW)
    return failure.error_class, failure.retryable


@pytest.mark.parametrize(("config", "call"), [(GMAIL, call_gmail), (NOTION, call_notion)])
@pytest.mark.parametrize(
    ("status", "code", "judgement"),
    [
        (429, "rate_limited", ("RATE_LIMITED", True)),
        (503, "service_unavailable", ("UPSTREAM_5XX", True)),
        (400, "validation_error", ("INVALID", False)),
        (401, "unauthorized", ("AUTH_DENIED", False)),
        (404, "object_not_found", ("NOT_FOUND", False)),
    ],
)
def test_an_answer_is_judged_by_its_status_though_its_class_is_listed(
    config, call, status, code, judgement
):
    with Server(http_answer(status, {"message": "no", "code": code})) as server:
        error = caught(call, server.url)

    assert isinstance(error, tuple(config.retryable_exceptions))
    assert judged(config, error) == judgement


@pytest.mark.parametrize(
    ("code", "judgement"),
    [
        ("RESOURCE_EXHAUSTED", ("RATE_LIMITED", True)),
        ("DEADLINE_EXCEEDED", ("NETWORK_TIMEOUT", True)),
        ("UNAVAILABLE", ("NETWORK", False)),
        ("PERMISSION_DENIED", ("AUTH_DENIED", False)),
    ],
)
def test_of_the_errors_of_gemini_the_listed_ones_are_retried(code, judgement):
    with upstream(lambda _, context: context.abort(grpc.StatusCode[code], "no")) as target:
        error = api_core.from_grpc_error(caught(ask_blocking, target))

    assert judged(GEMINI, error) == judgement


@pytest.mark.parametrize(
    ("config", "call", "judgement"),
    [
        (GMAIL, call_gmail, ("NETWORK", True)),
        (INFISICAL, call_infisical, ("NETWORK", True)),
        (NOTION, call_notion, ("NETWORK", False)),
    ],
)
def test_what_wraps_a_listed_exception_is_retried_like_it(config, call, judgement):
    error = caught(call, f"http://127.0.0.1:{unused_port()}")

    assert judged(config, error) == judgement
