"""The rows that hold everywhere, each against its line of the table."""

import concurrent.futures
import errno
import http.client
import socket
import ssl
import subprocess
import urllib.error
from concurrent.futures.process import BrokenProcessPool
from email.message import Message

import pytest

from holdfast.classify import STANDARD, Verdict, classify, exit_code_rule
from holdfast.classify.standard import verdict_of_status
from holdfast.core.upstream.breaker import evidence_of
from holdfast.core.values.failure import Category
from holdfast.errors import (
    CircuitOpen,
    GiveUp,
    InvalidDocument,
    KeyConflict,
    QueueFull,
    ReadTooSlow,
    StaleRevision,
    StoreCorrupt,
    StoreUnavailable,
)

NOW = 1_445_412_480_000_000


class Answered(Exception):
    def __init__(self, status, *, message="", headers=None, **attributes):
        super().__init__(message)
        self.status_code = status
        self.headers = headers or {}
        self.__dict__.update(attributes)


def os_error(number):
    return OSError(number, "trouble")


def exited(code):
    return subprocess.CalledProcessError(code, "convert")


@pytest.mark.parametrize(
    ("exception", "error_class", "retryable", "outcome_known"),
    [
        (TimeoutError(), "NETWORK_TIMEOUT", True, False),
        (socket.timeout("read"), "NETWORK_TIMEOUT", True, False),  # noqa: UP041 - the old name
        (concurrent.futures.TimeoutError(), "NETWORK_TIMEOUT", True, False),
        (os_error(errno.ETIMEDOUT), "NETWORK_TIMEOUT", True, False),
        (ConnectionResetError(), "NETWORK", True, False),
        (BrokenPipeError(), "NETWORK", True, False),
        (http.client.RemoteDisconnected("closed"), "NETWORK", True, False),
        (ConnectionRefusedError(), "NETWORK", True, True),
        (socket.gaierror(socket.EAI_NONAME, "unknown"), "NETWORK", True, True),
        (os_error(errno.EHOSTUNREACH), "NETWORK", True, True),
        (os_error(errno.ENETUNREACH), "NETWORK", True, True),
        (ssl.SSLEOFError(), "NETWORK", True, False),
        (ssl.SSLCertVerificationError("self-signed"), "AUTH_DENIED", False, True),
        (os_error(errno.ENOSPC), "IO_ERROR", True, True),
        (os_error(errno.EMFILE), "IO_ERROR", True, True),
        (os_error(errno.ENOMEM), "IO_ERROR", True, True),
        (os_error(errno.EIO), "IO_ERROR", True, True),
        (os_error(errno.EDQUOT), "IO_ERROR", True, True),
        (MemoryError(), "IO_ERROR", True, True),
        (FileNotFoundError(), "IO_ERROR", False, True),
        (os_error(errno.ENOENT), "IO_ERROR", False, True),
        (PermissionError(), "IO_ERROR", False, True),
        (os_error(errno.EXDEV), "BUG", False, False),
        (OSError("no number"), "BUG", False, False),
        (subprocess.TimeoutExpired("convert", 5), "NETWORK_TIMEOUT", True, False),
        (exited(-9), "WORKER_CRASH", True, False),
        (exited(1), "PROCESS_FAILED", False, False),
        (exited(64), "INVALID", False, True),
        (exited(65), "INVALID", False, True),
        (exited(66), "INVALID", False, True),
        (exited(73), "IO_ERROR", True, True),
        (exited(69), "UPSTREAM_5XX", True, False),
        (exited(74), "IO_ERROR", True, True),
        (exited(75), "UPSTREAM_5XX", True, False),
        (exited(77), "AUTH_DENIED", False, True),
        (BrokenProcessPool(), "WORKER_CRASH", True, False),
        (KeyError("k"), "BUG", False, False),
        (IndexError(), "BUG", False, False),
        (TypeError(), "BUG", False, False),
        (AttributeError(), "BUG", False, False),
        (NameError(), "BUG", False, False),
        (AssertionError(), "BUG", False, False),
        (ValueError(), "BUG", False, False),
        (RecursionError(), "BUG", False, False),
        (GiveUp("CONTENT_POLICY"), "CONTENT_POLICY", False, True),
        (StoreUnavailable("db", reason="down"), "NETWORK", True, False),
        (StoreCorrupt("db", reason="torn"), "IO_ERROR", False, True),
        (StaleRevision("j", expected=1, found=2), "CONFLICT", True, True),
        (KeyConflict("k", job_id="j"), "CONFLICT", False, True),
        (InvalidDocument("x", path="", limit="a", found="b"), "INVALID", False, True),
        (CircuitOpen("u", reason="r", until=None, wait_s=7.0), "CIRCUIT_OPEN", True, True),
    ],
    ids=repr,
)
def test_an_exception_of_the_standard_library(exception, error_class, retryable, outcome_known):
    failure = classify(exception, now=NOW)

    assert failure.error_class == error_class
    assert failure.retryable is retryable
    assert failure.outcome_known is outcome_known


RETRIED = {408: "NETWORK_TIMEOUT", 425: "NETWORK_TIMEOUT", 429: "RATE_LIMITED"}
RETRIED |= dict.fromkeys((409, 412, 423), "CONFLICT")
RETRIED |= dict.fromkeys(range(500, 600), "UPSTREAM_5XX")
STOPPED = dict.fromkeys((400, 405, 406, 411, 413, 415, 418, 422, 431), "INVALID")
STOPPED |= dict.fromkeys((401, 402, 403, 407), "AUTH_DENIED")
STOPPED |= {404: "NOT_FOUND", 410: "NOT_FOUND", 451: "CONTENT_POLICY"}


@pytest.mark.parametrize(("status", "error_class"), sorted(RETRIED.items()))
def test_a_status_that_may_pass_is_retried(status, error_class):
    failure = classify(Answered(status), now=NOW)

    assert failure.error_class == error_class
    assert failure.retryable is True
    assert failure.category is Category.TRANSIENT
    assert failure.http_status == status
    assert failure.outcome_known is (status < 500)


@pytest.mark.parametrize(("status", "error_class"), sorted(STOPPED.items()))
def test_a_status_that_will_not_pass_is_not_retried(status, error_class):
    failure = classify(Answered(status), now=NOW)

    assert failure.error_class == error_class
    assert failure.retryable is False
    assert failure.http_status == status
    critical = error_class == "AUTH_DENIED"
    assert failure.category is (Category.CRITICAL if critical else Category.PERMANENT)


@pytest.mark.parametrize("status", [100, 200, 204, 302, 304, 399])
def test_a_status_that_is_no_error_says_nothing(status):
    assert verdict_of_status(status) is None
    failure = classify(Answered(status), now=NOW)
    assert failure.error_class == "BUG"
    assert failure.http_status == status


def test_a_response_comes_before_the_kind_of_error_that_carries_it():
    class AnsweredInTime(TimeoutError):
        status = 404

    assert classify(AnsweredInTime(), now=NOW).error_class == "NOT_FOUND"


def test_the_standard_librarys_own_http_error_is_judged_by_its_status():
    headers = Message()
    headers["Retry-After"] = "Wed, 21 Oct 2015 07:29:00 GMT"
    error = urllib.error.HTTPError("http://localhost", 503, "busy", headers, None)

    failure = classify(error, now=NOW)
    error.close()

    assert failure.error_class == "UPSTREAM_5XX"
    assert failure.retry_after_us == 60_000_000


def test_a_failed_url_is_judged_by_what_it_came_from():
    error = urllib.error.URLError("unknown host")
    error.__context__ = socket.gaierror(socket.EAI_NONAME, "unknown")

    assert classify(error, now=NOW).error_class == "NETWORK"


@pytest.mark.parametrize(
    "attributes",
    [
        {"headers": {"Retry-After": "60"}},
        {"headers": {"X-RateLimit-Remaining": "0"}},
        {"message": "API rate limit exceeded for user"},
        {"message": '{"reason": "rateLimitExceeded"}'},
    ],
)
def test_a_403_that_means_too_often_is_a_rate_limit(attributes):
    failure = classify(Answered(403, **attributes), now=NOW)

    assert failure.error_class == "RATE_LIMITED"
    assert failure.retryable is True


@pytest.mark.parametrize(
    "attributes",
    [
        {"code": "insufficient_quota"},
        {"type": "insufficient_quota"},
        {"body": {"code": "insufficient_quota"}},
        {"body": {"error": {"code": "billing_hard_limit_reached"}}},
        {"body": {"error": {"type": "insufficient_quota"}}},
    ],
)
def test_a_spent_quota_is_not_a_rate_limit(attributes):
    failure = classify(Answered(429, **attributes), now=NOW)

    assert failure.error_class == "AUTH_DENIED"
    assert failure.category is Category.CRITICAL
    assert failure.retryable is False


@pytest.mark.parametrize(
    "attributes",
    [
        {"message": "You exceeded your current quota, check your plan and billing details"},
        {"body": "insufficient_quota"},
        {"body": {"error": "insufficient_quota"}},
        {"code": "rate_limit_exceeded"},
    ],
)
def test_talk_of_quotas_alone_does_not_stop_retries(attributes):
    assert classify(Answered(429, **attributes), now=NOW).error_class == "RATE_LIMITED"


def test_a_programs_exit_codes_can_be_given_meanings():
    rule = exit_code_rule({3: Verdict("PDF_ENCRYPTED", retryable=False)})

    assert classify(exited(3), [rule], now=NOW).error_class == "PDF_ENCRYPTED"
    assert classify(exited(75), [rule], now=NOW).error_class == "UPSTREAM_5XX"


def test_every_row_is_reached():
    """A row behind one that always matches first would never speak."""
    matched = set()
    exceptions = [
        StoreCorrupt("d", reason="r"),
        StoreUnavailable("d", reason="r"),
        StaleRevision("j", expected=1, found=2),
        CircuitOpen("u", reason="r", until=None, wait_s=7.0),
        KeyConflict("k", job_id="j"),
        Answered(500),
        ssl.SSLCertVerificationError(),
        ssl.SSLEOFError(),
        TimeoutError(),
        ConnectionRefusedError(),
        ConnectionResetError(),
        PermissionError(),
        os_error(errno.ENOSPC),
        MemoryError(),
        subprocess.TimeoutExpired("c", 1),
        exited(1),
        BrokenProcessPool(),
        KeyError(),
    ]
    for exception in exceptions:
        for index, rule in enumerate(STANDARD):
            if rule.verdict_on(exception, now=NOW) is not None:
                matched.add(index)
                break

    assert matched == set(range(len(STANDARD)))


@pytest.mark.parametrize(
    "error",
    [StoreUnavailable("db", reason="down"), ReadTooSlow(limit_s=1.0), QueueFull("q", limit=1)],
    ids=lambda error: type(error).__name__,
)
def test_what_is_wrong_with_our_own_store_speaks_against_no_upstream(error):
    failure = classify(error, now=NOW)

    assert not failure.blames_upstream
    assert evidence_of(failure) is None
