"""Postmark's API as far as messages go, with a ledger of what it really sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.bridges.wire import FakeApi, Reply, Request, json_reply

KEY = "3f9c1e7a-5b2d-4c8f-a6e0-91d4b7c2f358"
INACTIVE = "gone@example.org"

_KNOWN = {
    "From",
    "To",
    "Subject",
    "TextBody",
    "HtmlBody",
    "ReplyTo",
    "Headers",
    "Metadata",
    "MessageStream",
}


def error(code: int, message: str = "no") -> dict[str, Any]:
    return {"ErrorCode": code, "Message": message}


@dataclass
class PostmarkLedger:
    """What was sent, once for each entry; the first `hidden` of them are not found yet."""

    sent: dict[str, dict[str, Any]] = field(default_factory=dict)
    hidden: int = 0
    generous: bool = False

    def answer(self, request: Request) -> Reply:
        if request.headers.get("x-postmark-server-token") != KEY:
            return json_reply(401, error(10, "No Account or Server API tokens were supplied"))
        assert request.headers["accept"] == "application/json"
        url = urlsplit(request.target)
        if (request.method, url.path) == ("POST", "/email"):
            return self._send(request)
        if (request.method, url.path) == ("GET", "/messages/outbound"):
            return self._search({key: value[0] for key, value in parse_qs(url.query).items()})
        if request.method == "GET" and url.path.endswith("/details"):
            return self._read(unquote(url.path.split("/")[3]))
        return json_reply(404, {})

    def _send(self, request: Request) -> Reply:
        assert request.headers["content-type"] == "application/json"
        body = request.document
        assert set(body) <= _KNOWN, f"Postmark knows no {set(body) - _KNOWN}"
        metadata = body["Metadata"]
        assert len(metadata) <= 10
        assert all(len(name) <= 20 and len(value) <= 80 for name, value in metadata.items())
        assert all(set(header) == {"Name", "Value"} for header in body.get("Headers", []))
        if body["To"].endswith(INACTIVE):
            return json_reply(422, error(406, f"Found inactive addresses: {INACTIVE}."))
        message_id = f"0a129aee-e1cd-480d-b08d-{len(self.sent) + 1:012d}"
        self.sent[message_id] = body
        answer = {"To": body["To"], "MessageID": message_id, "SubmittedAt": "2031-01-01T00:00:00Z"}
        return json_reply(200, answer | error(0, "OK"))

    def _search(self, query: dict[str, str]) -> Reply:
        assert 0 < int(query.pop("count")) <= 500
        assert int(query.pop("offset")) == 0
        stream = query.pop("messagestream", "outbound")
        ((name, value),) = query.items()
        assert name.startswith("metadata_")
        searched = name.removeprefix("metadata_")
        found = [
            {"MessageID": message_id, "Metadata": body["Metadata"], "Status": "Sent"}
            for message_id, body in list(self.sent.items())[self.hidden :]
            if body["MessageStream"] == stream
            and (self.generous or body["Metadata"].get(searched) == value)
        ]
        return json_reply(200, {"TotalCount": len(found), "Messages": found})

    def _read(self, message_id: str) -> Reply:
        if message_id not in self.sent:
            return json_reply(422, error(701, "This message doesn't exist."))
        return json_reply(200, {"MessageID": message_id, **self.sent[message_id]})


def fake_postmark() -> tuple[FakeApi, PostmarkLedger]:
    ledger = PostmarkLedger()
    return FakeApi(ledger.answer), ledger
