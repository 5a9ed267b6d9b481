"""API tokens: make them, list them, revoke them, and tell who bears one."""

from __future__ import annotations

import hashlib
import hmac
import string
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from holdfast.core.values.ids import IdSequence
from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.core.values.role import Role, checked_permission
from holdfast.engine.arguments import asked
from holdfast.engine.submit.submission import checked_text
from holdfast.errors import InvalidValue, UnknownToken
from holdfast.runtime.kernel.clock import Chance, Clock
from holdfast.secrecy import keep_secret
from holdfast.store.contract import Store
from holdfast.store.credentials.tokens import SUBJECT, TokenRow
from holdfast.store.tables.audit import AuditEntry

PREFIX: Final = "hf_"
"""What every token begins with, so that one is known for what it is wherever it turns up."""
_WORDS: Final = 4
_WORD_BITS: Final = 64
_ALPHABET: Final = string.ascii_letters + string.digits
"""Letters and digits alone: a double click takes the whole token, and so does redaction."""
_LETTERS: Final = 43
"""As many as hold 256 bits."""
_ID_BITS: Final = 62
MAX_PERMISSIONS: Final = 50
_LONGEST: Final = 256
"""A text longer than this is no token, and not worth a hash."""


@dataclass(frozen=True, slots=True)
class TokenView:
    """What is known of a token: everything but the token itself."""

    id: str
    name: str
    role: Role
    owner: str | None
    """Whose rows its bearer sees and acts on; None for everybody's."""
    created_at: Instant
    created_by: str
    revoked_at: Instant | None
    permissions: tuple[str, ...] = ()
    """What its bearer may do besides what the role allows, by name."""

    @property
    def revoked(self) -> bool:
        """Whether it lets nobody in any more."""
        return self.revoked_at is not None

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values; times are RFC 3339 in UTC."""
        return {
            "id": self.id,
            "name": self.name,
            "role": self.role.value,
            "owner": self.owner,
            "permissions": list(self.permissions),
            "created_at": to_rfc3339(self.created_at),
            "created_by": self.created_by,
            "revoked_at": None if self.revoked_at is None else to_rfc3339(self.revoked_at),
        }


class Tokens:
    """The API tokens of a store."""

    def __init__(self, store: Callable[[], Store], *, clock: Clock, chance: Chance) -> None:
        self._store = store
        self._clock = clock
        self._chance = chance
        self._ids = IdSequence()

    def create(
        self,
        name: str,
        *,
        role: Role | str,
        owner: str | None = None,
        permissions: Iterable[str] = (),
        by: str,
    ) -> tuple[TokenView, str]:
        """Make a token; return what is known of it, and the token itself.

        The token can be read here and nowhere else: the store keeps its hash. `permissions` are
        names such as `shop.refund`, which routes of systems demand; they concern every owner's
        rows, so a token for one owner has none.
        """
        who, _ = asked("create a token", by, None)
        now = self._clock.now()
        secret = self._fresh()
        keep_secret([secret])
        row = TokenRow(
            id=self._ids.next(now=now, chance=self._chance.bits(_ID_BITS)),
            name=checked_text("token", field="name", text=name),
            role=_checked_role(role),
            owner=None if owner is None else checked_text("token", field="owner", text=owner),
            hash=_hashed(secret),
            created_at=now,
            created_by=who,
            permissions=_checked_permissions(permissions, owner=owner),
        )
        detail = {"name": row.name, "role": row.role.value, "owner": row.owner}
        if row.permissions:
            detail["permissions"] = " ".join(row.permissions)
        entry = AuditEntry(now, who, "created", SUBJECT, row.id, None, detail=detail)
        self._store().tokens.add(row, audit=entry)
        return _view(row), secret

    def list(self) -> list[TokenView]:
        """Return every token, the newest first, those that were revoked included."""
        return [_view(row) for row in self._store().tokens.all()]

    def get(self, token_id: str) -> TokenView:
        """Return what is known of a token, revoked or not, or raise `UnknownToken`."""
        row = self._store().tokens.get(_checked_id(token_id))
        if row is None:
            raise UnknownToken(token_id)
        return _view(row)

    def exist(self) -> bool:
        """Return whether this store ever had a token; one that was revoked counts."""
        return self._store().tokens.any()

    def revoke(self, token_id: str, *, by: str, reason: str | None = None) -> TokenView:
        """Let nobody in by a token from now on; one that is revoked already stays as it is."""
        who, why = asked("revoke a token", by, reason)
        view = self.get(token_id)
        now = self._clock.now()
        detail = {"name": view.name}
        entry = AuditEntry(now, who, "revoked", SUBJECT, view.id, why, detail=detail)
        self._store().tokens.revoke(view.id, at=now, audit=entry)
        return self.get(view.id)

    def authenticate(self, secret: str) -> TokenView | None:
        """Return whose token this is, or None when it is nobody's or was revoked."""
        if not secret.startswith(PREFIX) or len(secret) > _LONGEST:
            return None
        digest = _hashed(secret)
        row = self._store().tokens.of_hash(digest)
        if row is None or row.revoked_at is not None:
            return None
        return _view(row) if hmac.compare_digest(row.hash, digest) else None

    def _fresh(self) -> str:
        """Return a new token of 256 random bits."""
        number = 0
        for _ in range(_WORDS):
            number = number << _WORD_BITS | self._chance.bits(_WORD_BITS)
        letters: list[str] = []
        for _ in range(_LETTERS):
            number, index = divmod(number, len(_ALPHABET))
            letters.append(_ALPHABET[index])
        return PREFIX + "".join(letters)


def _hashed(secret: str) -> str:
    # A plain hash is enough: 256 bits drawn by chance cannot be guessed, however fast.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _view(row: TokenRow) -> TokenView:
    return TokenView(
        id=row.id,
        name=row.name,
        role=row.role,
        owner=row.owner,
        created_at=row.created_at,
        created_by=row.created_by,
        revoked_at=row.revoked_at,
        permissions=row.permissions,
    )


def _checked_permissions(names: Iterable[str], *, owner: str | None) -> tuple[str, ...]:
    found = tuple(sorted({checked_permission(name) for name in names}))
    if len(found) > MAX_PERMISSIONS:
        limit = f"at most {MAX_PERMISSIONS}"
        raise InvalidValue("token", field="permissions", value=len(found), limit=limit)
    if found and owner is not None:
        limit = "left out for a token of one owner: they concern every owner's rows"
        raise InvalidValue("token", field="permissions", value=list(found), limit=limit)
    return found


def _checked_role(role: object) -> Role:
    try:
        return Role(str(role))
    except ValueError:
        raise InvalidValue(
            "token", field="role", value=role, limit=f"one of {', '.join(Role)}"
        ) from None


def _checked_id(token_id: str) -> str:
    """Return the id in its canonical form; what is no id names no token."""
    try:
        return str(UUID(token_id))
    except (ValueError, AttributeError, TypeError):
        raise UnknownToken(str(token_id)) from None
