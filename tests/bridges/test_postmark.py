"""Postmark: what is sent to it, what its error codes mean, and how a message is found again."""

from collections.abc import Iterator

import pytest

from holdfast.bridges.postmark import Postmark
from holdfast.classify import classify
from holdfast.errors import InvalidValue
from tests.bridges import wire
from tests.bridges.fake_postmark import INACTIVE, KEY, PostmarkLedger, error, fake_postmark
from tests.bridges.wire import MAIL, FakeApi
from tests.classify import rows
from tests.classify.rows import NOW, caught, retried, row_of

TIMEOUT_S = 2


@pytest.fixture
def fake() -> Iterator[tuple[FakeApi, PostmarkLedger]]:
    api, ledger = fake_postmark()
    with api:
        yield api, ledger


def test_the_promise_is_a_lookup_that_lags_and_nothing_else():
    promise = Postmark(KEY, lookup_lag=60).promise

    assert (promise.dedupes_for, promise.lookup_lag) == (None, 60)
    assert not promise.lookup_needs_id
    assert Postmark(KEY).promise.lookup_lag == 300
    assert Postmark(KEY).promise.lookup_for == 45 * 86_400


def test_an_email_is_sent_as_postmark_wants_it(fake):
    api, ledger = fake

    evidence = Postmark(KEY, base_url=api.url, stream="reviews").send(
        MAIL, token="t-1", timeout_s=TIMEOUT_S
    )

    assert ledger.sent == {
        evidence.notification_id: {
            "From": "Reviews <reviews@example.org>",
            "To": "Ada <ada@example.org>",
            "Subject": "Your review is ready",
            "TextBody": "It is ready.",
            "HtmlBody": "<p>It is ready.</p>",
            "ReplyTo": "team@example.org",
            "Headers": [{"Name": "X-Review", "Value": "17"}],
            "Metadata": {"review": "17", "holdfast-token": "t-1"},
            "MessageStream": "reviews",
        }
    }
    assert api.requests[0].headers["x-postmark-server-token"] == KEY


def test_a_message_whose_answer_was_lost_is_found_by_its_token(fake):
    api, ledger = fake
    provider = Postmark(KEY, base_url=api.url, stream="reviews")
    provider.send(MAIL, token="t-0", timeout_s=TIMEOUT_S)
    api.fault, api.accepts_first = wire.closes, True
    lost = caught(provider.send, MAIL, token="t-1", timeout_s=TIMEOUT_S)
    api.fault = None

    found = provider.lookup(token="t-1", notification_id=None, timeout_s=TIMEOUT_S)

    assert row_of(lost) == rows.NETWORK
    assert found is not None
    assert ledger.sent[found.notification_id]["Metadata"]["holdfast-token"] == "t-1"


def test_a_long_token_is_found_as_well(fake):
    api, _ = fake
    provider = Postmark(KEY, base_url=api.url)
    sent = provider.send(MAIL, token="t" * 200, timeout_s=TIMEOUT_S)

    assert provider.lookup(token="t" * 200, notification_id=None, timeout_s=TIMEOUT_S) == sent
    assert provider.lookup(token="t" * 199, notification_id=None, timeout_s=TIMEOUT_S) is None


def test_a_search_that_lags_finds_nothing_yet(fake):
    api, ledger = fake
    provider = Postmark(KEY, base_url=api.url)
    sent = provider.send(MAIL, token="t-1", timeout_s=TIMEOUT_S)
    ledger.hidden = 1

    early = provider.lookup(token="t-1", notification_id=None, timeout_s=TIMEOUT_S)
    ledger.hidden = 0
    late = provider.lookup(token="t-1", notification_id=None, timeout_s=TIMEOUT_S)

    assert (early, late) == (None, sent)


def test_only_the_message_that_carries_the_token_is_evidence(fake):
    api, ledger = fake
    provider = Postmark(KEY, base_url=api.url)
    provider.send(MAIL, token="t-1", timeout_s=TIMEOUT_S)
    ledger.generous = True

    assert provider.lookup(token="t-2", notification_id=None, timeout_s=TIMEOUT_S) is None


def test_a_message_is_found_by_its_id_where_that_is_known(fake):
    api, _ = fake
    provider = Postmark(KEY, base_url=api.url)
    sent = provider.send(MAIL, token="t-1", timeout_s=TIMEOUT_S)

    found = provider.lookup(token="", notification_id=sent.notification_id, timeout_s=TIMEOUT_S)
    missing = provider.lookup(token="t-1", notification_id="../x", timeout_s=TIMEOUT_S)

    assert found == sent
    assert missing is None
    assert api.requests[-1].target == "/messages/outbound/..%2Fx/details"


LOST_LOOKUPS = {
    "no list": wire.replies(200, {"TotalCount": 0}),
    "an error": wire.replies(200, error(10)),
    "proxy": wire.says(404, b"<html>nothing here</html>"),
    "no JSON": wire.says(200, b"ok"),
    "unwell": wire.says(503, b""),
    "truncated": wire.truncates,
}


@pytest.mark.parametrize("notification_id", [None, "an-id"])
@pytest.mark.parametrize("fault", LOST_LOOKUPS)
def test_a_lookup_that_was_not_answered_is_not_taken_for_not_found(fake, fault, notification_id):
    api, _ = fake
    api.fault = LOST_LOOKUPS[fault]
    provider = Postmark(KEY, base_url=api.url)

    caught(provider.lookup, token="t", notification_id=notification_id, timeout_s=TIMEOUT_S)

    assert len(api.requests) == 1


CODES = {
    10: rows.AUTH,
    100: retried("UPSTREAM_5XX", known=True, blames=True),
    300: rows.INVALID,
    400: rows.AUTH,
    401: rows.AUTH,
    402: rows.INVALID,
    405: rows.QUOTA,
    406: rows.NOT_FOUND,
    412: rows.AUTH,
    413: rows.AUTH,
    429: rows.RATE_LIMITED,
    1_235: rows.INVALID,
}


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("status", [200, 422])
def test_an_error_code_is_judged_whatever_the_status(fake, code, status):
    api, _ = fake
    api.fault = wire.replies(status, error(code, "why it is so"))

    raised = caught(Postmark(KEY, base_url=api.url).send, MAIL, token="t", timeout_s=TIMEOUT_S)

    failure = classify(raised, now=NOW)
    assert row_of(raised) == CODES[code]
    assert failure.http_status == status
    assert f"error {code}: why it is so" in failure.message


def test_an_inactive_recipient_is_refused_for_good_and_nobody_else(fake):
    api, ledger = fake
    provider = Postmark(KEY, base_url=api.url)

    refused = caught(provider.send, MAIL | {"to": INACTIVE}, token="t-1", timeout_s=TIMEOUT_S)
    other = provider.send(MAIL, token="t-2", timeout_s=TIMEOUT_S)

    assert row_of(refused) == rows.NOT_FOUND
    assert list(ledger.sent) == [other.notification_id]


def test_an_unknown_code_under_another_status_is_judged_by_the_status(fake):
    api, _ = fake
    api.fault = wire.replies(500, error(9_999))

    raised = caught(Postmark(KEY, base_url=api.url).send, MAIL, token="t", timeout_s=TIMEOUT_S)

    assert row_of(raised) == rows.UPSTREAM


@pytest.mark.parametrize(
    "metadata",
    [
        {"n" * 21: "v"},
        {"n": "v" * 81},
        {f"n{number}": "v" for number in range(10)},
        {"holdfast-token": "mine"},
        {"Holdfast-Token": "mine"},
        {"a": "1", "A": "2"},
    ],
    ids=["name", "value", "number", "ours", "ours in capitals", "twice"],
)
def test_metadata_beyond_what_postmark_keeps_are_refused(metadata):
    with pytest.raises(InvalidValue, match="metadata"):
        Postmark(KEY).check(MAIL | {"metadata": metadata})
