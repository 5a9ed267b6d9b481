"""Resend: what is sent to it, what its errors mean, and how an e-mail is found again."""

import time
from collections.abc import Iterator

import pytest

from holdfast.bridges.resend import Resend
from holdfast.classify import classify
from holdfast.errors import InvalidValue
from tests.bridges import wire
from tests.bridges.fake_resend import KEY, ResendLedger, error, fake_resend
from tests.bridges.wire import MAIL, FakeApi
from tests.classify import rows
from tests.classify.rows import NOW, caught, retried, row_of, stopped

TIMEOUT_S = 2


@pytest.fixture
def fake() -> Iterator[tuple[FakeApi, ResendLedger]]:
    api, ledger = fake_resend()
    with api:
        yield api, ledger


def test_the_promise_is_a_day_of_tokens_and_lookups_by_id():
    promise = Resend(KEY, lookup_for=7 * 86_400).promise

    assert promise.dedupes_for == 24 * 3600
    assert promise.lookup_lag is not None
    assert promise.lookup_for == 7 * 86_400
    assert Resend(KEY).promise.lookup_for == 86_400
    assert promise.lookup_needs_id


def test_an_email_is_sent_as_resend_wants_it(fake):
    api, ledger = fake

    evidence = Resend(KEY, base_url=api.url).send(MAIL, token="t-1", timeout_s=TIMEOUT_S)

    assert ledger.sent == {
        evidence.notification_id: {
            "from": "Reviews <reviews@example.org>",
            "to": ["Ada <ada@example.org>"],
            "subject": "Your review is ready",
            "text": "It is ready.",
            "html": "<p>It is ready.</p>",
            "reply_to": "team@example.org",
            "headers": {"X-Review": "17"},
            "tags": [{"name": "review", "value": "17"}],
        }
    }
    assert api.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert api.requests[0].headers["idempotency-key"] == "t-1"


def test_the_same_token_sends_once_and_gives_the_same_id(fake):
    api, ledger = fake
    provider = Resend(KEY, base_url=api.url)
    api.fault, api.accepts_first = wire.resets, True
    lost = caught(provider.send, MAIL, token="t-1", timeout_s=TIMEOUT_S)
    api.fault = None

    first = provider.send(MAIL, token="t-1", timeout_s=TIMEOUT_S)
    again = provider.send(dict(reversed(MAIL.items())), token="t-1", timeout_s=TIMEOUT_S)

    assert row_of(lost) == rows.NETWORK
    assert list(ledger.sent) == [first.notification_id] == [again.notification_id]
    assert len(api.requests) == 3


def test_the_order_of_headers_and_metadata_makes_no_other_email(fake):
    api, ledger = fake
    provider = Resend(KEY, base_url=api.url)
    headers, metadata = {"X-Review": "17", "X-Author": "ada"}, {"review": "17", "author": "ada"}
    mail = {**MAIL, "headers": headers, "metadata": metadata}
    turned = {name: dict(reversed(mail[name].items())) for name in ("headers", "metadata")}

    first = provider.send(mail, token="t-1", timeout_s=TIMEOUT_S)
    again = provider.send({**mail, **turned}, token="t-1", timeout_s=TIMEOUT_S)

    assert list(ledger.sent) == [first.notification_id] == [again.notification_id]
    assert len({request.body for request in api.requests}) == 1


def test_a_token_of_another_body_is_never_taken_for_a_plain_refusal(fake):
    api, _ = fake
    provider = Resend(KEY, base_url=api.url)
    provider.send(MAIL, token="t-1", timeout_s=TIMEOUT_S)

    other = caught(provider.send, MAIL | {"text": "Another."}, token="t-1", timeout_s=TIMEOUT_S)

    assert row_of(other) == stopped("CONFLICT", known=False)


NAMED = {
    (409, "concurrent_idempotent_requests"): retried("CONFLICT", known=False, blames=False),
    (429, "rate_limit_exceeded"): rows.RATE_LIMITED,
    (429, "daily_quota_exceeded"): rows.QUOTA,
    (429, "monthly_quota_exceeded"): rows.QUOTA,
    (401, "restricted_api_key"): rows.AUTH,
    (403, "validation_error"): rows.AUTH,
    (400, "validation_error"): rows.INVALID,
    (422, "invalid_from_address"): rows.INVALID,
    (422, "some_new_name"): rows.INVALID,
    (451, "security_error"): rows.POLICY,
    (500, "application_error"): rows.UPSTREAM,
}


@pytest.mark.parametrize(("status", "name"), NAMED)
@pytest.mark.parametrize("as_success", [False, True])
def test_an_error_is_judged_by_its_name_also_under_a_status_of_success(
    fake, status, name, as_success
):
    api, _ = fake
    api.fault = wire.replies(200 if as_success else status, error(status, name, "why it is so"))

    raised = caught(Resend(KEY, base_url=api.url).send, MAIL, token="t", timeout_s=TIMEOUT_S)

    assert row_of(raised) == NAMED[status, name]
    assert f"{name}: why it is so" in classify(raised, now=NOW).message


def test_an_email_is_found_by_its_id(fake):
    api, _ = fake
    provider = Resend(KEY, base_url=api.url)
    sent = provider.send(MAIL, token="t-1", timeout_s=TIMEOUT_S)

    found = provider.lookup(token="t-1", notification_id=sent.notification_id, timeout_s=TIMEOUT_S)
    missing = provider.lookup(token="t-2", notification_id="a/b?c", timeout_s=TIMEOUT_S)

    assert found == sent
    assert missing is None
    assert api.requests[-1].target == "/emails/a%2Fb%3Fc"


def test_without_an_id_nothing_is_said_about_an_email(fake):
    api, _ = fake

    error = caught(
        Resend(KEY, base_url=api.url).lookup, token="t", notification_id=None, timeout_s=TIMEOUT_S
    )

    assert row_of(error) == stopped("INVALID", known=False)
    assert api.requests == []


LOST_LOOKUPS = {
    "endpoint": wire.replies(404, error(404, "not_found", "The requested endpoint does not exist")),
    "proxy": wire.says(404, b"<html>nothing here</html>"),
    "another email": wire.replies(200, {"id": "another"}),
    "no JSON": wire.says(200, b"ok"),
    "unwell": wire.says(500, b""),
    "forbidden": wire.replies(401, error(401, "restricted_api_key")),
    "reset": wire.resets,
}


@pytest.mark.parametrize("fault", LOST_LOOKUPS)
def test_a_lookup_that_was_not_answered_is_not_taken_for_not_found(fake, fault):
    api, _ = fake
    api.fault = LOST_LOOKUPS[fault]

    caught(
        Resend(KEY, base_url=api.url).lookup, token="t", notification_id="i", timeout_s=TIMEOUT_S
    )

    assert len(api.requests) == 1


def test_a_key_that_is_rotated_is_used_from_the_next_call_on(fake):
    api, ledger = fake
    keys = [KEY]
    provider = Resend(lambda: keys[-1], base_url=api.url)
    provider.send(MAIL, token="t-1", timeout_s=TIMEOUT_S)
    ledger.keys = {"re_next_Qm4Zr8Tn2Lx"}

    old = caught(provider.send, MAIL, token="t-2", timeout_s=TIMEOUT_S)
    keys.append("re_next_Qm4Zr8Tn2Lx")
    new = provider.send(MAIL, token="t-2", timeout_s=TIMEOUT_S)

    assert row_of(old) == rows.AUTH
    assert new.notification_id in ledger.sent


def test_a_key_that_cannot_be_read_sends_nothing_and_blames_nobody(fake):
    api, _ = fake

    def unreachable() -> str:
        raise TimeoutError("vault at https://vault.example.org took too long")

    error = caught(Resend(unreachable, base_url=api.url).send, MAIL, token="t", timeout_s=TIMEOUT_S)

    assert row_of(error) == retried("NETWORK_TIMEOUT", known=True, blames=False)
    assert api.requests == []


def test_the_time_that_a_key_takes_is_part_of_the_calls(fake):
    api, _ = fake

    def slow() -> str:
        time.sleep(0.2)
        return KEY

    error = caught(Resend(slow, base_url=api.url).send, MAIL, token="t", timeout_s=0.1)

    assert row_of(error) == rows.TIMEOUT_UNSENT
    assert api.requests == []


@pytest.mark.parametrize("key", ["", "re_a b", "re_a\r\nX: y", "re_é", 7, None])
def test_a_key_that_cannot_be_one_is_refused_and_not_shown(key):
    given = caught(Resend, key)
    asked = caught(Resend(lambda: key).send, MAIL, token="t", timeout_s=TIMEOUT_S)

    for raised in (given, asked):
        assert isinstance(raised, InvalidValue)
        assert raised.field == "key"
        assert "re_a" not in str(raised)


@pytest.mark.parametrize("metadata", [{"a b": "c"}, {"a": "b c"}, {"a": ""}, {"a": "ä"}])
def test_metadata_that_cannot_be_tags_are_refused(metadata):
    provider = Resend(KEY)

    with pytest.raises(InvalidValue, match=r"metadata\.a"):
        provider.check(MAIL | {"metadata": metadata})


@pytest.mark.parametrize("token", ["", "a b", "a\nb", "t" * 257, None, "ä"])
def test_a_token_that_no_header_can_hold_is_refused(token):
    with pytest.raises(InvalidValue, match="token"):
        Resend(KEY).send(MAIL, token=token, timeout_s=TIMEOUT_S)
