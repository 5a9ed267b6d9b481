"""Models behind APIs, through the SDKs: what is asked, and what comes of it."""

import gzip
import itertools
import time
import traceback
from decimal import Decimal

import pytest

from apps.criticizer.tests.llm_server import (
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    Answer,
    critique,
    finding,
)
from apps.criticizer.tests.reviewers.conftest import KEY, through_openai
from criticizer.reviewers.answers import SCHEMA
from criticizer.reviewers.errors import MalformedAnswer, Refused
from criticizer.reviewers.model import Limits, ModelReviewer, Prices
from criticizer.reviewers.rules import REVIEWER_RULES
from holdfast.classify import classify
from tests.deployed.scripted_server import Reply

NOW = 1_700_000_000_000_000
PLANTED = "loops = None"
"""Is in the diff, and must be in nothing that is raised."""


def failure_of(reviewed, reviewer, **options):
    """What the engine makes of the exception; nothing of key, prompt or answer is told."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever it is, it is classified
        reviewed(reviewer, **options)
    told = "".join(traceback.format_exception(raised.value))
    assert KEY not in told
    assert PLANTED not in told
    return classify(raised.value, rules=REVIEWER_RULES, now=NOW)


def test_a_change_is_reviewed_with_one_request(reviewer, reviewed, llm):
    llm.say(Answer(text=critique(finding(suggestion="Take it out."), summary="So so.")))
    result = reviewed(reviewer, headers={"traceparent": "00-aa-bb-01"})

    assert result.critique.model_dump() == {
        "summary": "So so.",
        "findings": [finding(suggestion="Take it out.")],
    }
    assert (result.reviewer, result.usage.calls) == ("test-model", 1)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (INPUT_TOKENS, OUTPUT_TOKENS)
    assert result.usage.cost_usd is None
    (call,) = llm.calls
    assert call.headers["traceparent"] == "00-aa-bb-01"
    assert KEY in {call.headers.get("x-api-key"), call.headers.get("authorization", "")[7:]}
    assert call.document["model"] == "test-model"
    assert PLANTED in llm.prompts[0]


def test_each_dialect_is_asked_for_the_schema(reviewer, reviewed, llm, dialect):
    reviewed(reviewer)
    asked = llm.calls[0].document

    if dialect == "openai":
        assert asked["response_format"]["json_schema"]["schema"] == SCHEMA
        assert asked["response_format"]["json_schema"]["strict"] is True
    else:
        assert asked["tools"][0]["input_schema"] == SCHEMA
        assert asked["tool_choice"] == {"type": "tool", "name": asked["tools"][0]["name"]}
        assert asked["max_tokens"] > 0


def test_what_a_review_cost_is_known_when_the_prices_are(made_reviewer, reviewed):
    prices = Prices(input_per_mtok=Decimal("2.50"), output_per_mtok=Decimal(10))
    usage = reviewed(made_reviewer(prices=prices)).usage

    assert usage.cost_usd == Decimal("0.0045")
    assert reviewed(made_reviewer(prices=Prices(input_per_mtok=Decimal(1)))).usage.cost_usd is None


def test_an_answer_without_counts_counts_nothing(reviewer, reviewed, llm):
    llm.say(Answer(usage=False))

    assert reviewed(reviewer).usage.input_tokens == 0


def test_an_endpoint_without_a_key_is_asked_without_one_of_ours(made_reviewer, reviewed, llm):
    reviewed(made_reviewer(key=None))

    assert "none" in {
        llm.calls[0].headers.get("x-api-key"),
        llm.calls[0].headers.get("authorization", "")[7:],
    }


@pytest.mark.parametrize(
    ("refused", "meaning"),
    [
        ((400, "invalid_request_error"), ("INVALID", False)),
        ((400, "content_policy_violation"), ("CONTENT_POLICY", False)),
        ((401, "authentication_error"), ("AUTH_DENIED", False)),
        ((403, "permission_error"), ("AUTH_DENIED", False)),
        ((404, "not_found_error"), ("NOT_FOUND", False)),
        ((408, "timeout_error"), ("NETWORK_TIMEOUT", True)),
        ((409, "conflict_error"), ("CONFLICT", True)),
        ((429, "rate_limit_exceeded"), ("RATE_LIMITED", True)),
        ((429, "insufficient_quota"), ("AUTH_DENIED", False)),
        ((500, "internal_error"), ("UPSTREAM_5XX", True)),
        ((503, "server_error"), ("UPSTREAM_5XX", True)),
        ((529, "overloaded_error"), ("UPSTREAM_5XX", True)),
    ],
)
def test_a_status_means_what_the_engine_says_and_is_asked_for_once(
    reviewer, reviewed, llm, refused, meaning
):
    status, code = refused
    llm.say(Answer(status=status, code=code, error_message=f"{KEY}: {PLANTED}"))
    failure = failure_of(reviewed, reviewer)

    assert (failure.error_class, failure.retryable) == meaning
    assert failure.http_status == status
    assert len(llm.calls) == 1


def test_an_endpoint_that_asks_for_a_wait_gets_it(reviewer, reviewed, llm):
    llm.say(Answer(status=429, code="rate_limit_exceeded", headers={"Retry-After": "17"}))

    assert failure_of(reviewed, reviewer).retry_after_us == 17_000_000


@pytest.mark.parametrize("body", [b"<html>loops = None</html>", b'{"error": "loops = None"}', b"["])
def test_an_error_in_no_form_is_still_judged_by_its_status(reviewer, reviewed, llm, body):
    headers = {"Content-Type": "application/json"}
    llm.say(Answer(raw=Reply(status=502, headers=headers, body=body)))

    assert failure_of(reviewed, reviewer).error_class == "UPSTREAM_5XX"


@pytest.mark.parametrize("cut", ["before", "headers", "body"])
def test_a_connection_that_breaks_may_hold_another_time(reviewer, reviewed, llm, cut):
    llm.say(Answer(raw=Reply(body=b"{}" * 100, cut=cut)))
    failure = failure_of(reviewed, reviewer)

    assert (failure.error_class, failure.retryable) == ("NETWORK", True)
    assert len(llm.calls) == 1


def test_an_endpoint_that_is_down_may_be_up_another_time(reviewer, reviewed, llm):
    llm.down()
    failure = failure_of(reviewed, reviewer)

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
def test_no_endpoint_holds_a_call_longer_than_it_may_take(reviewer, reviewed, llm, slow):
    reviewed(reviewer, token="warm")
    llm.say(Answer(raw=slow))
    started_at_s = time.monotonic()
    failure = failure_of(reviewed, reviewer, timeout_s=1.0)

    assert time.monotonic() - started_at_s < 20
    assert (failure.error_class, failure.retryable) == ("NETWORK_TIMEOUT", True)
    # Not called twice; on a busy machine the time may be up before the call has arrived.
    assert len(llm.calls) <= 2


@pytest.mark.parametrize(
    "much",
    [
        Reply(body=itertools.repeat(b" " * 65_536, 400), chunked=True),
        Reply(headers={"Content-Encoding": "gzip"}, body=gzip.compress(b" " * 50_000_000)),
    ],
    ids=["long", "compressed"],
)
def test_an_answer_without_end_is_not_read_to_its_end(reviewer, reviewed, llm, much):
    llm.say(Answer(raw=much))

    assert failure_of(reviewed, reviewer).error_class == "NETWORK"


@pytest.mark.parametrize(
    "answer",
    [
        Answer(text="Sure! Here is my review: loops = None"),
        Answer(text=""),
        Answer(text=None),
        Answer(text="{}"),
        Answer(text='{"summary": "x", "findings": [{"file": "loops = None"}]}'),
        Answer(text=critique(), finish="length"),
        Answer(raw=Reply(body=b"loops = None", headers={"Content-Type": "text/html"})),
        Answer(raw=Reply(body=b"{loops = None", headers={"Content-Type": "application/json"})),
        Answer(raw=Reply(body=b"[]", headers={"Content-Type": "application/json"})),
        Answer(raw=Reply(body=b'{"choices": {}, "content": 7}')),
        Answer(raw=Reply(body=b'{"choices": [null], "content": [null]}')),
        Answer(raw=Reply(body=b"[" * 50_000, headers={"Content-Type": "application/json"})),
    ],
    ids=str,
)
def test_an_answer_that_is_not_what_was_asked_for_may_be_better_another_time(
    reviewer, reviewed, llm, answer
):
    llm.say(answer)
    failure = failure_of(reviewed, reviewer)

    assert (failure.error_class, failure.retryable) == ("LLM_MALFORMED", True)
    assert not failure.blames_upstream
    assert failure.attempts is None


@pytest.mark.parametrize(
    "answer",
    [
        Answer(text=None, refusal="I cannot help with loops = None"),
        Answer(text="", finish="content_filter"),
    ],
    ids=["refusal", "filter"],
)
def test_a_refusal_is_content_policy_and_not_quoted(reviewer, reviewed, llm, answer):
    llm.say(answer)
    failure = failure_of(reviewed, reviewer)

    assert (failure.error_class, failure.retryable) == ("CONTENT_POLICY", False)
    llm.say(answer)
    with pytest.raises(Refused):
        reviewed(reviewer)


def test_a_repair_tells_the_model_to_mind_the_form(reviewer, reviewed, llm):
    llm.say(Answer(text="nonsense"))
    with pytest.raises(MalformedAnswer):
        reviewed(reviewer)
    result = reviewed(reviewer, repair=True)

    first, second = llm.prompts
    assert "could not be read" not in first
    assert "could not be read" in second
    assert result.usage.calls == 2
    assert result.usage.input_tokens == 2 * INPUT_TOKENS


def test_findings_about_other_files_are_dropped_and_names_made_those_of_the_change(
    reviewer, reviewed, llm
):
    llm.say(
        Answer(
            text=critique(
                finding("other.py"), finding("b/rope.py"), finding("/etc/passwd"), finding("")
            )
        )
    )

    assert [found.file for found in reviewed(reviewer).critique.findings] == ["rope.py"]


def test_an_empty_change_is_reviewed_without_a_question(reviewer, reviewed, llm):
    result = reviewed(reviewer, "")

    assert (result.critique.findings, result.usage.calls) == ([], 0)
    assert llm.calls == []


def test_findings_are_in_the_order_of_files_and_lines(reviewer, reviewed, llm):
    found = [finding(line=9), finding(line=None, message="all"), finding(line=2), finding(line=9)]
    llm.say(Answer(text=critique(*found)))

    assert [each.line for each in reviewed(reviewer).critique.findings] == [None, 2, 9]


def test_an_openai_endpoint_may_take_less_strict_forms(llm, reviewed):
    model = through_openai.OpenAIModel(
        "m",
        url=llm.base_url,
        key=None,
        prices=Prices(),
        response_format="json_object",
        max_output_tokens=99,
    )
    llm.say(Answer(text=f"```json\n{critique()}\n```"))
    reviewed(ModelReviewer(model, limits=Limits()))

    assert llm.calls[0].document["response_format"] == {"type": "json_object"}
    assert llm.calls[0].document["max_tokens"] == 99
