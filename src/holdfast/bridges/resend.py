"""Resend, over its HTTP API.

Its promise: the same `Idempotency-Key` within 24 hours sends nothing twice and returns the first
id. An e-mail can be looked up by Resend's id of it, and by nothing else, for as long as the account
keeps e-mails: a day, unless more is paid for.
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from holdfast.bridges.calls import fields
from holdfast.bridges.calls.deadline import Deadline
from holdfast.bridges.calls.http import Answer, call, judged, judged_by_status, over_quota
from holdfast.bridges.calls.secret import Key, Secret
from holdfast.bridges.calls.upstream import Guarded
from holdfast.bridges.mail import Mail, checked_mail
from holdfast.classify import ProviderError, Verdict, Window
from holdfast.classify.http.status import verdict_of_status
from holdfast.classify.verdicts import (
    AUTH,
    CONFLICT,
    CONFLICT_FINAL,
    INVALID,
    RATE_LIMITED,
    UPSTREAM,
)
from holdfast.core.delivery.promise import Promise
from holdfast.core.values.retry import Retry
from holdfast.runtime.deliveries.provider import Evidence

DEDUPES_FOR_S: Final = 24 * 3600.0
LOOKUP_LAG_S: Final = 5.0
"""An e-mail that has an id can be read at once; a little is added for their replicas."""
LOOKUP_FOR_S: Final = 24 * 3600.0

_TAG: Final = re.compile(r"[A-Za-z0-9_-]{1,256}")
_NOT_FOUND: Final = 404
_FIRST_ERROR: Final = 400

_BY_NAME: Final[Mapping[str, Verdict]] = {
    # The token was used for another body. Whatever that was, it was taken.
    "invalid_idempotent_request": replace(CONFLICT_FINAL, outcome_known=False),
    # The same token is being worked on at this moment.
    "concurrent_idempotent_requests": replace(CONFLICT, outcome_known=False),
    "invalid_idempotency_key": INVALID,
    "missing_api_key": AUTH,
    "invalid_api_key": AUTH,
    "invalid_api_Key": AUTH,
    "restricted_api_key": AUTH,
    "suspended_api_key": AUTH,
    "rate_limit_exceeded": RATE_LIMITED,
    "application_error": UPSTREAM,
    "internal_server_error": UPSTREAM,
    "service_unavailable": UPSTREAM,
}

_QUOTAS: Final[Mapping[str, Window]] = {
    "daily_quota_exceeded": Window.DAY,
    "monthly_quota_exceeded": Window.MONTH,
}


class Resend:
    """Sends e-mails through Resend.

    `key` is an API key, or a function that returns the current one; lookups need one with full
    access. `lookup_for` is how long the account keeps e-mails, in seconds. Metadata of a message
    become tags.
    """

    def __init__(
        self,
        key: Key,
        *,
        name: str = "resend",
        lookup_for: float = LOOKUP_FOR_S,
        base_url: str = "https://api.resend.com",
        tls: ssl.SSLContext | None = None,
        upstream: Guarded | None = None,
        retry: Retry | None = None,
    ) -> None:
        self.name = name
        self.upstream = upstream
        self.retry = retry
        self.promise = Promise(
            dedupes_for=DEDUPES_FOR_S,
            lookup_lag=LOOKUP_LAG_S,
            lookup_for=lookup_for,
            lookup_needs_id=True,
        )
        self._key = Secret(key, name=f"the key of {name}")
        self._base_url = base_url.rstrip("/")
        self._tls = tls

    def check(self, message: Mapping[str, Any]) -> None:
        """Raise InvalidValue, naming the field, when the message cannot be sent."""
        _body_of(checked_mail(message))

    def send(self, message: Mapping[str, Any], *, token: str, timeout_s: float) -> Evidence:
        """Send the e-mail; a token that Resend has seen returns the e-mail it stands for."""
        body = _body_of(checked_mail(message))
        answer = self._call(
            "POST",
            "/emails",
            timeout_s=timeout_s,
            headers={
                "content-type": "application/json",
                "idempotency-key": fields.token(token),
            },
            content=json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(),
        )
        document = answer.document() or {}
        found = document.get("id")
        if answer.is_success and isinstance(found, str) and found and "statusCode" not in document:
            return Evidence(notification_id=found)
        raise self._refusal(answer, document)

    def lookup(
        self, *, token: str, notification_id: str | None, timeout_s: float
    ) -> Evidence | None:
        """Return the e-mail of that id; without one, Resend cannot be asked."""
        del token
        if not notification_id:
            raise ProviderError(
                replace(INVALID, outcome_known=False),
                f"{self.name} finds e-mails by its own id alone, and none is known",
            )
        path = f"/emails/{quote(notification_id, safe='')}"
        answer = self._call("GET", path, timeout_s=timeout_s, headers={}, content=None)
        document = answer.document() or {}
        if answer.is_success and document.get("id") == notification_id:
            return Evidence(notification_id=notification_id)
        if answer.status == _NOT_FOUND and _is_about_the_email(document):
            return None
        raise self._refusal(answer, document)

    def __repr__(self) -> str:
        return f"Resend({self.name!r})"

    def _call(
        self,
        method: str,
        path: str,
        *,
        timeout_s: float,
        headers: Mapping[str, str],
        content: bytes | None,
    ) -> Answer:
        deadline = Deadline(timeout_s)
        return call(
            method,
            f"{self._base_url}{path}",
            deadline=deadline,
            headers={"accept": "application/json", **headers},
            hidden={"authorization": f"Bearer {self._key.read()}"},
            content=content,
            tls=self._tls,
        )

    def _refusal(self, answer: Answer, document: Mapping[str, Any]) -> ProviderError:
        """What an answer means: by the name of its error, then by its status.

        An error may come with a status of success; then the one inside counts.
        """
        name, said = document.get("name"), document.get("message")
        told = ": ".join(part for part in (name, said) if isinstance(part, str))
        window = _QUOTAS.get(str(name))
        if window is not None:
            return over_quota(self.name, answer, window, told)
        verdict = _BY_NAME.get(str(name))
        inner = document.get("statusCode")
        if verdict is None and answer.is_success and type(inner) is int and inner >= _FIRST_ERROR:
            verdict = verdict_of_status(inner)
        if verdict is not None:
            return judged(self.name, answer, verdict, told)
        return judged_by_status(self.name, answer, told)


def _body_of(mail: Mail) -> dict[str, Any]:
    """Return the request of an e-mail; always the same for the same one, as the token demands."""
    body: dict[str, Any] = {"from": mail.sender, "to": [mail.to], "subject": mail.subject}
    if mail.text is not None:
        body["text"] = mail.text
    if mail.html is not None:
        body["html"] = mail.html
    if mail.reply_to is not None:
        body["reply_to"] = mail.reply_to
    if mail.headers:
        body["headers"] = dict(sorted(mail.headers.items()))
    if mail.metadata:
        body["tags"] = [_tag(*pair) for pair in sorted(mail.metadata.items())]
    return body


def _is_about_the_email(document: Mapping[str, Any]) -> bool:
    """Whether "not found" is said of an e-mail, not of an address that Resend does not have."""
    said = document.get("message")
    return document.get("name") == "not_found" and "endpoint" not in str(said).lower()


def _tag(name: str, value: str) -> dict[str, str]:
    for text in (name, value):
        if not _TAG.fullmatch(text):
            limit = "1 to 256 ASCII letters, digits, _ and -, name and value, as Resend's tags are"
            raise fields.invalid(f"metadata.{fields.shown(name)}", text, limit)
    return {"name": name, "value": value}
