"""Tokens that Google signs for the pushes of Pub/Sub: who pushes, and for whom it is meant."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Any, Final

from collabiq.gmail.google_keys import GoogleKeys

ISSUERS: Final = frozenset({"accounts.google.com", "https://accounts.google.com"})
MAX_CHARACTERS: Final = 4_096
_PARTS: Final = 3
_ALGORITHM: Final = "RS256"
_CLOCK_SKEW_S: Final = 10


@dataclass(frozen=True, slots=True)
class PushTokens:
    """Tokens of one service account for one audience, as the subscription is set up."""

    account: str
    audience: str
    keys: GoogleKeys

    def accepts(self, token: str) -> bool:
        """Return whether Google has signed this token for the account and the audience.

        Raises `KeysUnavailable` where that cannot be found out now.
        """
        from google.auth import exceptions, jwt  # noqa: PLC0415 - only signed pushes need it

        if len(token) > MAX_CHARACTERS or token.count(".") != _PARTS - 1 or not token.isascii():
            return False
        decode: Any = jwt
        try:
            header = decode.decode_header(token)
            if header.get("alg") != _ALGORITHM or not isinstance(header.get("kid"), str):
                return False
            certificate = self.keys.get(header["kid"])
            if certificate is None:
                return False
            claims = decode.decode(
                token,
                certs={header["kid"]: certificate},
                audience=self.audience,
                clock_skew_in_seconds=_CLOCK_SKEW_S,
            )
        except (ValueError, TypeError, AttributeError, RecursionError, exceptions.GoogleAuthError):
            return False
        return (
            claims.get("iss") in ISSUERS
            and claims.get("email_verified") is True
            and hmac.compare_digest(str(claims.get("email")).encode(), self.account.encode())
        )
