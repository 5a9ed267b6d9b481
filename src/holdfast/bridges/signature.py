"""Signatures of webhooks in the style of Standard Webhooks: making them, and checking them.

A signature is an HMAC-SHA256 over `id.timestamp.body`. While a secret is changed for another,
each message carries one signature for each, and a receiver needs only one that it can check.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from holdfast.bridges.calls.secret import asked
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.errors import InvalidValue
from holdfast.runtime.kernel.clock import wall_clock
from holdfast.secrecy import keep_secret

Secrets: TypeAlias = str | Sequence[str] | Callable[[], str | Sequence[str]]
"""A secret, several while one replaces another, or a function that returns those in force."""

TOLERANCE_S: Final = 300.0

_PREFIX: Final = "whsec_"
_VERSION: Final = "v1"
_LEAST_BYTES: Final = 24
_MAX_BYTES: Final = 64
_TIMESTAMP: Final = re.compile(r"[0-9]{1,12}")
_LIMIT: Final = f"{_PREFIX} and then {_LEAST_BYTES} to {_MAX_BYTES} bytes in base64"
_MAX_SIGNATURES: Final = 16


class Received(NamedTuple):
    """A webhook that was signed with the secret."""

    id: str
    """The same for every try; a receiver that keeps it handles each message once."""
    timestamp_s: int
    """When this try was made."""
    document: Any
    """The body, read as JSON."""


class SigningKeys:
    """The secrets that sign webhooks, read anew for every message and shown to nobody."""

    __slots__ = ("_secrets",)

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        if not callable(secrets):
            self.read()

    def read(self) -> list[bytes]:
        """Return the keys in force, the newest first as they were given."""
        given = self._secrets
        found = asked(given, name="the webhook secret") if callable(given) else given
        texts = [found] if isinstance(found, str) else list(found)
        if not texts:
            raise _refused("secret", "none", "one secret or more")
        return [_key_of(text) for text in texts]

    def __repr__(self) -> str:
        return "<webhook secrets, not shown>"


def signed(keys: Iterable[bytes], *, message_id: str, timestamp_s: int, body: bytes) -> str:
    """Return the value of `webhook-signature`: one signature for each key, separated by blanks."""
    content = f"{message_id}.{timestamp_s}.".encode() + body
    return " ".join(f"{_VERSION},{_mac(key, content)}" for key in keys)


def verified(
    headers: Mapping[str, str],
    body: bytes,
    *,
    secrets: Secrets,
    tolerance_s: float = TOLERANCE_S,
    now: Callable[[], Instant] = wall_clock,
) -> Received:
    """Return the webhook, when one of the secrets signed it and it was sent just now.

    `body` is what arrived, byte for byte. Anything else raises InvalidValue, whose `field` names
    the header that is wrong; answer that with 400 and do nothing. The same webhook may be sent
    again: keep the ids that were handled.
    """
    given = {name.lower(): value for name, value in headers.items()}
    message_id, stamp = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not message_id or "." in message_id:
        # A dot would let the same signature be read in two ways.
        raise _refused("webhook-id", message_id, "given, and without dots")
    if not _TIMESTAMP.fullmatch(stamp):
        raise _refused("webhook-timestamp", stamp, "whole seconds since 1970")
    timestamp_s = int(stamp)
    if abs(now() - timestamp_s * SECOND_US) > tolerance_s * SECOND_US:
        raise _refused("webhook-timestamp", stamp, f"within {tolerance_s:g} s of now")
    content = f"{message_id}.{stamp}.".encode() + body
    expected = [_mac(key, content) for key in SigningKeys(secrets).read()]
    if not _any_matches(given.get("webhook-signature", ""), expected):
        raise _refused("webhook-signature", "another", "made with one of the secrets")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _refused("body", "other text", "JSON") from error
    return Received(message_id, timestamp_s, document)


def _any_matches(header: str, expected: Sequence[str]) -> bool:
    """Whether a signature is one of those expected; how long it takes tells nothing of them."""
    matches = False
    for each in header.split(" ")[:_MAX_SIGNATURES]:
        version, _, signature = each.partition(",")
        if version == _VERSION:
            for mac in expected:
                same = hmac.compare_digest(signature.encode("utf-8", "replace"), mac.encode())
                matches = matches or same
    return matches


def _mac(key: bytes, content: bytes) -> str:
    return base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()


def _key_of(secret: object) -> bytes:
    if not isinstance(secret, str) or not secret.startswith(_PREFIX):
        raise _refused("secret", type(secret).__name__, _LIMIT)
    encoded = secret.removeprefix(_PREFIX)
    keep_secret((secret, encoded))
    try:
        key = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise _refused("secret", f"a text of {len(secret)} characters", _LIMIT) from None
    if not _LEAST_BYTES <= len(key) <= _MAX_BYTES:
        raise _refused("secret", f"{len(key)} bytes", _LIMIT)
    return key


def _refused(field: str, value: object, limit: str) -> InvalidValue:
    return InvalidValue("webhook", field=field, value=value, limit=limit)
