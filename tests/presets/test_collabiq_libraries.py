"""The four configurations of a system that reads mail, with what its libraries really raise."""

import socket

import grpc
import pytest
from google.api_core import exceptions as api_core
from googleapiclient.errors import HttpError
from notion_client import APIResponseError

from holdfast.classify import classify
from holdfast.presets import RetryConfig
from tests.classify.rows import NOW, caught
from tests.classify.servers import Server, http_answer, unused_port
from tests.classify.test_grpc import ask_blocking, upstream
from tests.classify.test_sdks import call_gmail, call_infisical, call_notion

GMAIL = RetryConfig(retryable_exceptions={socket.timeout, ConnectionError, HttpError})
GEMINI = RetryConfig(
    timeout=60.0,
    retryable_exceptions={api_core.ResourceExhausted, api_core.DeadlineExceeded, ConnectionError},
)
NOTION = RetryConfig(retryable_exceptions={APIResponseError})
INFISICAL = RetryConfig(
    max_attempts=2,
    backoff_max=5.0,
    jitter_max=1.0,
    timeout=10.0,
    retryable_exceptions={socket.timeout, ConnectionError},
    respect_retry_after=False,
)


@pytest.mark.parametrize(
    ("config", "timeout_s"), [(GMAIL, 30), (GEMINI, 60), (NOTION, 30), (INFISICAL, 10)]
)
def test_each_has_its_limit_of_time(config, timeout_s):
    assert config.timeout == timeout_s


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
