"""What every provider over HTTP promises, whatever its API does: one request, one verdict.

Judged by what the fake providers saw, and by the failure that the exception is classified as.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from holdfast.bridges.calls.http import Answer, judged
from holdfast.bridges.postmark import Postmark
from holdfast.bridges.resend import Resend
from holdfast.bridges.webhook import Webhook
from holdfast.classify import ProviderError, Verdict, classify
from holdfast.core.values.failure import Failure
from holdfast.runtime.deliveries.provider import Evidence, Provider
from holdfast.secrecy import redacted
from tests.bridges import fake_postmark, fake_receiver, fake_resend, wire
from tests.bridges.wire import MAIL, FakeApi
from tests.classify import rows
from tests.classify.rows import NOW, Row, caught, row_of_failure
from tests.classify.servers import Server, deaf_port, untrusted_tls, unused_port

TOKEN = "d1f0c2-17"
TIMEOUT_S = 2.0
"""Long enough to connect in on a busy machine: what was never sent has a known outcome."""
ENDLESS_S = 10.0
"""By when a call has ended that has an end: what drips goes on for half a minute."""

UNREADABLE = rows.retried("INVALID", known=False, blames=True, attempts=2)
ACCEPTED = "accepted"


@dataclass
class Subject:
    """A provider, what it talks to, and what only it must know."""

    provider: Provider
    api: FakeApi
    message: dict[str, Any]
    secret: str
    at: Callable[[str], tuple[Provider, dict[str, Any]]]
    """The same provider, and its message, for an API at another URL."""
    error_in_success: tuple[object, Row | str]
    status_decides: bool = False
    """Whether a status of success is all that is needed."""

    def send(self, timeout_s: float = TIMEOUT_S) -> Evidence:
        return self.provider.send(self.message, token=TOKEN, timeout_s=timeout_s)

    def failure(self, fault: wire.Fault) -> Failure:
        self.api.fault = fault
        return classify(caught(self.send), now=NOW)


def resend(api: FakeApi) -> Subject:
    return Subject(
        provider=Resend(fake_resend.KEY, base_url=api.url),
        api=api,
        message=MAIL,
        secret=fake_resend.KEY,
        at=lambda url: (Resend(fake_resend.KEY, base_url=url), MAIL),
        error_in_success=(fake_resend.error(422, "missing_required_field"), rows.INVALID),
    )


def postmark(api: FakeApi) -> Subject:
    return Subject(
        provider=Postmark(fake_postmark.KEY, base_url=api.url),
        api=api,
        message=MAIL,
        secret=fake_postmark.KEY,
        at=lambda url: (Postmark(fake_postmark.KEY, base_url=url), MAIL),
        error_in_success=(fake_postmark.error(406), rows.NOT_FOUND),
    )


def webhook(api: FakeApi) -> Subject:
    provider = Webhook(fake_receiver.SECRET)

    def message(url: str) -> dict[str, Any]:
        return {"url": f"{url}/hooks", "type": "review.ready", "data": {"id": 17}}

    return Subject(
        provider=provider,
        api=api,
        message=message(api.url),
        secret=fake_receiver.SECRET.removeprefix("whsec_"),
        at=lambda url: (provider, message(url)),
        error_in_success=({"error": "no"}, ACCEPTED),
        status_decides=True,
    )


SUBJECTS = {
    "resend": (fake_resend.fake_resend, resend),
    "postmark": (fake_postmark.fake_postmark, postmark),
    "webhook": (fake_receiver.fake_receiver, webhook),
}


@pytest.fixture(params=SUBJECTS)
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    fake, make = SUBJECTS[request.param]
    api, _ = fake()
    with api:
        yield make(api)


def test_a_message_that_is_accepted_is_one_request_and_has_an_id(subject: Subject):
    evidence = subject.send()

    assert evidence.notification_id
    assert len(subject.api.requests) == subject.api.connections == 1


STATUSES = {
    400: rows.INVALID,
    401: rows.AUTH,
    402: rows.AUTH,
    403: rows.AUTH,
    404: rows.NOT_FOUND,
    408: rows.TIMEOUT_UNSENT,
    410: rows.NOT_FOUND,
    413: rows.INVALID,
    422: rows.INVALID,
    429: rows.RATE_LIMITED,
    451: rows.POLICY,
    500: rows.UPSTREAM,
    502: rows.UPSTREAM,
    503: rows.UPSTREAM,
    302: rows.INVALID,
    304: rows.INVALID,
}


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("body", [b"", b"<html>no</html>", b"{}", b"[1]"], ids=repr)
def test_a_status_is_judged_alike_whatever_stands_in_the_body(
    subject: Subject, status: int, body: bytes
):
    failure = subject.failure(wire.says(status, body))

    assert row_of_failure(failure) == STATUSES[status]
    assert failure.http_status == status
    assert len(subject.api.requests) == 1


@pytest.mark.parametrize("status", [429, 503])
def test_the_wait_that_is_asked_for_is_kept(subject: Subject, status: int):
    failure = subject.failure(wire.replies(status, retry_after="7"))

    assert failure.retryable
    assert failure.retry_after_us == 7_000_000


BROKEN = {
    "reset": (wire.resets, rows.NETWORK),
    "closed without a word": (wire.closes, rows.NETWORK),
    "silence": (wire.hangs, rows.TIMEOUT),
    "a head of one byte at a time": (wire.drips_head, rows.TIMEOUT),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_an_answer_that_never_comes_leaves_the_outcome_unknown(subject: Subject, fault: str):
    break_it, expected = BROKEN[fault]
    began_s = time.monotonic()

    failure = subject.failure(break_it)

    assert row_of_failure(failure) == expected
    assert not failure.outcome_known
    assert failure.http_status is None
    assert len(subject.api.requests) == subject.api.connections == 1
    assert time.monotonic() - began_s < ENDLESS_S


HALF_ANSWERS = {
    "a body of one byte at a time": (wire.drips_body, rows.TIMEOUT),
    "a body that breaks off": (wire.truncates, rows.NETWORK),
    "no JSON": (wire.says(200, b"<html>all is well</html>"), UNREADABLE),
    "half of it": (wire.says(200, b'{"id": "17'), UNREADABLE),
    "another kind of JSON": (wire.says(200, b"[1, 2]"), UNREADABLE),
    "JSON without an id": (wire.says(200, b"{}"), UNREADABLE),
    "ids that are none": (
        wire.says(200, b'{"id": 7, "MessageID": "", "ErrorCode": 0}'),
        UNREADABLE,
    ),
    "nesting without end": (wire.says(200, b'{"id":' * 20_000), UNREADABLE),
    "a body without end": (wire.never_ends, UNREADABLE),
    "nothing": (wire.says(200, b""), UNREADABLE),
}


@pytest.mark.parametrize("fault", HALF_ANSWERS)
def test_a_success_that_does_not_say_what_was_accepted_leaves_the_outcome_unknown(
    subject: Subject, fault: str
):
    break_it, expected = HALF_ANSWERS[fault]
    began_s = time.monotonic()

    if subject.status_decides:
        subject.api.fault = break_it
        assert subject.send().notification_id == TOKEN
    else:
        failure = subject.failure(break_it)
        assert row_of_failure(failure) == expected
        assert not failure.outcome_known

    assert len(subject.api.requests) == 1
    assert time.monotonic() - began_s < ENDLESS_S


def test_a_refusal_stays_one_when_its_body_breaks_off(subject: Subject):
    failure = subject.failure(wire.truncates_refusal)

    assert row_of_failure(failure) == rows.INVALID
    assert failure.http_status == 422


def test_an_error_inside_a_success_is_judged_by_what_it_says(subject: Subject):
    document, expected = subject.error_in_success
    fault = wire.replies(200, document)

    if expected == ACCEPTED:
        subject.api.fault = fault
        assert subject.send().notification_id == TOKEN
    else:
        failure = subject.failure(fault)
        assert row_of_failure(failure) == expected
        assert failure.http_status == 200


def test_no_redirect_is_followed(subject: Subject):
    with FakeApi(lambda _: wire.Reply(200)) as elsewhere:
        failure = subject.failure(wire.redirects(f"{elsewhere.url}/emails"))

        assert row_of_failure(failure) == rows.INVALID
        assert elsewhere.requests == []


def test_no_proxy_of_the_environment_sees_a_request(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{unused_port()}")
        monkeypatch.setenv(name.upper(), f"http://127.0.0.1:{unused_port()}")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)

    subject.send()

    assert subject.api.connections == 1


def test_what_was_never_sent_is_known_not_to_be_accepted(subject: Subject):
    provider, message = subject.at(f"http://127.0.0.1:{unused_port()}")
    refused = caught(provider.send, message, token=TOKEN, timeout_s=TIMEOUT_S)
    with deaf_port() as port:
        provider, message = subject.at(f"http://127.0.0.1:{port}")
        deaf = caught(provider.send, message, token=TOKEN, timeout_s=0.2)
    with Server(lambda _: None, tls=untrusted_tls()) as server:
        provider, message = subject.at(server.url)
        untrusted = caught(provider.send, message, token=TOKEN, timeout_s=TIMEOUT_S)
        connections = server.connections

    assert connections == 1
    assert rows.row_of(refused) == rows.UNSENT
    assert rows.row_of(deaf) == rows.TIMEOUT_UNSENT
    assert rows.row_of(untrusted) == rows.AUTH


def test_a_name_that_stands_for_nothing_is_known_not_to_be_called(subject: Subject):
    provider, message = subject.at(f"https://{'nowhere' * 8}.invalid")

    error = caught(provider.send, message, token=TOKEN, timeout_s=5)

    assert rows.row_of(error) in {rows.UNSENT, rows.TIMEOUT_UNSENT}


def test_a_handshake_that_hangs_ends_with_the_time_for_the_whole_call(subject: Subject):
    with Server(lambda connection: connection.hang()) as server:
        provider, message = subject.at(server.url.replace("http:", "https:"))
        began_s = time.monotonic()
        error = caught(provider.send, message, token=TOKEN, timeout_s=0.3)

    assert rows.row_of(error) == rows.TIMEOUT_UNSENT
    assert time.monotonic() - began_s < 1


def test_no_time_at_all_sends_nothing(subject: Subject):
    error = caught(subject.provider.send, subject.message, token=TOKEN, timeout_s=0)

    assert rows.row_of(error) == rows.TIMEOUT_UNSENT
    assert subject.api.requests == []


FAULTS = [
    wire.says(422, b"{}"),
    wire.says(500, b""),
    wire.resets,
    wire.closes,
    wire.truncates,
    wire.says(200, b"nonsense"),
]


@pytest.mark.parametrize("fault", FAULTS)
def test_the_key_is_seen_by_the_provider_alone(
    subject: Subject, fault: wire.Fault, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.NOTSET)
    subject.api.fault = fault
    error: BaseException | None = None
    try:
        subject.send()
    except Exception as raised:  # noqa: BLE001 - whatever it is, it must not tell
        error = raised

    sent = str(subject.api.requests[0].headers)
    assert subject.secret in sent or "v1," in sent
    told = [repr(subject.provider), str(vars(subject.provider)), caplog.text]
    while error is not None:
        told += [repr(error), str(error), "".join(traceback.format_exception(error))]
        told += [repr(vars(error)), str(getattr(error, "headers", ""))]
        request = getattr(error, "_request", None)
        told.append(str(dict(request.headers)) if request is not None else "")
        error = error.__cause__ or error.__context__
    assert [text for text in told if subject.secret in text or "v1," in text] == []
    assert subject.secret not in redacted(f"somebody printed {subject.secret} all the same")


def test_what_an_api_says_of_a_secret_is_not_repeated():
    said = "the key Authorization: Bearer k9Zx3QvT7bNw2RfLp8YcHs4JdGm6VtXa is not known"

    error = judged("mail", Answer(401, {}, b""), Verdict("AUTH", retryable=False), said)

    assert "k9Zx3QvT" not in str(error)
    assert "mail answered 401: the key" in str(error)


def test_what_breaks_on_the_way_is_the_clients_own_error(subject: Subject):
    subject.api.fault = wire.resets
    broken = caught(subject.send)
    subject.api.fault = wire.says(503, b"")
    answered = caught(subject.send)

    assert type(broken).__module__.startswith("httpx2")
    assert isinstance(answered, ProviderError)
    assert "503" in str(answered)
