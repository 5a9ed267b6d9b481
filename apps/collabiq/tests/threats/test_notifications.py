"""Pushes of Pub/Sub, real and forged."""

import base64
import functools
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import crypt, jwt

from collabiq.gmail.google_keys import GoogleKeys
from collabiq.gmail.push_tokens import PushTokens
from collabiq.inbox.notifications import (
    NotificationRefused,
    Notifications,
    NotificationUnverified,
    TooManyNotifications,
)
from collabiq.settings.config import Config
from collabiq.stand_ins.serving import Serving
from collabiq.stand_ins.wire import Answering
from holdfast.errors import InvalidSetting
from holdfast.systems import Answer, Call

KEY = "shared-secret-of-the-topic"
ACCOUNT = "pusher@project.iam.gserviceaccount.com"
AUDIENCE = "https://collabiq.example/api/gmail/notifications"


class Pushed:
    def __init__(
        self,
        secret: str | None = KEY,
        max_per_minute: int = 3,
        signed: PushTokens | None = None,
    ) -> None:
        self.polls = 0
        self.now_s = 0.0
        self.notifications = Notifications(
            secret=lambda: secret,
            on_push=self._poll,
            signed=signed,
            max_per_minute=max_per_minute,
            clock=lambda: self.now_s,
        )

    def _poll(self) -> None:
        self.polls += 1


@pytest.mark.parametrize(
    "given",
    [{"authorization": f"Bearer {KEY}"}, {"token": KEY}, {"authorization": f"bearer {KEY}"}],
)
def test_a_push_with_the_secret_makes_a_poll(given):
    pushed = Pushed()

    pushed.notifications.take(**given)

    assert pushed.polls == 1


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"token": ""},
        {"token": "shared-secret-of-the-topik"},
        {"authorization": KEY},
        {"authorization": f"Basic {KEY}"},
        {"authorization": "Bearer \ud800"},
        {"authorization": "Bearer eyJhbGciOiJub25lIn0.e30."},
    ],
)
def test_a_forged_push_makes_none(given):
    pushed = Pushed()

    with pytest.raises(NotificationRefused) as refused:
        pushed.notifications.take(**given)

    assert pushed.polls == 0
    assert refused.value.status == 401
    assert KEY not in refused.value.message


@pytest.mark.parametrize("secret", [None, ""])
def test_without_a_secret_nothing_is_taken(secret):
    with pytest.raises(NotificationRefused):
        Pushed(secret).notifications.take(token="", authorization="Bearer ")


def test_more_pushes_than_anybody_needs_are_refused_until_a_minute_has_passed():
    pushed = Pushed()
    for _ in range(3):
        pushed.notifications.take(token=KEY)

    with pytest.raises(TooManyNotifications):
        pushed.notifications.take(token=KEY)
    pushed.now_s = 60.0
    pushed.notifications.take(token=KEY)

    assert pushed.polls == 4


def test_forged_pushes_use_up_nothing_of_the_limit():
    pushed = Pushed(max_per_minute=1)
    for _ in range(5):
        with pytest.raises(NotificationRefused):
            pushed.notifications.take(token="wrong")

    pushed.notifications.take(token=KEY)

    assert pushed.polls == 1


class Google:
    """Keys of Google's and the address where their certificates are, made for the test."""

    def __init__(self) -> None:
        self.keys = {"first": new_key()}
        self.calls = 0
        self.status = 200
        self.body: bytes | None = None
        self.faults: dict[str, Answering] = {}

    def __call__(self, _call: Call) -> Answer:
        self.calls += 1
        found = {key_id: certificate_of(key) for key_id, key in self.keys.items()}
        body = json.dumps(found).encode() if self.body is None else self.body
        return Answer(self.status, body)

    def token(self, *, key_id: str = "first", key: Any = None, **changes: Any) -> str:
        now = int(time.time())
        claims = {
            "iss": "https://accounts.google.com",
            "aud": AUDIENCE,
            "email": ACCOUNT,
            "email_verified": True,
            "iat": now,
            "exp": now + 600,
        } | changes
        claims = {name: value for name, value in claims.items() if value is not None}
        signer = signer_of(key or self.keys[key_id], key_id)
        return jwt.encode(signer, claims).decode()


@functools.cache
def key_named(name: str) -> rsa.RSAPrivateKey:
    """Return the key of a name: to make one takes longer than most tests."""
    return new_key()


@functools.cache
def signer_of(key: rsa.RSAPrivateKey, key_id: str) -> crypt.RSASigner:
    """Return what signs with a key, which is checked at length when it is read."""
    return crypt.RSASigner.from_string(pem_of(key), key_id=key_id)


def new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65_537, key_size=2_048)


def pem_of(key: rsa.RSAPrivateKey) -> bytes:
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


@functools.cache
def certificate_of(key: rsa.RSAPrivateKey) -> str:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "google.example")])
    today = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()


@pytest.fixture(scope="module")
def certificates() -> Iterator[tuple[Google, str]]:
    google = Google()
    with Serving(google) as serving:
        yield google, serving.url


class Signed(Pushed):
    """Pushes that Google signs; `now_s` is the time of the keys as well."""

    def __init__(self, google: Google, url: str, *, secret: str | None = None) -> None:
        keys = GoogleKeys(f"{url}/certs", clock=lambda: self.now_s)
        super().__init__(secret, signed=PushTokens(ACCOUNT, AUDIENCE, keys))
        self.google, google.calls, google.status, google.body = google, 0, 200, None

    def push(self, token: str) -> None:
        self.notifications.take(authorization=f"Bearer {token}")


@pytest.fixture
def signed(certificates: tuple[Google, str]) -> Signed:
    return Signed(*certificates)


def test_a_push_that_google_has_signed_makes_a_poll_and_its_keys_are_fetched_once(signed: Signed):
    for _ in range(3):
        signed.push(signed.google.token())

    assert (signed.polls, signed.google.calls) == (3, 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "https://other.example/push"},
        {"aud": None},
        {"iss": "https://accounts.example"},
        {"email": "somebody@project.iam.gserviceaccount.com"},
        {"email": None},
        {"email_verified": False},
        {"email_verified": "true"},
        {"iat": 1_000_000_000, "exp": 1_000_000_600},
        {"iat": 4_000_000_000, "exp": 4_000_000_600},
        {"exp": None},
    ],
)
def test_a_token_for_others_of_others_or_of_another_time_makes_none(signed: Signed, changes):
    with pytest.raises(NotificationRefused):
        signed.push(signed.google.token(**changes))

    assert signed.polls == 0


def test_a_token_that_somebody_else_has_signed_makes_none(signed: Signed):
    forged = [
        signed.google.token(key=key_named("forger")),
        signed.google.token(key=key_named("forger"), key_id="unknown"),
        unsigned(signed.google.token(), alg="none"),
        unsigned(signed.google.token(), alg="HS256"),
        signed.google.token()[:-8] + "AAAAAAAA",
        "a.b.c",
        "." * 2,
        "x" * 5_000,
        f"{'x' * 3_000}.{'y' * 3_000}.z",
        "é.è.ê",
    ]
    for token in forged:
        with pytest.raises(NotificationRefused):
            signed.push(token)

    assert (signed.polls, signed.google.calls) == (0, 1), "keys that nobody has are not looked for"


def unsigned(token: str, *, alg: str) -> str:
    header = base64.urlsafe_b64encode(json.dumps({"alg": alg, "kid": "first"}).encode()).decode()
    return ".".join([header.rstrip("="), *token.split(".")[1:]])


def test_a_new_key_of_google_is_fetched_after_a_pause(signed: Signed):
    google = signed.google
    signed.push(google.token())
    google.keys = {**google.keys, "second": key_named("second")}
    with pytest.raises(NotificationRefused):
        signed.push(google.token(key_id="second"))

    signed.now_s = 60.0
    signed.push(google.token(key_id="second"))

    assert (signed.polls, google.calls) == (2, 2)


@pytest.mark.parametrize(
    ("status", "body"),
    [(503, None), (302, b""), (200, b"[]"), (200, b"{}"), (200, b"no JSON"), (200, b"0" * 70_000)],
)
def test_without_googles_keys_pubsub_is_asked_to_come_again(signed: Signed, status, body):
    signed.google.status, signed.google.body = status, body
    for _ in range(3):
        with pytest.raises(NotificationUnverified) as refused:
            signed.push(signed.google.token())

    assert refused.value.status == 503
    assert (signed.polls, signed.google.calls) == (0, 1)
    signed.google.status, signed.google.body = 200, None
    signed.now_s = 60.0
    signed.push(signed.google.token())
    assert signed.polls == 1


def test_the_shared_secret_is_the_alternative(certificates: tuple[Google, str]):
    signed = Signed(*certificates, secret=KEY)

    signed.notifications.take(token=KEY)
    signed.push(signed.google.token())

    assert signed.polls == 2


@pytest.mark.parametrize("alone", ["GMAIL_NOTIFICATION_ACCOUNT", "GMAIL_NOTIFICATION_AUDIENCE"])
def test_account_and_audience_are_set_together(alone):
    value = {"GMAIL_NOTIFICATION_ACCOUNT": ACCOUNT, "GMAIL_NOTIFICATION_AUDIENCE": AUDIENCE}

    with pytest.raises(InvalidSetting, match="together"):
        Config.read({alone: value[alone]})
