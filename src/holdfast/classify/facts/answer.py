"""What an upstream answered, where an exception carries it: a refusal's reason is in its body.

Only what has been received already is read. httpx and requests keep it; urllib leaves it in the
connection, of which no more is read than arrives within a moment.
"""

from __future__ import annotations

import urllib.error
from typing import Any, Final

from holdfast.classify.facts.describe import causes_of
from holdfast.classify.facts.http import may_carry_answer, read
from holdfast.core.values.failure import MAX_ANSWER_LENGTH
from holdfast.secrecy import safe_text

MAX_BYTES: Final = 16_384
"""How much of a body is looked at: secrets are found in it before it is cut."""
PATIENCE_S: Final = 0.2
"""How long the rest of a body is waited for."""


def answer_of(exception: BaseException) -> str:
    """Return the body of the answer that an exception carries, redacted and cut; else nothing."""
    for candidate in causes_of(exception):
        if may_carry_answer(candidate):
            body = _body_of(candidate)
            if body:
                return _shown(body)
    return ""


def _body_of(exception: BaseException) -> bytes | str:
    # What httpx and requests keep once it was read; their properties might wait for the network.
    kept = read(exception, ("response", "_content"))
    if isinstance(kept, bytes | str):
        return kept[:MAX_BYTES]
    if isinstance(exception, urllib.error.HTTPError):
        return _rest_of(exception)
    said = read(exception, ("response", "body"))
    return said[:MAX_BYTES] if isinstance(said, bytes | str) else b""


def _rest_of(error: urllib.error.HTTPError) -> bytes:
    found = b""
    try:
        connection: Any = read(error, ("fp", "fp", "raw", "_sock"))
        if connection is not None:
            connection.settimeout(PATIENCE_S)
        while len(found) < MAX_BYTES:
            # One read of the connection at a time, so that what came before a timeout is kept.
            piece = error.fp.read1(MAX_BYTES - len(found))  # type: ignore[attr-defined]
            if not piece:
                break
            found += piece
    except Exception:  # noqa: BLE001 - closed, read before, or late: what there is will do
        return found
    return found


def _shown(body: bytes | str) -> str:
    if isinstance(body, bytes):
        if b"\0" in body:
            return ""
        body = body.decode("utf-8", "replace")
    return safe_text(body.strip(), MAX_ANSWER_LENGTH)
