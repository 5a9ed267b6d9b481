"""The SDKs of Notion, Resend, Infisical and Gmail, and Google's tokens, against failing servers."""

import asyncio
import logging

import google.auth.exceptions
import google.auth.transport.requests
import googleapiclient.discovery
import googleapiclient.errors
import httplib2
import notion_client
import pytest
import requests
import resend
from google.api_core import exceptions as api_core
from google.auth.aio.credentials import AnonymousCredentials
from google.auth.aio.transport.sessions import AsyncAuthorizedSession
from google.oauth2.credentials import Credentials
from infisical_sdk.infisical_requests import APIError, InfisicalError, InfisicalRequests
from resend.http_client_requests import RequestsClient

from holdfast.classify import classify
from tests.classify import rows
from tests.classify.rows import NOW, caught, retried, row_of
from tests.classify.servers import (
    LOOPBACK,
    NOT_JSON,
    TRUNCATED,
    UNKNOWN_HOST,
    Server,
    closes,
    deaf_port,
    hangs,
    http_answer,
    resets,
    unused_port,
)

SHORT_S = 0.2
FEW_CONFLICTS = retried("CONFLICT", known=True, blames=False, attempts=3)


def call_notion(url, *, timeout=5.0):
    options = notion_client.client.ClientOptions(
        auth="k",
        base_url=url,
        timeout_ms=int(timeout * 1_000),
        retry=False,
        logger=logging.getLogger("tests.notion"),
    )
    with notion_client.Client(options) as client:
        return client.pages.retrieve("p")


def call_resend(url, *, timeout=5.0):
    before = resend.api_url, resend.api_key, resend.default_http_client
    resend.api_url, resend.api_key = url, "k"
    resend.default_http_client = RequestsClient(timeout=timeout)
    try:
        mail = {"from": "us@example.test", "to": "them@example.test", "subject": "s", "text": "t"}
        return resend.Emails.send(mail)
    finally:
        resend.api_url, resend.api_key, resend.default_http_client = before


def call_infisical(url, *, timeout=5.0):
    """One request without the SDK's own retries, which no option switches off."""
    client = InfisicalRequests(host=url)
    send = client.session.request
    client.session.request = lambda *given, **options: send(*given, timeout=timeout, **options)
    with client.session:
        return InfisicalRequests.get.__wrapped__(client, "/api/v3/secrets", dict)


def call_gmail(url, *, timeout=5.0):
    http = httplib2.Http(timeout=timeout)
    service = googleapiclient.discovery.build(
        "gmail",
        "v1",
        static_discovery=True,
        cache_discovery=False,
        http=http,
        client_options={"api_endpoint": url},
    )
    try:
        return service.users().messages().get(userId="me", id="m").execute()
    finally:
        service.close()


CALLS = {
    "notion": call_notion,
    "resend": call_resend,
    "infisical": call_infisical,
    "gmail": call_gmail,
}


@pytest.fixture(params=CALLS)
def call(request):
    return CALLS[request.param]


@pytest.mark.parametrize("status", sorted(rows.STATUSES))
def test_a_status(call, status):
    with Server(http_answer(status, {"message": "no", "error": {"message": "no"}})) as server:
        error = caught(call, server.url)

    expected = rows.STATUSES[status]
    if call is call_notion and status in (409, 412, 423):
        expected = FEW_CONFLICTS
    assert row_of(error) == expected
    assert classify(error, now=NOW).http_status == status


@pytest.mark.parametrize("status", [429, 503])
def test_a_wait_that_the_provider_asks_for(call, status):
    with Server(http_answer(status, {}, headers={"retry-after": "7"})) as server:
        error = caught(call, server.url)

    assert classify(error, now=NOW).retry_after_us == 7_000_000


def test_nobody_listens(call):
    assert row_of(caught(call, f"http://{LOOPBACK}:{unused_port()}")) == rows.UNSENT


def test_a_name_that_nobody_knows(call):
    assert row_of(caught(call, f"http://{UNKNOWN_HOST}")) == rows.UNSENT


@pytest.mark.parametrize("behave", [resets, closes, TRUNCATED], ids=["reset", "close", "truncated"])
def test_a_connection_that_breaks(call, behave):
    with Server(behave) as server:
        assert row_of(caught(call, server.url)) == rows.NETWORK


def test_an_answer_that_does_not_come_in_time(call):
    with Server(hangs) as server:
        assert row_of(caught(call, server.url, timeout=SHORT_S)) == rows.TIMEOUT


def test_a_connection_that_is_not_made_in_time(call):
    with deaf_port() as port:
        row = row_of(caught(call, f"http://{LOOPBACK}:{port}", timeout=SHORT_S))

    # Two of them do not say which timeout it was.
    unsure = call in (call_notion, call_gmail)
    assert row == (rows.TIMEOUT if unsure else rows.TIMEOUT_UNSENT)


def test_an_answer_of_infisical_that_is_no_json():
    with Server(NOT_JSON) as server:
        error = caught(call_infisical, server.url)

    assert type(error) is InfisicalError
    assert row_of(error) == rows.ANSWER_INVALID


def test_an_answer_of_notion_that_is_no_json():
    with Server(NOT_JSON) as server:
        assert row_of(caught(call_notion, server.url)) == rows.ANSWER_INVALID


def test_the_code_of_a_notion_error_is_a_word_and_the_status_counts():
    body = {"object": "error", "status": 409, "code": "conflict_error", "message": "collided"}
    with Server(http_answer(409, body)) as server:
        error = caught(call_notion, server.url)

    assert isinstance(error, notion_client.APIResponseError)
    assert error.code == "conflict_error"
    assert row_of(error) == FEW_CONFLICTS


def test_a_path_that_notion_refuses_to_ask_for():
    with notion_client.Client(auth="k", logger=logging.getLogger("tests.notion")) as client:
        error = caught(client.pages.retrieve, "../users")

    assert row_of(error) == rows.INVALID


def test_resend_calls_everything_it_cannot_reach_an_error_500():
    error = caught(call_resend, f"http://{LOOPBACK}:{unused_port()}")

    assert isinstance(error, resend.exceptions.ResendError)
    assert (error.code, error.headers) == (500, {})
    assert row_of(error) == rows.UNSENT
    assert classify(error, now=NOW).http_status is None


def test_an_error_500_of_resend_that_came_over_the_wire():
    with Server(http_answer(500, {"name": "application_error", "message": "oops"})) as server:
        error = caught(call_resend, server.url)

    assert (error.code, bool(error.headers)) == (500, True)
    assert row_of(error) == rows.UPSTREAM


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("rate_limit_exceeded", rows.RATE_LIMITED),
        ("daily_quota_exceeded", rows.AUTH),
        ("monthly_quota_exceeded", rows.AUTH),
    ],
)
def test_a_429_of_resend_is_a_limit_or_a_spent_quota(name, row):
    with Server(http_answer(429, {"name": name, "message": "no"})) as server:
        error = caught(call_resend, server.url)

    assert isinstance(error, resend.exceptions.RateLimitError)
    assert row_of(error) == row


def test_resend_without_an_answer_at_all():
    assert row_of(resend.exceptions.NoContentError()) == rows.ANSWER_INVALID


def test_the_headers_of_an_infisical_error_are_found_where_it_came_from():
    with Server(http_answer(429, {"message": "slow"}, headers={"retry-after": "9"})) as server:
        error = caught(call_infisical, server.url)

    assert isinstance(error, APIError)
    assert error.response == {"message": "slow"}
    assert classify(error, now=NOW).retry_after_us == 9_000_000


def gmail_error(status, reason):
    errors = [{"domain": "usageLimits", "reason": reason, "message": "no"}]
    return http_answer(status, {"error": {"code": status, "message": "no", "errors": errors}})


@pytest.mark.parametrize(
    ("status", "reason", "row"),
    [
        (403, "rateLimitExceeded", rows.RATE_LIMITED),
        (403, "userRateLimitExceeded", rows.RATE_LIMITED),
        (403, "dailyLimitExceeded", rows.AUTH),
        (403, "insufficientPermissions", rows.AUTH),
        (403, "domainPolicy", rows.AUTH),
        (429, "rateLimitExceeded", rows.RATE_LIMITED),
        (429, "quotaExceeded", rows.AUTH),
        (400, "failedPrecondition", rows.INVALID),
        (500, "backendError", rows.UPSTREAM),
    ],
)
def test_gmail_says_in_the_reason_what_its_status_means(status, reason, row):
    with Server(gmail_error(status, reason)) as server:
        error = caught(call_gmail, server.url)

    assert isinstance(error, googleapiclient.errors.HttpError)
    assert row_of(error) == row


def test_an_api_that_google_does_not_have():
    error = caught(googleapiclient.discovery.build, "gmail", "v99", static_discovery=True)

    assert isinstance(error, googleapiclient.errors.UnknownApiNameOrVersion)
    assert row_of(error) == rows.MISCONFIGURED


def test_redirects_of_google_without_end():
    with Server(http_answer(302, headers={"location": "/"})) as server:
        error = caught(httplib2.Http(timeout=5).request, server.url)

    assert isinstance(error, httplib2.RedirectLimit)
    assert row_of(error) == rows.MISCONFIGURED


def refresh_token(url):
    credentials = Credentials(
        token=None,
        refresh_token="r",
        token_uri=url,
        client_id="c",
        client_secret="s",
    )
    with requests.Session() as session:
        credentials.refresh(google.auth.transport.requests.Request(session))


def test_a_token_that_google_refuses():
    body = {"error": "invalid_grant", "error_description": "revoked"}
    with Server(http_answer(400, body)) as server:
        error = caught(refresh_token, server.url)

    assert isinstance(error, google.auth.exceptions.RefreshError)
    assert row_of(error) == rows.AUTH


def test_a_token_that_google_does_not_give_just_now():
    with Server(http_answer(503, {"error": "temporarily_unavailable"})) as server:
        error = caught(refresh_token, server.url)

    assert isinstance(error, google.auth.exceptions.RefreshError)
    assert error.retryable is True
    assert row_of(error) == rows.UNSENT


def test_a_token_that_cannot_be_asked_for():
    error = caught(refresh_token, f"http://{LOOPBACK}:{unused_port()}")

    assert isinstance(error, google.auth.exceptions.TransportError)
    assert row_of(error) == rows.NETWORK


def test_a_call_with_a_token_that_does_not_end_in_time():
    async def call(url):
        session = AsyncAuthorizedSession(AnonymousCredentials())
        try:
            await session.get(url, timeout=SHORT_S)
        finally:
            await session.close()

    with Server(hangs) as server:
        error = caught(asyncio.run, call(server.url))

    assert isinstance(error, google.auth.exceptions.TimeoutError)
    assert row_of(error) == rows.TIMEOUT


def test_no_credentials_for_google(monkeypatch, tmp_path):
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "missing.json"))

    error = caught(google.auth.default)

    assert isinstance(error, google.auth.exceptions.DefaultCredentialsError)
    assert row_of(error) == rows.AUTH


@pytest.mark.parametrize(
    ("status", "kind", "row"),
    [
        (429, api_core.TooManyRequests, rows.RATE_LIMITED),
        (504, api_core.GatewayTimeout, rows.UPSTREAM),
        (503, api_core.ServiceUnavailable, rows.UPSTREAM),
        (404, api_core.NotFound, rows.NOT_FOUND),
        (403, api_core.Forbidden, rows.AUTH),
        (400, api_core.BadRequest, rows.INVALID),
        (409, api_core.Conflict, rows.CONFLICT),
        (502, api_core.BadGateway, rows.UPSTREAM),
    ],
)
def test_an_error_of_googles_cloud_libraries_over_http(status, kind, row):
    with Server(http_answer(status, {"error": {"message": "no"}})) as server:
        error = api_core.from_http_response(requests.get(server.url, timeout=5))

    assert isinstance(error, kind)
    assert row_of(error) == row
