"""Somebody else's webhook receiver: it checks signatures by the letter of Standard Webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Any

from tests.bridges.wire import FakeApi, Reply, Request

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NEXT_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


def signature(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


@dataclass
class ReceiverLedger:
    """What was handled, and how often each id came."""

    secret: str = SECRET
    handled: list[Any] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)

    def answer(self, request: Request) -> Reply:
        message_id = request.headers["webhook-id"]
        timestamp = request.headers["webhook-timestamp"]
        assert request.method == "POST"
        assert request.headers["content-type"] == "application/json"
        assert timestamp.isdigit()
        expected = signature(self.secret, message_id, timestamp, request.body)
        if expected not in request.headers["webhook-signature"].split(" "):
            return Reply(401)
        self.ids.append(message_id)
        self.handled.append(request.document)
        return Reply(204)


def fake_receiver() -> tuple[FakeApi, ReceiverLedger]:
    ledger = ReceiverLedger()
    return FakeApi(ledger.answer), ledger
