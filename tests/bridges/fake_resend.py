"""Resend's API as far as e-mails go, with a ledger of what it really sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.bridges.wire import FakeApi, Reply, Request, json_reply

KEY = "re_8FvQ2cWk_7LhPz3nXtYbRdMsJuEaGoKi1"

_KNOWN = {"from", "to", "subject", "text", "html", "reply_to", "headers", "tags"}


def error(status: int, name: str, message: str = "") -> dict[str, Any]:
    return {"statusCode": status, "name": name, "message": message or name}


@dataclass
class ResendLedger:
    """What was sent, once for each entry, and the answers kept for tokens."""

    sent: dict[str, dict[str, Any]] = field(default_factory=dict)
    tokens: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    keys: set[str] = field(default_factory=lambda: {KEY})

    def answer(self, request: Request) -> Reply:
        bearer = request.headers.get("authorization", "")
        if not request.headers.get("user-agent"):
            return json_reply(403, error(403, "validation_error", "no user agent"))
        if bearer.removeprefix("Bearer ") not in self.keys:
            return json_reply(403, error(403, "invalid_api_key"))
        if (request.method, request.target) == ("POST", "/emails"):
            return self._send(request)
        if request.method == "GET" and request.target.startswith("/emails/"):
            return self._read(request.target.removeprefix("/emails/"))
        return json_reply(404, error(404, "not_found", "The requested endpoint does not exist"))

    def _send(self, request: Request) -> Reply:
        assert request.headers["content-type"] == "application/json"
        token = request.headers["idempotency-key"]
        assert 1 <= len(token) <= 256
        body = request.document
        assert set(body) <= _KNOWN, f"Resend knows no {set(body) - _KNOWN}"
        assert isinstance(body["to"], list)
        assert len(body["to"]) == 1
        if token in self.tokens:
            first_body, first_id = self.tokens[token]
            if first_body != request.body:
                return json_reply(409, error(409, "invalid_idempotent_request"))
            return json_reply(200, {"id": first_id})
        sent_id = f"4ef9a417-02e9-4d39-ad75-{len(self.sent) + 1:012d}"
        self.sent[sent_id] = body
        self.tokens[token] = (request.body, sent_id)
        return json_reply(200, {"id": sent_id})

    def _read(self, sent_id: str) -> Reply:
        if sent_id not in self.sent:
            return json_reply(404, error(404, "not_found", "Email not found"))
        document = {"object": "email", "id": sent_id, "last_event": "sent"}
        return json_reply(200, document | self.sent[sent_id])


def fake_resend() -> tuple[FakeApi, ResendLedger]:
    ledger = ResendLedger()
    return FakeApi(ledger.answer), ledger
