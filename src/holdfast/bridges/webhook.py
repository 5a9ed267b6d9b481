"""Webhooks: a signed POST to a URL that we were given, in the style of Standard Webhooks.

Its promise is the receiver's: every try of a delivery carries the same `webhook-id`, and whether
the second is dropped is for the receiver to say. There is nothing to look up.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from holdfast.bridges.calls import fields
from holdfast.bridges.calls.deadline import Deadline
from holdfast.bridges.calls.http import call, judged_by_status
from holdfast.bridges.calls.upstream import Guarded
from holdfast.bridges.hosts import is_loopback, is_public
from holdfast.bridges.signature import Secrets, SigningKeys, signed
from holdfast.classify import ProviderError
from holdfast.classify.verdicts import INVALID
from holdfast.core.delivery.promise import Promise
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.core.values.retry import Retry
from holdfast.errors import InvalidValue
from holdfast.runtime.deliveries.provider import Evidence
from holdfast.runtime.kernel.clock import wall_clock

MAX_URL_LENGTH: Final = 2_048
MAX_TYPE_LENGTH: Final = 200

_FIELDS: Final = ("url", "type", "data", "timestamp")


class Webhook:
    """Sends webhooks, signed with one secret or, while it is changed, with several.

    `receiver_dedupes_for` is for how long the receiver drops an id that it has seen, in seconds,
    where it says that it does. URLs are `https`, or `http` to this machine; `allow_http` lets
    `http` go anywhere. With `public_only` nothing is sent to this machine, to private networks or
    to any other address that is not public, whatever name stands for it: for URLs that come from
    people who are not trusted.
    """

    addressed_by = "url"

    def __init__(
        self,
        secrets: Secrets,
        *,
        name: str = "webhook",
        receiver_dedupes_for: float | None = None,
        allow_http: bool = False,
        public_only: bool = False,
        tls: ssl.SSLContext | None = None,
        upstream: Guarded | None = None,
        retry: Retry | None = None,
        now: Callable[[], Instant] = wall_clock,
    ) -> None:
        self.name = name
        self.upstream = upstream
        self.retry = retry
        self.promise = Promise(dedupes_for=receiver_dedupes_for)
        self._keys = SigningKeys(secrets)
        self._allow_http, self._public_only = allow_http, public_only
        self._tls = tls
        self._now = now

    def check(self, message: Mapping[str, Any]) -> None:
        """Raise InvalidValue, naming the field, when the message cannot be sent."""
        self._url_of(message)
        _body_of(message)

    def send(self, message: Mapping[str, Any], *, token: str, timeout_s: float) -> Evidence:
        """Post the message; any 2xx says that the receiver has it."""
        deadline = Deadline(timeout_s)
        url, body = self._url_of(message), _body_of(message)
        message_id, timestamp_s = _message_id(token), self._now() // SECOND_US
        signature = signed(
            self._keys.read(), message_id=message_id, timestamp_s=timestamp_s, body=body
        )
        answer = call(
            "POST",
            url,
            deadline=deadline,
            headers={
                "content-type": "application/json",
                "webhook-id": message_id,
                "webhook-timestamp": str(timestamp_s),
            },
            hidden={"webhook-signature": signature},
            content=body,
            tls=self._tls,
            admit=self._admit,
            needs_body=False,
        )
        if not answer.is_success:
            raise judged_by_status(self.name, answer, answer.body.decode("utf-8", "replace"))
        return Evidence(notification_id=message_id)

    def __repr__(self) -> str:
        return f"Webhook({self.name!r})"

    def _admit(self, addresses: list[str]) -> None:
        if self._public_only and not all(map(is_public, addresses)):
            # Which address it was is for nobody to find out by asking.
            raise ProviderError(INVALID, f"{self.name}: the URL does not lead to a public address")

    def _url_of(self, message: Mapping[str, Any]) -> str:
        fields.check_names(message, _FIELDS)
        url = fields.text(message, "url", at_most=MAX_URL_LENGTH)
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname or "", parts.port
        except ValueError as error:
            raise fields.invalid("url", "given", "a URL") from error
        if parts.username is not None or parts.password is not None:
            raise fields.invalid("url", "given", "without a name and password")
        if not host or parts.scheme not in {"https", "http"} or not url.isascii() or " " in url:
            raise fields.invalid("url", url, "like https://example.org/hooks, in ASCII")
        if parts.scheme == "http" and not self._allow_http and not is_loopback(host):
            raise fields.invalid("url", url, "https, unless it leads to this machine")
        return url


def _body_of(message: Mapping[str, Any]) -> bytes:
    """Return the body, always the same for the same message."""
    document = {"type": fields.text(message, "type", at_most=MAX_TYPE_LENGTH)}
    if message.get("timestamp") is not None:
        document["timestamp"] = fields.text(message, "timestamp", at_most=64)
    try:
        return json.dumps(
            {**document, "data": message.get("data")},
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
        ).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise fields.invalid("data", type(error).__name__, "JSON") from error


def _message_id(token: str) -> str:
    checked = fields.token(token)
    if "." in checked:
        # The dot separates what is signed.
        limit = "without dots, because it is part of what is signed"
        raise InvalidValue("send", field="token", value=checked, limit=limit)
    return checked
