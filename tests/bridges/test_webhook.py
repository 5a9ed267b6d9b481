"""Webhooks: what a receiver gets, how it checks it, and where none is sent."""

import json
import socket
from collections.abc import Iterator

import pytest

from holdfast.bridges.hosts import is_loopback, is_public
from holdfast.bridges.signature import SigningKeys, verified
from holdfast.bridges.webhook import Webhook
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.errors import InvalidValue
from tests.bridges import wire
from tests.bridges.fake_receiver import (
    NEXT_SECRET,
    SECRET,
    ReceiverLedger,
    fake_receiver,
    signature,
)
from tests.bridges.wire import FakeApi
from tests.classify import rows
from tests.classify.rows import caught, row_of

NOW_S = 1_900_000_000
TIMEOUT_S = 2


def now() -> Instant:
    return Instant(NOW_S * SECOND_US + 999_999)


@pytest.fixture
def fake() -> Iterator[tuple[FakeApi, ReceiverLedger]]:
    api, ledger = fake_receiver()
    with api:
        yield api, ledger


def message(api: FakeApi, **changes):
    return {"url": f"{api.url}/hooks?a=b", "type": "review.ready", "data": {"id": 17}} | changes


def test_nothing_is_promised_unless_the_receiver_says_so():
    assert Webhook(SECRET).promise.dedupes_for is None
    assert Webhook(SECRET).promise.lookup_lag is None
    assert Webhook(SECRET, receiver_dedupes_for=3_600).promise.dedupes_for == 3_600


def test_a_webhook_is_signed_so_that_anybody_elses_receiver_takes_it(fake):
    api, ledger = fake

    evidence = Webhook(SECRET, now=now).send(
        message(api, timestamp="2031-01-01T00:00:00Z"), token="t-1", timeout_s=TIMEOUT_S
    )

    request = api.requests[0]
    assert evidence.notification_id == "t-1"
    assert request.target == "/hooks?a=b"
    assert request.headers["webhook-timestamp"] == str(NOW_S)
    assert request.body == (
        b'{"type":"review.ready","timestamp":"2031-01-01T00:00:00Z","data":{"id":17}}'
    )
    assert ledger.handled == [
        {"type": "review.ready", "timestamp": "2031-01-01T00:00:00Z", "data": {"id": 17}}
    ]


def test_every_try_carries_the_same_id_and_the_same_body(fake):
    api, ledger = fake
    provider = Webhook(SECRET)
    api.fault, api.accepts_first = wire.resets, True
    caught(provider.send, message(api), token="t-1", timeout_s=TIMEOUT_S)
    api.fault = None
    provider.send(message(api), token="t-1", timeout_s=TIMEOUT_S)

    assert ledger.ids == ["t-1", "t-1"]
    assert api.requests[0].body == api.requests[1].body


@pytest.mark.parametrize("known", [SECRET, NEXT_SECRET])
def test_while_a_secret_is_changed_receivers_of_either_are_served(fake, known):
    api, ledger = fake
    ledger.secret = known

    Webhook([NEXT_SECRET, SECRET]).send(message(api), token="t-1", timeout_s=TIMEOUT_S)

    assert ledger.ids == ["t-1"]
    assert len(api.requests[0].headers["webhook-signature"].split(" ")) == 2


def test_secrets_from_a_function_are_those_of_this_moment(fake):
    api, ledger = fake
    secrets = [SECRET]
    provider = Webhook(lambda: secrets[-1])
    provider.send(message(api), token="t-1", timeout_s=TIMEOUT_S)
    secrets.append(NEXT_SECRET)

    refused = caught(provider.send, message(api), token="t-2", timeout_s=TIMEOUT_S)
    ledger.secret = NEXT_SECRET
    provider.send(message(api), token="t-2", timeout_s=TIMEOUT_S)

    assert row_of(refused) == rows.AUTH
    assert ledger.ids == ["t-1", "t-2"]


@pytest.mark.parametrize(
    "secrets",
    [
        "",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_",
        "whsec_short",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa*w",
        "whsec_" + "A" * 400,
        [],
        [SECRET, ""],
        [7],
    ],
    ids=str,
)
def test_secrets_that_protect_nothing_are_refused_and_not_shown(secrets):
    with pytest.raises(InvalidValue) as refused:
        Webhook(secrets)

    assert refused.value.field == "secret"
    assert "MfKQ" not in str(refused.value)
    assert SECRET not in repr(SigningKeys(SECRET))


def received(body=b'{"type":"a","data":1}', *, secret=SECRET, at_s=NOW_S, message_id="t-1"):
    headers = {
        "Webhook-Id": message_id,
        "Webhook-Timestamp": str(at_s),
        "Webhook-Signature": signature(secret, message_id, str(at_s), body),
    }
    return headers, body


def test_a_receiver_reads_what_was_signed_with_one_of_its_secrets():
    headers, body = received()
    found = verified(headers, body, secrets=[NEXT_SECRET, SECRET], now=now)
    two = headers | {"Webhook-Signature": f"v1a,abc v1,xyz {headers['Webhook-Signature']}"}

    assert (found.id, found.timestamp_s) == ("t-1", NOW_S)
    assert found.document == {"type": "a", "data": 1}
    assert verified(two, body, secrets=SECRET, now=now) == found


def test_what_we_send_is_what_we_verify(fake):
    api, _ = fake
    Webhook([NEXT_SECRET, SECRET], now=now).send(message(api), token="t-1", timeout_s=TIMEOUT_S)
    request = api.requests[0]

    found = verified(request.headers, request.body, secrets=SECRET, now=now)

    assert found.document == json.loads(request.body)


TAMPERED = {
    "no id": ({"Webhook-Id": ""}, "webhook-id"),
    "another id": ({"Webhook-Id": "t-2"}, "webhook-signature"),
    "an id with a dot": ({"Webhook-Id": "t.1"}, "webhook-id"),
    "no time": ({"Webhook-Timestamp": ""}, "webhook-timestamp"),
    "a strange time": ({"Webhook-Timestamp": "1e9"}, "webhook-timestamp"),
    "a negative time": ({"Webhook-Timestamp": "-5"}, "webhook-timestamp"),
    "another time": ({"Webhook-Timestamp": str(NOW_S + 1)}, "webhook-signature"),
    "no signature": ({"Webhook-Signature": ""}, "webhook-signature"),
    "no version": (
        {"Webhook-Signature": received()[0]["Webhook-Signature"][3:]},
        "webhook-signature",
    ),
    "half a signature": (
        {"Webhook-Signature": received()[0]["Webhook-Signature"][:-4]},
        "webhook-signature",
    ),
    "odd letters": ({"Webhook-Signature": "v1,ä€"}, "webhook-signature"),
}


@pytest.mark.parametrize("change", TAMPERED)
def test_what_was_tampered_with_is_refused_by_the_header_that_is_wrong(change):
    changes, field = TAMPERED[change]
    headers, body = received()

    with pytest.raises(InvalidValue) as refused:
        verified(headers | changes, body, secrets=SECRET, now=now)

    assert refused.value.field == field


def test_another_body_or_a_strangers_signature_is_refused():
    headers, body = received()
    strangers, _ = received(secret=NEXT_SECRET)

    with pytest.raises(InvalidValue, match="webhook-signature"):
        verified(headers, body + b" ", secrets=SECRET, now=now)
    with pytest.raises(InvalidValue, match="webhook-signature"):
        verified(strangers, body, secrets=SECRET, now=now)
    with pytest.raises(InvalidValue, match="JSON"):
        verified(*received(b"hello"), secrets=SECRET, now=now)


@pytest.mark.parametrize(
    ("off_s", "taken"), [(0, True), (-299, True), (300, True), (-302, False), (302, False)]
)
def test_an_old_webhook_cannot_be_played_again(off_s, taken):
    headers, body = received(at_s=NOW_S + off_s)

    if taken:
        assert verified(headers, body, secrets=SECRET, now=now).timestamp_s == NOW_S + off_s
    else:
        with pytest.raises(InvalidValue, match="webhook-timestamp"):
            verified(headers, body, secrets=SECRET, now=now)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/hooks",
        "http://10.0.0.7/hooks",
        "http://127.0.0.1.example.org/hooks",
        "ftp://example.org/hooks",
        "file:///etc/passwd",
        "https://",
        "https://user:secret@example.org/",
        "https://example.org:99999/",
        "https://exa mple.org/",
        "https://bücher.example/",
        "https://example.org/\r\nHost: x",
        "example.org",
        "https://[::1",
        "",
        None,
        "https://example.org/" + "a" * 2_048,
    ],
)
def test_a_url_that_is_no_webhooks_is_refused(url):
    with pytest.raises(InvalidValue) as refused:
        Webhook(SECRET).check({"url": url, "type": "a", "data": 1})

    assert refused.value.field == "url"
    assert "secret@" not in str(refused.value)


def test_http_goes_elsewhere_only_when_that_is_allowed():
    Webhook(SECRET, allow_http=True).check({"url": "http://example.org/", "type": "a"})
    Webhook(SECRET).check({"url": "http://localhost:8000/", "type": "a"})
    Webhook(SECRET).check({"url": "http://[::1]:8000/", "type": "a"})


@pytest.mark.parametrize(
    "changes",
    [
        {"type": ""},
        {"type": "a\nb"},
        {"data": {1, 2}},
        {"data": float("nan")},
        {"extra": 1},
        {"timestamp": 7},
    ],
    ids=str,
)
def test_a_message_that_is_none_is_refused_by_its_field(changes):
    with pytest.raises(InvalidValue) as refused:
        Webhook(SECRET).check({"url": "https://example.org/", "type": "a", "data": 1} | changes)

    assert refused.value.field in changes


def test_a_token_with_a_dot_would_blur_what_is_signed(fake):
    api, _ = fake

    with pytest.raises(InvalidValue, match="token"):
        Webhook(SECRET).send(message(api), token="a.b", timeout_s=TIMEOUT_S)


def test_with_public_only_nothing_reaches_this_machine_whatever_its_name(fake):
    api, ledger = fake
    provider = Webhook(SECRET, public_only=True, allow_http=True)
    port = api.url.rpartition(":")[2]

    for host in ("127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"):
        error = caught(
            provider.send,
            message(api, url=f"http://{host}:{port}/"),
            token="t",
            timeout_s=TIMEOUT_S,
        )
        assert row_of(error) == rows.INVALID
        assert "127" not in str(error)
    assert (ledger.ids, api.connections) == ([], 0)


def test_with_public_only_every_address_of_a_name_has_to_be_public(fake, monkeypatch):
    api, ledger = fake
    port = int(api.url.rpartition(":")[2])
    both = [("127.0.0.1", port), ("93.184.216.34", port)]

    def resolve(host, port, *, type, flags):  # noqa: A002 - as it is called
        if flags:
            raise socket.gaierror(socket.EAI_NONAME, "a name")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in both]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    error = caught(
        Webhook(SECRET, public_only=True, allow_http=True).send,
        message(api, url=f"http://hooks.example.org:{port}/"),
        token="t",
        timeout_s=TIMEOUT_S,
    )

    assert row_of(error) == rows.INVALID
    assert (ledger.ids, api.connections) == ([], 0)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("10.0.0.1", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("127.0.0.1", False),
        ("0.0.0.0", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::1", False),
    ],
)
def test_which_addresses_are_public(address, public):
    assert is_public(address) is public


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("::ffff:127.0.0.1", True),
        ("localhost.example.org", False),
        ("0.0.0.0", False),
        ("example.org", False),
        ("", False),
    ],
)
def test_which_hosts_are_this_machine(host, here):
    assert is_loopback(host) is here
