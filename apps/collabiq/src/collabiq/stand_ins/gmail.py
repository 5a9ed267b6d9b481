"""A stand-in for Gmail and for Google's token server, with one mailbox in memory."""

from __future__ import annotations

import base64
import email
import itertools
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email import policy
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

from collabiq.stand_ins.wire import (
    Answering,
    Refused,
    bearer_of,
    document_of,
    json_answer,
    losing,
    path_of,
    query_of,
)
from holdfast.systems import Answer, Call

LIFETIME_S: Final = 3_599
MAX_RESULTS: Final = 500
USUAL_RESULTS: Final = 100
WATCH_MS: Final = 7 * 24 * 3_600 * 1_000
_CODE: Final = "stand-in-code"
_IDS_PER_RUN: Final = 1_000_000
_FIRST_ID: Final = 0x19A3_F3F8_56F0_0000
_AFTER: Final = re.compile(r"\bafter:(\d+)\b")


@dataclass(slots=True)
class StoredMail:
    """A mail in the mailbox."""

    id: str
    thread_id: str
    raw: bytes
    received_ms: int
    history_id: int
    labels: list[str]


class GmailStandIn:
    """Answers as Gmail's API does; any number of threads may call it.

    `run` sets the ids of a mailbox and its history apart from those of another run: a cursor from
    before leads nowhere, as one does that Gmail has forgotten.
    """

    def __init__(self, *, address: str = "collab@example.com", run: int = 0) -> None:
        self.address = address
        self.refresh_token = "stand-in-refresh-token"  # noqa: S105 - of a stand-in
        self.mails: dict[str, StoredMail] = {}
        self.added: list[tuple[int, str]] = []
        """The history: at which id which mail came."""
        self.oldest_history = run * _IDS_PER_RUN + 1
        self.refreshes = 0
        self.tokens: list[str] = []
        """Every access token that was given out, in order."""
        self.watches: list[str] = []
        """The topics at which notifications were wanted, in order."""
        self.revoked = False
        self._history = run * _IDS_PER_RUN + 100
        self._good: set[str] = set()
        self._numbers = itertools.count(run * _IDS_PER_RUN + 1)
        self._lock = threading.RLock()

    @property
    def faults(self) -> Mapping[str, Answering]:
        """What it does instead, by name."""
        return {
            "unauthorized": self._unauthorized,
            "forbidden": self._refusing(403, "PERMISSION_DENIED", "insufficientPermissions"),
            "invalid": self._refusing(400, "INVALID_ARGUMENT", "invalidArgument"),
            "rate_limited": self._refusing(403, "RESOURCE_EXHAUSTED", "userRateLimitExceeded"),
            "history_expired": self._history_expired,
            "token_revoked": self._token_revoked,
            "lost_answer": losing(self),
        }

    def __call__(self, call: Call) -> Answer:
        """Answer a call."""
        with self._lock:
            try:
                return self._route(call)
            except Refused as refused:
                return refused.answer

    def credentials(self, url: str) -> dict[str, str]:
        """Return what a user who has signed in has in the file of credentials."""
        return {
            "type": "authorized_user",
            "client_id": "stand-in.apps.example",
            "client_secret": "stand-in-client-secret",
            "refresh_token": self.refresh_token,
            "token_uri": f"{url}/token",
        }

    def deliver(self, raw: bytes, *, received_ms: int = 1_762_130_000_000) -> str:
        """Put a mail into the mailbox, and return its id."""
        with self._lock:
            self._history += 1
            mail_id = f"{_FIRST_ID + next(self._numbers):016x}"
            mail = StoredMail(mail_id, mail_id, raw, received_ms, self._history, ["INBOX"])
            self.mails[mail_id] = mail
            self.added.append((self._history, mail_id))
            return mail_id

    def remove(self, mail_id: str) -> None:
        """Delete a mail; the history still names it."""
        with self._lock:
            del self.mails[mail_id]

    def expire_history(self) -> None:
        """Forget what came up to now: who asks for it gets 404."""
        with self._lock:
            self.oldest_history = self._history + 1
            self._history += 1

    def expire_tokens(self) -> None:
        """Have every access token that was given out refused."""
        with self._lock:
            self._good.clear()

    def revoke(self, *, revoked: bool = True) -> None:
        """Take the access back, or give it again."""
        with self._lock:
            self.revoked = revoked
            self._good.clear()

    @property
    def history_id(self) -> str:
        """Where the history stands."""
        return str(self._history)

    def _route(self, call: Call) -> Answer:
        path = path_of(call)
        if call.method == "POST" and path == ["token"]:
            return self._refresh(call)
        if call.method == "GET" and path == ["auth"]:
            return self._sign_in(query_of(call))
        if bearer_of(call) not in self._good:
            raise Refused(error(401, "UNAUTHENTICATED", "authError", "Invalid Credentials"))
        if path[:3] != ["gmail", "v1", "users"] or path[3:4] not in [["me"], [self.address]]:
            raise Refused(error(404, "NOT_FOUND", "notFound", "Not Found"))
        asked = query_of(call)
        match [call.method, *path[4:]]:
            case ["GET", "profile"]:
                return json_answer(self._profile())
            case ["GET", "messages"]:
                return json_answer(self._listed(asked))
            case ["GET", "messages", mail_id]:
                return json_answer(_document(self._mail(mail_id), asked.get("format", "full")))
            case ["GET", "messages", mail_id, "attachments", number]:
                return json_answer(_attachment(self._mail(mail_id), number))
            case ["POST", "messages", mail_id, "modify"]:
                mail = self._mail(mail_id)
                _relabel(mail, document_of(call) or {})
                return json_answer(_document(mail, "minimal"))
            case ["GET", "history"]:
                return json_answer(self._changes(asked))
            case ["POST", "watch"]:
                return json_answer(self._watch(document_of(call) or {}))
            case ["POST", "stop"]:
                return Answer(204, b"")
            case _:
                raise Refused(error(404, "NOT_FOUND", "notFound", "Not Found"))

    def _refresh(self, call: Call) -> Answer:
        given = {name: values[0] for name, values in parse_qs(call.body.decode()).items()}
        signs_in = given.get("grant_type") == "authorization_code" and given.get("code") == _CODE
        if self.revoked or (not signs_in and given.get("refresh_token") != self.refresh_token):
            return self._token_revoked(call)
        self.refreshes += 1
        token = f"stand-in-access-{next(self._numbers)}"
        self._good.add(token)
        self.tokens.append(token)
        return json_answer(
            {
                "access_token": token,
                "expires_in": LIFETIME_S,
                "scope": "https://www.googleapis.com/auth/gmail.readonly",
                "token_type": "Bearer",
            }
            | ({"refresh_token": self.refresh_token} if signs_in else {})
        )

    def _sign_in(self, asked: Mapping[str, str]) -> Answer:
        """Send the browser of a user, who agrees to everything, back with a code."""
        back = asked.get("redirect_uri", "")
        if urlsplit(back).hostname not in {"127.0.0.1", "localhost"}:
            raise Refused(error(400, "INVALID_ARGUMENT", "redirect_uri_mismatch", "Bad redirect"))
        answer = urlencode({"state": asked.get("state", ""), "code": _CODE})
        return Answer(302, b"", headers={"Location": f"{back}?{answer}"})

    def _watch(self, given: Mapping[str, Any]) -> dict[str, Any]:
        topic = given.get("topicName")
        if not isinstance(topic, str) or not topic:
            raise Refused(error(400, "INVALID_ARGUMENT", "invalidArgument", "Invalid topicName"))
        self.watches.append(topic)
        until_ms = int(time.time() * 1_000) + WATCH_MS  # noqa: TID251 - a server's own clock
        return {"historyId": self.history_id, "expiration": str(until_ms)}

    def _profile(self) -> dict[str, Any]:
        count = len(self.mails)
        return {
            "emailAddress": self.address,
            "messagesTotal": count,
            "threadsTotal": count,
            "historyId": self.history_id,
        }

    def _listed(self, asked: Mapping[str, str]) -> dict[str, Any]:
        since = _AFTER.search(asked.get("q", ""))
        after_ms = int(since[1]) * 1_000 if since else 0
        # Newest first, as Gmail has it.
        found = [each for each in reversed(self.mails.values()) if each.received_ms >= after_ms]
        return _paged("messages", [{"id": m.id, "threadId": m.thread_id} for m in found], asked) | {
            "resultSizeEstimate": len(found)
        }

    def _changes(self, asked: Mapping[str, str]) -> dict[str, Any]:
        start = asked.get("startHistoryId", "")
        if not start.isdecimal():
            raise Refused(
                error(400, "INVALID_ARGUMENT", "invalidArgument", "Invalid startHistoryId")
            )
        if int(start) < self.oldest_history - 1:
            raise Refused(_NO_HISTORY)
        found = []
        for at, mail_id in self.added:
            if at > int(start):
                message = {"id": mail_id, "threadId": mail_id, "labelIds": ["INBOX"]}
                found.append(
                    {"id": str(at), "messages": [message], "messagesAdded": [{"message": message}]}
                )
        return _paged("history", found, asked) | {"historyId": self.history_id}

    def _mail(self, mail_id: str) -> StoredMail:
        found = self.mails.get(mail_id)
        if found is None:
            raise Refused(error(404, "NOT_FOUND", "notFound", "Requested entity was not found."))
        return found

    def _unauthorized(self, call: Call) -> Answer:
        """Answers 401 to every call but the one for a token."""
        if path_of(call) == ["token"]:
            return self(call)
        return error(401, "UNAUTHENTICATED", "authError", "Invalid Credentials")

    def _refusing(self, status: int, code: str, reason: str) -> Answering:
        """Return what refuses every call but the one for a token, which is another server's."""

        def refuse(call: Call) -> Answer:
            if path_of(call) == ["token"]:
                return self(call)
            return error(status, code, reason, "as you wished")

        refuse.__doc__ = f"Answers {status} {reason}."
        return refuse

    def _history_expired(self, call: Call) -> Answer:
        """Answer 404 to every request for the history, and all others as usual."""
        return _NO_HISTORY if path_of(call)[-1:] == ["history"] else self(call)

    def _token_revoked(self, call: Call) -> Answer:
        """Refuses every refresh with invalid_grant, and every call with 401."""
        if path_of(call) != ["token"]:
            return error(401, "UNAUTHENTICATED", "authError", "Invalid Credentials")
        words = "Token has been expired or revoked."
        return json_answer({"error": "invalid_grant", "error_description": words}, 400)


def error(status: int, code: str, reason: str, message: str) -> Answer:
    """Return an error as Google words it."""
    inner = {"message": message, "domain": "global", "reason": reason}
    document = {"code": status, "message": message, "errors": [inner], "status": code}
    return json_answer({"error": document}, status)


_NO_HISTORY: Final = error(404, "NOT_FOUND", "notFound", "Requested entity was not found.")


def _paged(name: str, found: list[dict[str, Any]], asked: Mapping[str, str]) -> dict[str, Any]:
    size = min(int(asked.get("maxResults", USUAL_RESULTS)), MAX_RESULTS)
    start = int(asked.get("pageToken", "0"))
    page: dict[str, Any] = {name: found[start : start + size]} if found else {}
    if start + size < len(found):
        page["nextPageToken"] = str(start + size)
    return page


def _document(mail: StoredMail, form: str) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": mail.id,
        "threadId": mail.thread_id,
        "labelIds": mail.labels,
        "historyId": str(mail.history_id),
        "internalDate": str(mail.received_ms),
        "sizeEstimate": len(mail.raw),
        "snippet": "",
    }
    if form == "raw":
        document["raw"] = base64.urlsafe_b64encode(mail.raw).decode()
    return document


def _relabel(mail: StoredMail, given: Mapping[str, Any]) -> None:
    removed = set(given.get("removeLabelIds", ()))
    kept = [label for label in mail.labels if label not in removed]
    mail.labels = list(dict.fromkeys([*kept, *given.get("addLabelIds", ())]))


def _attachment(mail: StoredMail, number: str) -> dict[str, Any]:
    """Return the attachment at a place of the mail, counted from 0."""
    parsed = email.message_from_bytes(mail.raw, policy=policy.default)
    found = [part for part in parsed.walk() if part.get_content_disposition() == "attachment"]
    if not number.isdecimal() or int(number) >= len(found):
        raise Refused(error(404, "NOT_FOUND", "notFound", "Requested entity was not found."))
    content = found[int(number)].get_payload(decode=True)
    data = content if isinstance(content, bytes) else b""
    return {"size": len(data), "data": base64.urlsafe_b64encode(data).decode()}
