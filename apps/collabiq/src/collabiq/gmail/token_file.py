"""Credentials of a user as they are stored: whole or not at all, for the owner's eyes only."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from collabiq.gmail.errors import InvalidCredentials

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

TOKEN_URI: Final = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
SCOPES: Final = ("https://www.googleapis.com/auth/gmail.readonly",)
_NEEDED: Final = ("client_id", "client_secret", "refresh_token")
_FERNET: Final = "gAAAA"
"""What a text that Fernet made begins with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserCredentials:
    """What is needed to get tokens for a user, and the last one."""

    client_id: str
    client_secret: str
    refresh_token: str
    token_uri: str = TOKEN_URI
    token: str | None = None
    expiry: datetime | None = None
    scopes: tuple[str, ...] = SCOPES

    def __repr__(self) -> str:
        return f"UserCredentials(client_id={self.client_id!r}, expiry={self.expiry!r})"

    def left_s(self, now: datetime) -> float:
        """Return for how many seconds the token is good; 0 without one."""
        if self.token is None or self.expiry is None:
            return 0.0
        return max(0.0, (self.expiry - now).total_seconds())

    def to_json(self) -> str:
        """Return them as `authorized_user` JSON."""
        document: dict[str, Any] = {
            "type": "authorized_user",
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "refresh_token": self.refresh_token,
            "token_uri": self.token_uri,
            "scopes": list(self.scopes),
        }
        if self.token is not None and self.expiry is not None:
            document["token"] = self.token
            document["expiry"] = self.expiry.astimezone(UTC).isoformat().replace("+00:00", "Z")
        return json.dumps(document, indent=2)


def credentials_of(text: str, *, token_uri: str | None = None) -> UserCredentials:
    """Return credentials from `authorized_user` JSON; `token_uri` replaces the one in it."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidCredentials("the credentials of Gmail are no JSON") from None
    if not isinstance(document, dict):
        raise InvalidCredentials("the credentials of Gmail are no JSON object")
    missing = [name for name in _NEEDED if not isinstance(document.get(name), str)]
    if missing:
        raise InvalidCredentials(f"the credentials of Gmail lack {', '.join(missing)}")
    scopes = document.get("scopes")
    found = UserCredentials(
        client_id=document["client_id"],
        client_secret=document["client_secret"],
        refresh_token=document["refresh_token"],
        token_uri=token_uri or str(document.get("token_uri") or TOKEN_URI),
        scopes=tuple(map(str, scopes)) if isinstance(scopes, list) and scopes else SCOPES,
    )
    expiry = _instant(document.get("expiry"))
    token = document.get("token")
    return (
        replace(found, token=token, expiry=expiry) if isinstance(token, str) and expiry else found
    )


class TokenFile:
    """A file with credentials, encrypted when there is a key."""

    def __init__(self, path: Path, *, key: str | None = None) -> None:
        self.path = path
        self._fernet = _fernet_of(key) if key else None

    def read(self) -> str | None:
        """Return what is in it, or None where there is no file.

        A file from before there was a key is read as it is.
        """
        try:
            text = self.path.read_text("utf-8").strip()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            said = f"the file of Gmail's credentials cannot be read: {type(error).__name__}"
            raise InvalidCredentials(said) from None
        if not text.startswith(_FERNET):
            return text
        if self._fernet is None:
            raise InvalidCredentials("the file is encrypted, and GMAIL_ENCRYPTION_KEY is not set")
        from cryptography.fernet import InvalidToken  # noqa: PLC0415 - as above

        try:
            return self._fernet.decrypt(text.encode()).decode()
        except InvalidToken:
            raise InvalidCredentials("GMAIL_ENCRYPTION_KEY is not the key of the file") from None

    def write(self, text: str) -> None:
        """Put a text into the file, whole or not at all, with mode 0600; raises `OSError`."""
        raw = self._fernet.encrypt(text.encode()) if self._fernet else text.encode()
        beside = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        try:
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
        finally:
            beside.unlink(missing_ok=True)


def _fernet_of(key: str) -> Fernet:
    from cryptography.fernet import Fernet  # noqa: PLC0415 - without a key nobody needs it

    try:
        return Fernet(key)
    except ValueError:
        raise InvalidCredentials("GMAIL_ENCRYPTION_KEY is no Fernet key") from None


def _instant(value: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
