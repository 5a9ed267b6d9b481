"""The client, against a server on loopback: what is sent, what comes of it, and how often."""

import itertools
import time
import traceback

import pytest

from apps.grading.tests.llm.conftest import KEY, TASK, TEXT
from apps.grading.tests.llm.grading_llm_server import (
    completion,
    error_reply,
    system_of,
    user_of,
)
from grading.llm import LLM_RULES, AnswerRefused, MalformedAnswer, evidence_of
from grading.llm.schema import evidence_schema
from holdfast.classify import classify
from tests.deployed.scripted_server import Reply, json_reply

NOW = 1_700_000_000_000_000
PLANTED = "PLANTED-7f3a"


def failure_of(assess, **options):
    """What the engine makes of a call; nothing of key, text or answer is in what is raised."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever it is, it is classified
        evidence_of(assess(**options))
    shown = "".join(traceback.format_exception(raised.value))
    assert KEY not in shown
    assert PLANTED not in shown
    return classify(raised.value, rules=LLM_RULES, now=NOW)


def test_a_text_is_assessed_with_one_request(assess, llm):
    raw = assess(headers={"traceparent": "00-aa-bb-01"})

    (call,) = llm.calls
    assert (call.method, call.path) == ("POST", "/v1/chat/completions")
    assert call.headers["idempotency-key"] == "job-1.assess"
    assert call.headers["authorization"] == f"Bearer {KEY}"
    assert call.headers["traceparent"] == "00-aa-bb-01"
    assert call.document["model"] == "m"
    assert TEXT in user_of(call)
    assert raw.provider == "openai:m"
    assert evidence_of(raw).levels[0].level == 3


def test_the_body_is_returned_as_it_came(assess, llm):
    llm.then(Reply(body=b"<html>no json</html>", headers={"Content-Type": "text/html"}))
    raw = assess()

    assert raw.body == "<html>no json</html>"
    assert raw.usage == {"inputTokens": 0, "outputTokens": 0, "usd": 0.0}
    with pytest.raises(MalformedAnswer):
        evidence_of(raw)


def test_the_same_task_and_token_make_the_same_request(assess, llm):
    assess()
    assess()
    assess(token="another")

    first, second, third = (call.body for call in llm.calls)
    assert first == second
    assert first != third


@pytest.mark.parametrize("response_format", ["json_schema", "json_object", "text"])
def test_the_schema_is_in_the_request_or_in_the_prompt(assess, llm, response_format):
    assess(response_format=response_format)
    (call,) = llm.calls
    wanted = call.document["response_format"]

    assert wanted["type"] == response_format
    if response_format == "json_schema":
        assert wanted["json_schema"] == {
            "name": "evidence",
            "strict": True,
            "schema": evidence_schema(),
        }
        assert "JSON Schema" not in system_of(call)
    else:
        assert '"additionalProperties": false' in system_of(call)


def test_usage_and_cost_are_known_when_the_prices_are(assess):
    raw = assess(price_input_per_mtok_usd=2.5, price_output_per_mtok_usd=10.0)

    assert raw.usage == {"inputTokens": 1_000, "outputTokens": 200, "usd": 0.0045}
    assert assess().usage["usd"] == 0


@pytest.mark.parametrize("usage", [None, ("many", -1), (True, 1.5)])
def test_counts_that_are_none_count_nothing(assess, llm, usage):
    llm.then(json_reply(completion(usage=usage)))

    assert assess(price_input_per_mtok_usd=1.0).usage == {
        "inputTokens": 0,
        "outputTokens": 0,
        "usd": 0.0,
    }


def test_nothing_of_the_environment_is_sent(assess, llm, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-environment")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/environment")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "X-Environment: yes\nAuthorization: Bearer environment"
    )
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    assess()
    assess(api_key=None)

    with_key, without = llm.calls
    for call in llm.calls:
        assert "environment" not in repr(sorted(call.headers.items())).lower()
        assert not any(name.startswith(("x-stainless", "openai-")) for name in call.headers)
    assert with_key.headers["authorization"] == f"Bearer {KEY}"
    assert "authorization" not in without.headers


@pytest.mark.parametrize(
    ("refused", "meaning"),
    [
        ((400, "invalid_request_error"), ("PROVIDER_ERROR", False)),
        ((400, "content_policy_violation"), ("CONTENT_POLICY", False)),
        ((400, "content_filter"), ("CONTENT_POLICY", False)),
        ((401, "invalid_api_key"), ("PROVIDER_AUTH", False)),
        ((403, "permission_error"), ("PROVIDER_AUTH", False)),
        ((404, "model_not_found"), ("PROVIDER_ERROR", False)),
        ((408, "timeout"), ("NETWORK_TIMEOUT", True)),
        ((409, "conflict"), ("PROVIDER_ERROR", False)),
        ((413, "too_large"), ("PROVIDER_ERROR", False)),
        ((422, "unprocessable"), ("PROVIDER_ERROR", False)),
        ((429, "rate_limit_exceeded"), ("RATE_LIMITED", True)),
        ((429, "insufficient_quota"), ("PROVIDER_AUTH", False)),
        ((500, "server_error"), ("UPSTREAM_5XX", True)),
        ((503, "overloaded"), ("UPSTREAM_5XX", True)),
    ],
)
def test_a_status_means_what_the_document_says_and_is_not_repeated(assess, llm, refused, meaning):
    status, code = refused
    llm.then(error_reply(status, code, message=f"{KEY}: {PLANTED}"))
    failure = failure_of(assess)

    assert (failure.error_class, failure.retryable) == meaning
    assert failure.http_status == status
    assert len(llm.calls) == 1


def test_rate_limits_say_how_long_to_wait_and_blame_nobody(assess, llm):
    llm.then(error_reply(429, "rate_limit_exceeded", **{"Retry-After": "17"}))
    failure = failure_of(assess)

    assert failure.retry_after_us == 17_000_000
    assert not failure.blames_upstream


@pytest.mark.parametrize("cut", ["before", "headers", "body"])
def test_a_connection_that_breaks_is_tried_again_by_the_engine(assess, llm, cut):
    llm.then(Reply(body=b"{}" * 100, cut=cut))
    failure = failure_of(assess)

    assert (failure.error_class, failure.retryable) == ("NETWORK", True)
    assert len(llm.calls) == 1


def test_an_endpoint_that_is_down_is_tried_again_by_the_engine(assess, llm):
    llm.down()

    assert failure_of(assess).retryable


@pytest.mark.parametrize(
    "slow",
    [
        Reply(delay_s=60),
        Reply(body=itertools.repeat(b" "), chunked=True, pause_s=0.05),
    ],
    ids=["silent", "trickling"],
)
def test_a_call_ends_in_time(assess, llm, slow):
    assess()
    llm.then(slow)
    started_at_s = time.monotonic()
    failure = failure_of(assess, timeout_s=1.0)

    assert time.monotonic() - started_at_s < 20
    assert (failure.error_class, failure.retryable) == ("NETWORK_TIMEOUT", True)


def test_an_answer_without_end_is_not_read_to_its_end(assess, llm):
    llm.then(Reply(body=itertools.repeat(b" " * 65_536, 400), chunked=True))

    assert failure_of(assess).error_class == "NETWORK"


@pytest.mark.parametrize(
    "document",
    [
        completion("", refusal="I cannot assess PLANTED-7f3a"),
        completion("", finish="content_filter"),
    ],
    ids=["refusal", "filter"],
)
def test_a_refusal_is_content_policy_and_not_quoted(assess, llm, document):
    llm.then(json_reply(document), json_reply(document))
    failure = failure_of(assess)

    assert (failure.error_class, failure.retryable) == ("CONTENT_POLICY", False)
    with pytest.raises(AnswerRefused):
        evidence_of(assess())


@pytest.mark.parametrize(
    "reply",
    [
        json_reply(completion("Sure! PLANTED-7f3a")),
        json_reply(completion("{}")),
        json_reply(completion('{"levels": [{"criterion": "grammar", "level": 9}]}')),
        json_reply(completion(finish="length")),
        json_reply({"choices": {}}),
        json_reply({"choices": [None]}),
        json_reply([]),
        Reply(body=b"[" * 50_000, headers={"Content-Type": "application/json"}),
    ],
    ids=["prose", "empty", "level", "cut off", "no list", "null", "list", "deep"],
)
def test_an_answer_that_does_not_fit_gets_two_more_tries(assess, llm, reply):
    llm.then(reply)
    failure = failure_of(assess)

    assert (failure.error_class, failure.retryable) == ("PROVIDER_ERROR", True)
    assert failure.attempts == 3
    assert not failure.blames_upstream


def test_a_repair_says_what_was_wrong(assess, llm):
    assess()
    assess(TASK._replace(repair="the answer is not JSON"), token="job-1.assess.2")

    first, second = llm.calls
    assert "could not be used" not in system_of(first)
    assert "the answer is not JSON" in system_of(second)
    assert user_of(second).splitlines()[0] == user_of(first).splitlines()[0]
