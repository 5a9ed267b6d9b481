"""The classification tables of the criticizer and of the grading system, row by row."""

import io
import json
import os
import sqlite3
import wave
from contextlib import closing

import google.auth.exceptions
import google.auth.transport.requests
import httpx2
import msgspec
import psycopg
import pydantic
import pytest
import requests
from google.oauth2.credentials import Credentials

from holdfast.classify import classify
from holdfast.classify.refusal import raise_if_refused
from holdfast.core.values.failure import WORKER_LOST, Category
from holdfast.errors import GiveUp, StaleRevision
from tests.classify.models import ask_anthropic, ask_gemini, ask_openai
from tests.classify.rows import NOW, caught
from tests.classify.servers import (
    UNKNOWN_HOST,
    Server,
    event_stream,
    hangs,
    http_answer,
    resets,
)
from tests.classify.test_own_machine import run


def failure_of(call, *arguments, **options):
    return classify(caught(call, *arguments, **options), now=NOW)


def post_to(url, timeout=5.0):
    httpx2.post(url, json={"text": "done"}, timeout=timeout).raise_for_status()


def answered(call, behave, **options):
    with Server(behave) as server:
        return failure_of(call, server.url, **options)


class TestTheTableOfTheCriticizer:
    def test_network_troubles_that_pass_are_retried(self):
        failures = [
            failure_of(post_to, f"http://{UNKNOWN_HOST}"),
            answered(post_to, hangs, timeout=0.2),
            answered(post_to, resets),
            *(answered(post_to, http_answer(status)) for status in (502, 503, 504)),
        ]

        assert [failure.error_class for failure in failures] == [
            "NETWORK",
            "NETWORK_TIMEOUT",
            "NETWORK",
            *["UPSTREAM_5XX"] * 3,
        ]
        assert all(failure.retryable for failure in failures)
        assert {failure.category for failure in failures} == {Category.TRANSIENT}

    def test_rate_limits_are_retried_after_the_wait_that_is_asked_for(self):
        slow = http_answer(429, headers={"retry-after": "30"})
        exceeded = {"error": {"code": "rate_limit_exceeded", "message": "slow down"}}
        window = {
            "error": {
                "code": 429,
                "status": "RESOURCE_EXHAUSTED",
                "details": [
                    {"violations": [{"quotaId": "GenerateRequestsPerMinutePerProject"}]},
                    {"retryDelay": "12s"},
                ],
            }
        }

        failures = [
            answered(post_to, slow),
            answered(ask_openai, http_answer(429, exceeded)),
            answered(ask_openai, event_stream(("", exceeded)), stream=True),
            answered(ask_gemini, http_answer(429, window)),
        ]

        assert {failure.error_class for failure in failures} == {"RATE_LIMITED"}
        assert all(failure.retryable for failure in failures)
        waits_us = [failure.retry_after_us for failure in failures]
        assert waits_us == [30_000_000, None, None, 12_000_000]

    def test_internal_errors_of_an_upstream_are_retried(self):
        internal = {"error": {"code": "internal_error", "message": "oops"}}

        failures = [
            answered(ask_openai, event_stream(("", internal)), stream=True),
            answered(ask_anthropic, http_answer(529, {})),
            answered(post_to, http_answer(500)),
        ]

        assert {failure.error_class for failure in failures} == {"UPSTREAM_5XX"}
        assert all(failure.retryable for failure in failures)

    def test_conflicts_are_retried(self, tmp_path, postgres_url):
        failures = [
            answered(post_to, http_answer(409)),
            answered(post_to, http_answer(412)),
            classify(StaleRevision("j", expected=1, found=2), now=NOW),
            self._busy(tmp_path / "thing.db"),
            self._write_race(postgres_url),
        ]

        assert {failure.error_class for failure in failures} == {"CONFLICT"}
        assert all(failure.retryable for failure in failures)

    def _busy(self, path):
        options = {"timeout": 0, "isolation_level": None}
        with (
            closing(sqlite3.connect(path, **options)) as first,
            closing(sqlite3.connect(path, **options)) as second,
        ):
            first.execute("begin immediate")
            return failure_of(second.execute, "begin immediate")

    def _write_race(self, url):
        with psycopg.connect(url) as first, psycopg.connect(url) as second:
            first.execute("create table thing (id int)")
            first.execute("insert into thing values (1)")
            first.commit()
            for connection in (first, second):
                connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                connection.execute("select * from thing")
            first.execute("update thing set id = 2")
            first.commit()
            return failure_of(second.execute, "update thing set id = 3")

    def test_data_that_does_not_fit_is_not_retried(self):
        class Change(pydantic.BaseModel):
            changelist_id: int

        failures = [
            failure_of(Change.model_validate, {}),
            failure_of(json.loads, '{"changelist_id": '),
            failure_of(msgspec.convert, {"a": "x"}, dict[str, int]),
            answered(post_to, http_answer(422)),
        ]

        assert {failure.error_class for failure in failures} == {"INVALID"}
        assert not any(failure.retryable for failure in failures)

    def test_refused_credentials_are_not_retried_and_critical(self):
        failures = [
            answered(ask_anthropic, http_answer(401, {"error": {"type": "authentication_error"}})),
            answered(self._refresh, http_answer(400, {"error": "invalid_grant"})),
            answered(post_to, http_answer(403)),
        ]

        assert {failure.error_class for failure in failures} == {"AUTH_DENIED"}
        assert {failure.category for failure in failures} == {Category.CRITICAL}
        assert not any(failure.retryable for failure in failures)

    def _refresh(self, url):
        credentials = Credentials(
            token=None, refresh_token="r", token_uri=url, client_id="c", client_secret="s"
        )
        with requests.Session() as session:
            credentials.refresh(google.auth.transport.requests.Request(session))

    def test_what_is_not_there_is_not_retried(self):
        failures = [
            answered(post_to, http_answer(404)),
            answered(post_to, http_answer(410)),
        ]

        assert {failure.error_class for failure in failures} == {"NOT_FOUND"}
        assert not any(failure.retryable for failure in failures)

    def test_refusals_by_policy_are_not_retried(self):
        blocked = {"error": {"code": "content_policy_violation", "message": "no"}}

        failures = [
            answered(ask_openai, http_answer(400, blocked)),
            answered(post_to, http_answer(451)),
            failure_of(raise_if_refused, {"stop_reason": "refusal"}),
            classify(GiveUp("CONTENT_POLICY", "denied by policy"), now=NOW),
        ]

        assert {failure.error_class for failure in failures} == {"CONTENT_POLICY"}
        assert not any(failure.retryable for failure in failures)

    def test_bugs_and_bad_configuration_are_not_retried(self, monkeypatch):
        def dereference(nothing):
            return nothing.name

        def illegal_state():
            raise RuntimeError("already closed")

        def broken_invariant():
            assert False, "never"  # noqa: B011, PT015 - an invariant that does not hold

        monkeypatch.delenv("MISSING_SETTING", raising=False)

        failures = [
            failure_of(dereference, None),
            failure_of(illegal_state),
            failure_of(broken_invariant),
            failure_of(lambda: os.environ["MISSING_SETTING"]),
            failure_of(post_to, "example.test/no-scheme"),
        ]

        assert {failure.error_class for failure in failures} == {"BUG"}
        assert {failure.severity.value for failure in failures} == {"CRITICAL"}
        assert not any(failure.retryable for failure in failures)


class TestTheTableOfTheGradingSystem:
    @pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
    def test_limits_and_server_errors_of_a_provider_are_retried(self, status):
        failure = answered(post_to, http_answer(status, headers={"retry-after": "5"}))

        assert failure.retryable is True
        assert failure.retry_after_us == 5_000_000

    def test_a_network_timeout_is_retried(self):
        failure = answered(post_to, hangs, timeout=0.2)

        assert (failure.error_class, failure.retryable) == ("NETWORK_TIMEOUT", True)

    def test_a_worker_that_is_lost_or_crashes_is_retried(self):
        killed = failure_of(run, "import os; os.kill(os.getpid(), 9)")

        assert (killed.error_class, killed.retryable) == ("WORKER_CRASH", True)
        assert (WORKER_LOST.error_class, WORKER_LOST.retryable) == ("WORKER_LOST", True)

    def test_an_invalid_schema_is_not_retried(self):
        class Request(pydantic.BaseModel):
            request_id: str

        failure = failure_of(Request.model_validate_json, '{"requestId": 7}')

        assert (failure.error_class, failure.retryable) == ("INVALID", False)

    def test_audio_that_cannot_be_decoded_is_not_retried(self):
        failures = [
            failure_of(wave.open, io.BytesIO(b"not audio at all, but long enough to look at")),
            failure_of(run, "raise SystemExit(65)"),
        ]

        assert {failure.error_class for failure in failures} == {"INVALID"}
        assert not any(failure.retryable for failure in failures)
