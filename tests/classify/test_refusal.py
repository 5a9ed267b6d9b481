"""A model that would not answer says so in a success; it is found by the shape of the answer."""

import pytest

from holdfast.classify.refusal import raise_if_refused, refusal_of
from holdfast.errors import GiveUp
from holdfast.secrecy import keep_secret
from tests.classify import rows
from tests.classify.models import ask_anthropic, ask_gemini, ask_openai, completion
from tests.classify.rows import row_of
from tests.classify.servers import Server, http_answer
from tests.first_use import openai

REFUSALS = {
    "chat completion, filtered": (ask_openai, completion("", finish_reason="content_filter")),
    "chat completion, refused": (ask_openai, completion(None, refusal="I cannot help with that")),
    "anthropic": (
        ask_anthropic,
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "stop_reason": "refusal",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    ),
    "gemini, prompt": (ask_gemini, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
    **{
        f"gemini, {reason}": (ask_gemini, {"candidates": [{"finishReason": reason}]})
        for reason in ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")
    },
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_that_arrives_as_a_success(name):
    ask, body = REFUSALS[name]
    with Server(http_answer(200, body)) as server:
        answer = ask(server.url)

    for response in (answer, body):
        failure = refusal_of(response)
        assert failure is not None
        assert failure.error_class == "CONTENT_POLICY"
        assert (failure.retryable, failure.outcome_known) == (False, True)
        assert failure.blames_upstream is False
        with pytest.raises(GiveUp) as caught_error:
            raise_if_refused(response)
        assert row_of(caught_error.value) == rows.POLICY


def ask_openai_responses(url):
    with openai.OpenAI(base_url=url, api_key="k", max_retries=0) as client:
        return client.responses.create(model="m", input="hello")


def openai_response(output, **changes):
    return {
        "id": "r",
        "object": "response",
        "created_at": 0,
        "model": "m",
        "status": "completed",
        "output": output,
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
    } | changes


def message(part):
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


@pytest.mark.parametrize(
    "body",
    [
        openai_response([message({"type": "refusal", "refusal": "I will not"})]),
        openai_response([], status="incomplete", incomplete_details={"reason": "content_filter"}),
    ],
    ids=["refused", "filtered"],
)
def test_a_refusal_in_a_response_of_openai(body):
    with Server(http_answer(200, body)) as server:
        answer = ask_openai_responses(server.url)

    assert refusal_of(answer).error_class == "CONTENT_POLICY"
    assert refusal_of(body).error_class == "CONTENT_POLICY"


ANSWERS = {
    "openai": (ask_openai, completion("fine")),
    "openai, cut off": (ask_openai, completion("fi", finish_reason="length")),
    "openai response": (
        ask_openai_responses,
        openai_response([message({"type": "output_text", "text": "fine", "annotations": []})]),
    ),
    "anthropic": (ask_anthropic, REFUSALS["anthropic"][1] | {"stop_reason": "end_turn"}),
    "gemini": (
        ask_gemini,
        {"candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": "fine"}]}}]},
    ),
    "gemini, cut off": (ask_gemini, {"candidates": [{"finishReason": "MAX_TOKENS"}]}),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_no_refusal(name):
    ask, body = ANSWERS[name]
    with Server(http_answer(200, body)) as server:
        answer = ask(server.url)

    assert refusal_of(answer) is None
    assert refusal_of(body) is None
    raise_if_refused(answer)


@pytest.mark.parametrize(
    "response", [None, "refusal", 7, {}, [], {"choices": "x"}, {"output": [1]}]
)
def test_what_no_model_answered_is_no_refusal(response):
    assert refusal_of(response) is None


def test_what_a_model_repeats_of_a_secret_is_not_told():
    secret = "Ty6-in-a-prompt-4Jb"
    keep_secret([secret])

    for before in range(1_900, 2_000):
        said = completion(None, refusal="x" * before + secret + " tail" * 100)
        failure = refusal_of(said)
        with pytest.raises(GiveUp) as caught:
            raise_if_refused(said)

        assert secret[:6] not in failure.text
        assert secret[:6] not in str(caught.value)
