"""Sessions of browsers: a signed cookie in place of the token, and what proves a form is ours.

The cookie names the token that opened the session and when it ends; it is not the token. Who
holds it is let in only as long as that token is good, which is asked at every request.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import threading
from typing import Final, NamedTuple

from starlette.responses import Response

from holdfast.core.values.instant import SECOND_US
from holdfast.engine.app import Holdfast
from holdfast.secrecy import keep_secret

COOKIE: Final = "holdfast_session"
CSRF_FIELD: Final = "csrf_token"
CSRF_HEADER: Final = "x-csrf-token"
_KEY: Final = "session"
_KEY_WORDS: Final = 4
_LONGEST: Final = 512
_PARTS: Final = 3


class Session(NamedTuple):
    """What a cookie says: whose token opened the session, and until when it lasts."""

    token_id: str
    expires_s: int
    nonce: str


class Sessions:
    """Opens and reads sessions; the key they are signed with is the store's."""

    def __init__(self, engine: Holdfast, *, lasting_s: float) -> None:
        self._engine = engine
        self._lasting_s = lasting_s
        self._key: bytes | None = None
        self._lock = threading.Lock()

    def open(self, token_id: str) -> str:
        """Return the cookie of a new session of that token."""
        nonce = f"{self._engine.chance.bits(64):016x}{self._engine.chance.bits(64):016x}"
        return self._signed(Session(token_id, self._now_s() + int(self._lasting_s), nonce))

    def read(self, cookie: str) -> Session | None:
        """Return what a cookie says, or None when it is not signed here or has ended."""
        body, dot, given = cookie.rpartition(".")
        if not dot or len(cookie) > _LONGEST or not cookie.isascii():
            return None
        if not hmac.compare_digest(given.encode(), self._mac("session", body).encode()):
            return None
        parts = body.split(".")
        token_id = _decoded(parts[0])
        if len(parts) != _PARTS or token_id is None:
            return None
        session = Session(token_id, int(parts[1]), parts[2])
        return session if self._now_s() < session.expires_s else None

    def sign(self, purpose: str, body: str) -> str:
        """Return what proves that a text was given out here for a purpose."""
        return self._mac(purpose, body)

    def csrf_token(self, session: Session) -> str:
        """Return what every form of that session has to carry."""
        return self._mac("csrf", _body(session))

    def is_csrf_token(self, given: str, session: Session) -> bool:
        """Return whether a form carries what those of that session have to."""
        expected = self.csrf_token(session).encode()
        return hmac.compare_digest(given.encode("utf-8", "replace"), expected)

    def _signed(self, session: Session) -> str:
        body = _body(session)
        return f"{body}.{self._mac('session', body)}"

    def _mac(self, purpose: str, body: str) -> str:
        digest = hmac.new(self._signing_key(), f"{purpose}|{body}".encode(), hashlib.sha256)
        return base64.urlsafe_b64encode(digest.digest()).decode().rstrip("=")

    def _signing_key(self) -> bytes:
        with self._lock:
            if self._key is None:
                chance = self._engine.chance
                fresh = "".join(f"{chance.bits(64):016x}" for _ in range(_KEY_WORDS))
                now = self._engine.clock.now()
                text = self._engine.store.secrets.get_or_make(_KEY, fresh, now=now)
                keep_secret([text])
                self._key = bytes.fromhex(text)
            return self._key

    def _now_s(self) -> int:
        return self._engine.clock.now() // SECOND_US


def set_cookie(
    response: Response, cookie: str, *, lasting_s: float, path: str, https: bool
) -> None:
    """Have the browser keep a session, away from scripts and from other sites."""
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=int(lasting_s),
        path=path or "/",
        secure=https,
        httponly=True,
        samesite="strict",
    )


def clear_cookie(response: Response, *, path: str, https: bool) -> None:
    """Have the browser forget its session."""
    response.delete_cookie(COOKIE, path=path or "/", secure=https, httponly=True, samesite="strict")


def _body(session: Session) -> str:
    encoded = base64.urlsafe_b64encode(session.token_id.encode()).decode().rstrip("=")
    return f"{encoded}.{session.expires_s}.{session.nonce}"


def _decoded(text: str) -> str | None:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, ValueError):
        return None
