"""The stand-in, called by the real SDK through a real server."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from apps.grading.tests.llm.conftest import TASK
from grading.calls import RawAnswer
from grading.llm import AnswerRefused, LlmConfig, MalformedAnswer, evidence_of, open_assessor
from grading.llm import stand_in as module
from grading.llm.prompt import prompt_for
from grading.llm.stand_in import LlmStandIn
from grading.rules import evidence_by_rules
from holdfast.systems import Call
from tests.deployed.scripted_server import Reply, ScriptedServer


@pytest.fixture
def stand_in():
    return LlmStandIn()


@pytest.fixture
def made_assessor(stand_in):
    def answer(call):
        made = stand_in(Call(call.method, call.target, call.headers, call.body))
        return Reply(
            status=made.status, headers={"Content-Type": made.content_type}, body=made.body
        )

    with ScriptedServer(answer=answer) as server:
        yield lambda **options: open_assessor(
            LlmConfig(base_url=server.url, model="stand-in", **options)
        )


@pytest.fixture
def assessor(made_assessor):
    return made_assessor()


def assess(assessor, task=TASK, token="job-1"):
    return assessor.assess(task, token=token, timeout_s=30.0, headers={})


def call_of(body, key=None):
    headers = {} if key is None else {"idempotency-key": key}
    return Call("POST", "/v1/chat/completions", headers, body)


def body_of(task=TASK):
    made = prompt_for(task, token="t", response_format="text")
    messages = [
        {"role": "system", "content": made.system},
        {"role": "user", "content": made.user},
    ]
    return json.dumps({"model": "m", "messages": messages}).encode()


@pytest.mark.parametrize("response_format", ["json_schema", "json_object", "text"])
def test_the_sdk_gets_the_evidence_of_the_rules(stand_in, made_assessor, response_format):
    raw = assess(made_assessor(response_format=response_format))

    assert evidence_of(raw) == evidence_by_rules(TASK)
    assert raw.provider == "openai:stand-in"
    assert raw.usage["inputTokens"] > 100
    assert stand_in.ledger()["charges"] == 1


def test_a_repeat_gets_the_same_answer_and_is_not_charged(stand_in, assessor):
    first, again, other = assess(assessor), assess(assessor), assess(assessor, token="job-2")

    assert first.body == again.body
    assert other.provider == first.provider
    ledger = stand_in.ledger()
    assert (ledger["calls"], ledger["charges"], ledger["repeats"]) == (3, 2, 1)
    assert ledger["callsByKey"] == {"job-1": 2, "job-2": 1}
    assert ledger["usd"] == 0.002


def test_repeats_at_the_same_time_are_charged_once(stand_in):
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(stand_in, [call_of(body_of(), "one")] * 32))

    assert len({each.body for each in answers}) == 1
    assert stand_in.ledger()["charges"] == 1


def test_calls_without_a_key_are_each_charged(stand_in):
    for _ in range(2):
        assert stand_in(call_of(body_of())).status == 200

    assert stand_in.ledger()["charges"] == 2


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"messages": [{"role": "user", "content": "hi"}]}', b"[" * 9_000],
    ids=["empty", "list", "object", "another prompt", "deep"],
)
def test_what_is_no_prompt_is_refused_and_not_charged(stand_in, body):
    answer = stand_in(call_of(body, "k"))

    assert answer.status == 400
    assert json.loads(answer.body)["error"]["type"] == "invalid_request_error"
    assert stand_in.ledger()["charges"] == 0


def test_the_ledger_is_served_and_other_routes_are_not(stand_in):
    stand_in(call_of(body_of(), "k"))

    assert json.loads(stand_in(Call("GET", "/ledger", {}, b"")).body)["charges"] == 1
    assert stand_in(Call("GET", "/v1/models", {}, b"")).status == 404
    assert module.answer(Call("GET", "/ledger", {}, b"")).status == 200


def test_it_answers_something_else_where_that_is_wanted(stand_in):
    raw = {
        name: RawAnswer(fault(call_of(body_of(), name)).body.decode(), "openai:m", {})
        for name, fault in stand_in.faults.items()
    }

    with pytest.raises(MalformedAnswer):
        evidence_of(raw["malformed"])
    with pytest.raises(AnswerRefused):
        evidence_of(raw["refuses"])
    assert "insufficient_quota" in raw["out_of_quota"].body
    ledger = stand_in.ledger()
    assert (ledger["calls"], ledger["charges"], ledger["refused"]) == (3, 2, 1)


def test_a_repeat_of_a_malformed_answer_is_malformed_and_another_call_is_not(stand_in):
    bad = stand_in.faults["malformed"](call_of(body_of(), "first"))

    assert stand_in(call_of(body_of(), "first")).body == bad.body
    assert stand_in(call_of(body_of(), "repair")).body != bad.body
    assert stand_in.ledger()["charges"] == 2
