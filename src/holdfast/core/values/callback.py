"""Tokens by which an outsider may answer one stage of one job, and nothing else."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from holdfast.core.values.ids import JobId
    from holdfast.core.values.instant import Instant

LONGEST_TOKEN: Final = 1_000


class Claim(NamedTuple):
    """What a token says: which stage of which run may be answered, and until when."""

    job_id: JobId
    run: int
    stage: str
    expires_at: Instant | None = None


def sign(claim: Claim, *, key: bytes) -> str:
    """Return the token of a claim: letters, digits, '-', '_' and one dot."""
    body = _encoded(json.dumps(claim, separators=(",", ":")).encode())
    return f"{body}.{_encoded(_signature(body, key))}"


def read(token: str, *, key: bytes) -> Claim | None:
    """Return what a token says, or None when it was not signed with `key`."""
    body, dot, signature = token.partition(".")
    if not dot or len(token) > LONGEST_TOKEN or not token.isascii():
        return None
    given = _decoded(signature)
    if given is None or not hmac.compare_digest(given, _signature(body, key)):
        return None
    # Signed here, so it is as `sign` wrote it.
    return Claim(*json.loads(_decoded(body) or b""))


def _signature(body: str, key: bytes) -> bytes:
    return hmac.new(key, body.encode(), hashlib.sha256).digest()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes | None:
    padded = text + "=" * (-len(text) % 4)
    try:
        data = base64.b64decode(padded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    # Several texts may stand for the same bytes; only the one that `sign` wrote is taken.
    return data if _encoded(data) == text else None
