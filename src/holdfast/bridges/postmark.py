"""Postmark, over its HTTP API.

Its promise: it drops nothing it has seen before, but it can be asked. Every message carries its
token as metadata, and the message search finds it by that, some time after it was accepted and for
as long as the server keeps messages, 45 days unless it is set otherwise.
"""

from __future__ import annotations

import hashlib
import json
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote, urlencode

from holdfast.bridges.calls import fields
from holdfast.bridges.calls.deadline import Deadline
from holdfast.bridges.calls.http import Answer, call, judged, judged_by_status, over_quota
from holdfast.bridges.calls.secret import Key, Secret
from holdfast.bridges.calls.upstream import Guarded
from holdfast.bridges.mail import Mail, checked_mail
from holdfast.classify import ProviderError, Verdict, Window
from holdfast.classify.verdicts import AUTH, INVALID, NOT_FOUND, RATE_LIMITED, UPSTREAM
from holdfast.core.delivery.promise import Promise
from holdfast.core.values.retry import Retry
from holdfast.runtime.deliveries.provider import Evidence

LOOKUP_LAG_S: Final = 300.0
"""How long the message search may miss a message that was accepted; nobody promises less."""
LOOKUP_FOR_S: Final = 45 * 24 * 3600.0
TOKEN_NAME: Final = "holdfast-token"  # noqa: S105 - the name of a field

_MAX_METADATA: Final = 9
"""Ten are allowed, and one is ours."""
_MAX_NAME_LENGTH: Final = 20
_MAX_VALUE_LENGTH: Final = 80
_NOT_KNOWN: Final = 701
_MAX_FOUND: Final = 50

_BY_CODE: Final[Mapping[int, Verdict]] = {
    10: AUTH,  # bad or missing server token
    100: replace(UPSTREAM, outcome_known=True),  # maintenance: the API takes nothing
    300: INVALID,  # invalid e-mail request
    400: AUTH,  # sender signature not found
    401: AUTH,  # sender signature not confirmed
    402: INVALID,
    403: INVALID,
    406: NOT_FOUND,  # inactive recipient: bounced, complained or was suppressed
    409: INVALID,
    411: INVALID,
    412: AUTH,  # account pending
    413: AUTH,  # account may not send
    429: RATE_LIMITED,
}

_NO_CREDITS: Final = 405
"""Not allowed to send: the credits of the month are used up."""


class Postmark:
    """Sends e-mails through a Postmark server.

    `key` is its server token, or a function that returns the current one. `lookup_lag` is how long
    the message search is waited for before "not found" is believed, `lookup_for` how long the
    server keeps messages, both in seconds.
    """

    def __init__(
        self,
        key: Key,
        *,
        name: str = "postmark",
        stream: str = "outbound",
        lookup_lag: float = LOOKUP_LAG_S,
        lookup_for: float = LOOKUP_FOR_S,
        base_url: str = "https://api.postmarkapp.com",
        tls: ssl.SSLContext | None = None,
        upstream: Guarded | None = None,
        retry: Retry | None = None,
    ) -> None:
        self.name = name
        self.upstream = upstream
        self.retry = retry
        self.promise = Promise(lookup_lag=lookup_lag, lookup_for=lookup_for)
        self._key = Secret(key, name=f"the key of {name}")
        self._stream = stream
        self._base_url = base_url.rstrip("/")
        self._tls = tls

    def check(self, message: Mapping[str, Any]) -> None:
        """Raise InvalidValue, naming the field, when the message cannot be sent."""
        self._body_of(checked_mail(message), token="")

    def send(self, message: Mapping[str, Any], *, token: str, timeout_s: float) -> Evidence:
        """Send the e-mail, whether or not the token was seen before."""
        body = self._body_of(checked_mail(message), token=_mark_of(token))
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        answer = self._call("POST", "/email", timeout_s=timeout_s, content=content)
        document = answer.document() or {}
        found = document.get("MessageID")
        if answer.is_success and _code_of(document) == 0 and isinstance(found, str) and found:
            return Evidence(notification_id=found)
        raise self._refusal(answer, document)

    def lookup(
        self, *, token: str, notification_id: str | None, timeout_s: float
    ) -> Evidence | None:
        """Return the message of that id, or else the one that carries the token."""
        if notification_id:
            return self._find_by_id(notification_id, timeout_s=timeout_s)
        mark = _mark_of(token)
        query = urlencode(
            {
                "count": _MAX_FOUND,
                "offset": 0,
                "messagestream": self._stream,
                f"metadata_{TOKEN_NAME}": mark,
            }
        )
        answer = self._call("GET", f"/messages/outbound?{query}", timeout_s=timeout_s)
        document = answer.document() or {}
        messages = document.get("Messages")
        if not answer.is_success or not isinstance(messages, list):
            raise self._refusal(answer, document)
        return next(_carrying(messages, mark), None)

    def __repr__(self) -> str:
        return f"Postmark({self.name!r})"

    def _find_by_id(self, notification_id: str, *, timeout_s: float) -> Evidence | None:
        path = f"/messages/outbound/{quote(notification_id, safe='')}/details"
        answer = self._call("GET", path, timeout_s=timeout_s)
        document = answer.document() or {}
        if answer.is_success and document.get("MessageID") == notification_id:
            return Evidence(notification_id=notification_id)
        if _code_of(document) == _NOT_KNOWN:
            return None
        raise self._refusal(answer, document)

    def _call(
        self, method: str, path: str, *, timeout_s: float, content: bytes | None = None
    ) -> Answer:
        deadline = Deadline(timeout_s)
        headers = {"accept": "application/json"}
        if content is not None:
            headers["content-type"] = "application/json"
        return call(
            method,
            f"{self._base_url}{path}",
            deadline=deadline,
            headers=headers,
            hidden={"x-postmark-server-token": self._key.read()},
            content=content,
            tls=self._tls,
        )

    def _refusal(self, answer: Answer, document: Mapping[str, Any]) -> ProviderError:
        """What an answer means: by its error code, then by its status.

        A code other than 0 says that nothing was accepted, whatever the status.
        """
        code, said = _code_of(document), document.get("Message")
        told = said if isinstance(said, str) else ""
        if code:
            told = f"error {code}: {told}"
            if code == _NO_CREDITS:
                return over_quota(self.name, answer, Window.MONTH, told)
            verdict = _BY_CODE.get(code)
            if verdict is None and answer.is_success:
                verdict = INVALID
            if verdict is not None:
                return judged(self.name, answer, verdict, told)
        return judged_by_status(self.name, answer, told)

    def _body_of(self, mail: Mail, *, token: str) -> dict[str, Any]:
        body: dict[str, Any] = {
            "From": mail.sender,
            "To": mail.to,
            "Subject": mail.subject,
            "MessageStream": self._stream,
            "Metadata": {**_checked_metadata(mail.metadata), TOKEN_NAME: token},
        }
        if mail.text is not None:
            body["TextBody"] = mail.text
        if mail.html is not None:
            body["HtmlBody"] = mail.html
        if mail.reply_to is not None:
            body["ReplyTo"] = mail.reply_to
        if mail.headers:
            body["Headers"] = [{"Name": name, "Value": said} for name, said in mail.headers.items()]
        return body


def _mark_of(token: str) -> str:
    """Return the token as metadata can hold it: as it is, or its hash where it is too long."""
    checked = fields.token(token)
    if len(checked) <= _MAX_VALUE_LENGTH:
        return checked
    return hashlib.sha256(checked.encode()).hexdigest()


def _code_of(document: Mapping[str, Any]) -> int | None:
    code = document.get("ErrorCode")
    return code if type(code) is int else None


def _carrying(messages: list[Any], mark: str) -> Iterator[Evidence]:
    """Return the messages that really carry the mark; a search may be generous."""
    for message in messages:
        match message:
            case {"MessageID": str(found), "Metadata": dict(metadata)} if found:
                if metadata.get(TOKEN_NAME) == mark:
                    yield Evidence(notification_id=found)


def _checked_metadata(metadata: Mapping[str, str]) -> Mapping[str, str]:
    if len(metadata) > _MAX_METADATA:
        raise fields.invalid("metadata", f"{len(metadata)} fields", f"at most {_MAX_METADATA}")
    if len({name.lower() for name in metadata} | {TOKEN_NAME}) <= len(metadata):
        limit = f"fields of different names, none of them {TOKEN_NAME}"
        raise fields.invalid("metadata", sorted(metadata), limit)
    for name, value in metadata.items():
        if len(name) > _MAX_NAME_LENGTH or len(value) > _MAX_VALUE_LENGTH:
            limit = f"a name of {_MAX_NAME_LENGTH} and a text of {_MAX_VALUE_LENGTH} characters"
            raise fields.invalid(f"metadata.{fields.shown(name)}", value, limit)
    return metadata
