"""What stands in for the mail service on a developer's machine: it takes every mail once."""

from __future__ import annotations

import hashlib
import json

from holdfast.systems import Answer, Call


def answer(call: Call) -> Answer:
    """Answer as Resend does; the same idempotency key gives the same id."""
    token = call.headers.get("idempotency-key", "")
    if call.method == "POST" and call.path.startswith("/emails"):
        return Answer(
            body=json.dumps({"id": _id(token or call.body.decode("utf-8", "replace"))}).encode()
        )
    if call.method == "GET" and call.path.startswith("/emails/"):
        found = {"id": call.path.rpartition("/")[2], "last_event": "delivered"}
        return Answer(body=json.dumps(found).encode())
    return Answer(404, b'{"name":"not_found","message":"There is nothing here."}')


def _id(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()[:32]
