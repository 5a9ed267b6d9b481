"""Links to recordings of this system's own: signed for one recording, until an instant."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

AUDIO_PATH: Final = "/api/audio/"
MIN_SECRET_BYTES: Final = 16
_PORTS: Final = {"http": 80, "https": 443}
_EXPIRES: Final = "expires"
_SIGNATURE: Final = "signature"
_MAX_EXPIRES_DIGITS: Final = 15


class Origin(NamedTuple):
    """Whom a URL leads to."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Origin | None:
        """Return the origin of an absolute HTTP URL, None for anything else.

        What different readers take for different hosts is nothing: user information, backslashes,
        blanks and control characters.
        """
        if not url.isascii() or not url.isprintable() or "\\" in url or " " in url:
            return None
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            return None
        host = (parts.hostname or "").rstrip(".")
        if parts.scheme not in _PORTS or not host or "@" in parts.netloc:
            return None
        return cls(parts.scheme, host, _PORTS[parts.scheme] if port is None else port)


class OwnLinks:
    """Which URLs lead to this system itself, by scheme, host and port of its public URL."""

    def __init__(self, public_url: str) -> None:
        origin = Origin.of(public_url)
        if origin is None:
            raise ValueError("a public URL is like https://example.org")
        self.public_url: Final = public_url.rstrip("/")
        self.origin: Final = origin

    def owns(self, url: str) -> bool:
        """Return whether a URL leads to this system."""
        return Origin.of(url) == self.origin

    def url_of(self, audio_id: str) -> str:
        """Return the link to a recording, without a signature."""
        return f"{self.public_url}{AUDIO_PATH}{quote(audio_id, safe='')}"


class SignedLinks(OwnLinks):
    """Links that let their bearer read one recording until an instant."""

    def __init__(self, secret: bytes, public_url: str) -> None:
        super().__init__(public_url)
        if len(secret) < MIN_SECRET_BYTES:
            raise ValueError(f"a secret has at least {MIN_SECRET_BYTES} bytes")
        self._secret = secret

    def sign(self, audio_id: str, *, expires_at: datetime) -> str:
        """Return a link that is good until `expires_at`, to the second."""
        expires = str(int(expires_at.timestamp()))
        query = urlencode({_EXPIRES: expires, _SIGNATURE: self._signature(audio_id, expires)})
        return f"{self.url_of(audio_id)}?{query}"

    def check(self, audio_id: str, query: Mapping[str, str], now: datetime) -> bool:
        """Return whether a query of a link lets one read this recording now."""
        expires, signature = query.get(_EXPIRES, ""), query.get(_SIGNATURE, "")
        is_signed = hmac.compare_digest(
            self._signature(audio_id, expires).encode(), signature.encode("utf-8", "replace")
        )
        is_instant = expires.isascii() and expires.isdigit() and len(expires) < _MAX_EXPIRES_DIGITS
        return is_signed and is_instant and now.timestamp() <= int(expires)

    def _signature(self, audio_id: str, expires: str) -> str:
        # The length keeps id and instant apart, whatever an id holds.
        signed = f"grading-audio:{len(audio_id)}:{audio_id}:{expires}".encode("utf-8", "replace")
        return hmac.new(self._secret, signed, hashlib.sha256).hexdigest()
