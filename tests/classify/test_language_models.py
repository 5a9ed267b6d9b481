"""The SDKs of OpenAI, Anthropic and Gemini against servers that fail in their dialects."""

import asyncio

import httpx2
import pydantic
import pytest

from holdfast.classify import classify
from holdfast.core.values.failure import Category
from tests.classify import rows
from tests.classify.models import ASKED, ask_anthropic, ask_gemini, ask_openai, completion
from tests.classify.rows import NOW, caught, retried, row_of
from tests.classify.servers import (
    LOOPBACK,
    NOT_JSON,
    TRUNCATED,
    Server,
    closes,
    deaf_port,
    event_stream,
    hangs,
    http_answer,
    resets,
    untrusted_tls,
    unused_port,
)
from tests.first_use import anthropic, genai, openai

SHORT_S = 0.2


class Reply(pydantic.BaseModel):
    grade: int


ASKS = {"openai": ask_openai, "anthropic": ask_anthropic, "gemini": ask_gemini}


@pytest.fixture(params=ASKS)
def ask(request):
    return ASKS[request.param]


@pytest.mark.parametrize("status", sorted(rows.STATUSES))
def test_a_status(ask, status):
    with Server(http_answer(status, {"error": {"message": "no"}})) as server:
        error = caught(ask, server.url)

    assert row_of(error) == rows.STATUSES[status]
    assert classify(error, now=NOW).http_status == status


def test_one_call_is_one_request(ask):
    with Server(http_answer(503)) as server:
        caught(ask, server.url)

    assert server.connections == 1


@pytest.mark.parametrize("status", [429, 503])
def test_a_wait_that_the_provider_asks_for(ask, status):
    with Server(http_answer(status, {}, headers={"retry-after": "7"})) as server:
        error = caught(ask, server.url)

    assert classify(error, now=NOW).retry_after_us == 7_000_000


def test_nobody_listens(ask):
    assert row_of(caught(ask, f"http://{LOOPBACK}:{unused_port()}")) == rows.UNSENT


@pytest.mark.parametrize("behave", [resets, closes, TRUNCATED], ids=["reset", "close", "truncated"])
def test_a_connection_that_breaks(ask, behave):
    with Server(behave) as server:
        assert row_of(caught(ask, server.url)) == rows.NETWORK


def test_an_answer_that_does_not_come_in_time(ask):
    with Server(hangs) as server:
        assert row_of(caught(ask, server.url, timeout=SHORT_S)) == rows.TIMEOUT


def test_a_connection_that_is_not_made_in_time(ask):
    with deaf_port() as port:
        error = caught(ask, f"http://{LOOPBACK}:{port}", timeout=SHORT_S)

    assert row_of(error) == rows.TIMEOUT_UNSENT


def test_a_certificate_that_nobody_vouches_for(ask):
    with Server(http_answer(200), tls=untrusted_tls()) as server:
        assert row_of(caught(ask, server.url)) == rows.AUTH


def test_a_timeout_is_not_taken_for_the_connection_error_it_also_is():
    with Server(hangs) as server:
        errors = [
            caught(ask_openai, server.url, timeout=SHORT_S),
            caught(ask_anthropic, server.url, timeout=SHORT_S),
        ]

    assert isinstance(errors[0], openai.APITimeoutError)
    assert isinstance(errors[1], anthropic.APITimeoutError)
    assert [row_of(error) for error in errors] == [rows.TIMEOUT] * 2


@pytest.mark.parametrize("library", [openai, anthropic], ids=lambda library: library.__name__)
def test_connection_errors_without_a_cause_are_judged_by_their_class(library):
    request = httpx2.Request("GET", "http://localhost")

    assert row_of(library.APITimeoutError(request=request)) == rows.TIMEOUT
    assert row_of(library.APIConnectionError(request=request)) == rows.NETWORK


def test_money_that_is_used_up_is_no_rate_limit():
    body = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    with Server(http_answer(429, body, headers={"retry-after": "1"})) as server:
        error = caught(ask_openai, server.url)

    assert isinstance(error, openai.RateLimitError)
    assert row_of(error) == rows.AUTH
    assert classify(error, now=NOW).category is Category.CRITICAL
    assert classify(error, now=NOW).retry_after_us is None


@pytest.mark.parametrize(
    "code", ["content_policy_violation", "content_filter", "moderation_blocked"]
)
def test_a_request_that_moderation_blocks(code):
    with Server(http_answer(400, {"error": {"message": "no", "code": code}})) as server:
        error = caught(ask_openai, server.url)

    assert isinstance(error, openai.BadRequestError)
    assert row_of(error) == rows.POLICY


def test_the_wait_until_the_limits_of_openai_start_anew():
    headers = {
        "x-ratelimit-remaining-requests": "5",
        "x-ratelimit-reset-requests": "6m0s",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "1.5s",
    }
    with Server(http_answer(429, {}, headers=headers)) as server:
        error = caught(ask_openai, server.url)

    assert classify(error, now=NOW).retry_after_us == 1_500_000


def test_the_wait_until_the_limits_of_anthropic_start_anew():
    headers = {
        "anthropic-ratelimit-requests-remaining": "7",
        "anthropic-ratelimit-requests-reset": "2015-10-21T08:00:00Z",
        "anthropic-ratelimit-tokens-remaining": "0",
        "anthropic-ratelimit-tokens-reset": "2015-10-21T07:28:30Z",
    }
    with Server(http_answer(429, {}, headers=headers)) as server:
        error = caught(ask_anthropic, server.url)

    assert classify(error, now=NOW).retry_after_us == 30_000_000


LIMITED_STREAM = retried("RATE_LIMITED", known=False, blames=False)


@pytest.mark.parametrize(
    ("code", "row"),
    [
        ("rate_limit_exceeded", LIMITED_STREAM),
        ("internal_error", rows.UPSTREAM),
        ("server_error", rows.UPSTREAM),
        ("insufficient_quota", rows.AUTH),
        ("content_filter", rows.POLICY),
        ("invalid_request_error", rows.INVALID),
    ],
)
def test_an_error_in_the_middle_of_a_stream_of_openai(code, row):
    events = event_stream(("", {"error": {"message": "sorry", "code": code, "type": "other"}}))
    with Server(events) as server:
        error = caught(ask_openai, server.url, stream=True)

    assert type(error) is openai.APIError
    assert row_of(error) == row


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ("overloaded_error", rows.UPSTREAM),
        ("api_error", rows.UPSTREAM),
        ("rate_limit_error", LIMITED_STREAM),
        ("timeout_error", rows.TIMEOUT),
        ("authentication_error", rows.AUTH),
        ("billing_error", rows.AUTH),
        ("permission_error", rows.AUTH),
        ("not_found_error", rows.NOT_FOUND),
        ("invalid_request_error", rows.INVALID),
    ],
)
def test_an_error_in_the_middle_of_a_stream_of_anthropic(kind, row):
    error = {"type": "error", "error": {"type": kind, "message": "sorry"}}
    with Server(event_stream(("error", error))) as server:
        error = caught(ask_anthropic, server.url, stream=True)

    assert error.status_code == 200
    assert row_of(error) == row


def parse_with_openai(url):
    with openai.OpenAI(base_url=url, api_key="k", max_retries=0) as client:
        return client.chat.completions.parse(model="m", messages=ASKED, response_format=Reply)


def test_a_models_answer_that_does_not_fit_is_asked_for_a_few_times():
    with Server(http_answer(200, completion('{"grade": "good"}'))) as server:
        error = caught(parse_with_openai, server.url)

    assert isinstance(error, pydantic.ValidationError)
    assert row_of(error) == rows.OUTPUT_INVALID


def test_a_models_answer_that_was_cut_off():
    with Server(http_answer(200, completion('{"gra', finish_reason="length"))) as server:
        error = caught(parse_with_openai, server.url)

    assert isinstance(error, openai.LengthFinishReasonError)
    assert row_of(error) == rows.OUTPUT_INVALID


def test_a_models_answer_that_was_filtered():
    with Server(http_answer(200, completion("", finish_reason="content_filter"))) as server:
        error = caught(parse_with_openai, server.url)

    assert isinstance(error, openai.ContentFilterFinishReasonError)
    assert row_of(error) == rows.POLICY


@pytest.mark.parametrize("library", [openai, anthropic], ids=lambda library: library.__name__)
def test_an_answer_that_is_not_what_the_sdk_expects(library):
    make = library.OpenAI if library is openai else library.Anthropic
    with Server(http_answer(200, {"id": 7})) as server:
        options = {"api_key": "k", "max_retries": 0, "_strict_response_validation": True}
        with make(base_url=server.url, **options) as client:
            error = caught(client.models.retrieve, "m")

    assert isinstance(error, library.APIResponseValidationError)
    assert row_of(error) == rows.OUTPUT_INVALID


def test_gemini_answers_what_is_no_json():
    with Server(NOT_JSON) as server:
        error = caught(ask_gemini, server.url)

    assert row_of(error) == rows.ANSWER_INVALID


def test_a_stream_of_gemini_that_is_no_json():
    with Server(http_answer(200, "data: {half\n\n", content_type="text/event-stream")) as server:
        error = caught(ask_gemini, server.url, stream=True)

    assert isinstance(error, genai.errors.UnknownApiResponseError)
    assert row_of(error) == rows.ANSWER_INVALID


def test_credentials_for_anthropic_that_cannot_be_loaded(tmp_path):
    read = anthropic.IdentityTokenFile(str(tmp_path / "missing"))

    error = caught(read)

    assert isinstance(error, anthropic.CredentialsError)
    assert row_of(error) == rows.AUTH


def test_a_key_that_is_missing(monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)

    assert row_of(caught(openai.OpenAI)) == rows.MISCONFIGURED


def gemini_error(status, reason, *details):
    return http_answer(
        status, {"error": {"code": status, "message": "no", "status": reason, "details": details}}
    )


def quota_of(quota_id):
    return {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": quota_id}],
    }


RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37.5s"}


def test_a_quota_of_gemini_for_the_minute_passes():
    details = quota_of("GenerateRequestsPerMinutePerProjectPerModel"), RETRY_INFO
    with Server(gemini_error(429, "RESOURCE_EXHAUSTED", *details)) as server:
        error = caught(ask_gemini, server.url)

    assert row_of(error) == rows.RATE_LIMITED
    assert classify(error, now=NOW).retry_after_us == 37_500_000


def test_a_quota_of_gemini_for_the_day_does_not_pass_soon():
    details = quota_of("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), RETRY_INFO
    with Server(gemini_error(429, "RESOURCE_EXHAUSTED", *details)) as server:
        error = caught(ask_gemini, server.url)

    assert row_of(error) == rows.AUTH
    assert classify(error, now=NOW).retry_after_us is None


def test_gemini_calls_a_wrong_key_a_bad_request():
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    with Server(gemini_error(400, "INVALID_ARGUMENT", info)) as server:
        assert row_of(caught(ask_gemini, server.url)) == rows.AUTH


@pytest.mark.parametrize(
    "details", ["no list", [1, None], [{"violations": "x"}], [{"retryDelay": 5}]]
)
def test_details_of_gemini_in_another_shape_change_nothing(details):
    answer = http_answer(429, {"error": {"code": 429, "details": details}})
    with Server(answer) as server:
        assert row_of(caught(ask_gemini, server.url)) == rows.RATE_LIMITED


@pytest.mark.parametrize(
    ("behave", "row"),
    [(http_answer(503), rows.UPSTREAM), (resets, rows.NETWORK), (hangs, rows.TIMEOUT)],
    ids=["503", "reset", "hang"],
)
@pytest.mark.parametrize("transport", ["aiohttp", "httpx2"])
# The SDK derives from a class that aiohttp does not want derived from.
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
def test_gemini_without_blocking_over_either_transport(transport, behave, row):
    async def ask(url):
        options = {"base_url": url, "timeout": int(SHORT_S * 1_000)}
        own = httpx2.AsyncClient(timeout=SHORT_S) if transport == "httpx2" else None
        client = genai.Client(
            api_key="k", http_options=genai.types.HttpOptions(**options, httpx_async_client=own)
        )
        try:
            await client.aio.models.generate_content(model="m", contents="hello")
        finally:
            await client.aio.aclose()
            if own is not None:
                await own.aclose()

    with Server(behave) as server:
        error = caught(asyncio.run, ask(server.url))

    assert row_of(error) == row
