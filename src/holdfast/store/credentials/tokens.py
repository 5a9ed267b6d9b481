"""API tokens: who may come in from outside. Of a token itself only a hash is kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from holdfast.core.values.instant import Instant
from holdfast.core.values.role import Role
from holdfast.store.statements.sql import Sql
from holdfast.store.tables.audit import AuditEntry, done_and_recorded

SUBJECT: Final = "token"
"""The kind of subject under which the audit record keeps what is done with tokens."""


class TokenRow(NamedTuple):
    """A token as the store holds it, in the order of its columns."""

    id: str
    name: str
    role: Role
    owner: str | None
    """Whose rows its bearer sees and acts on; None for everybody's."""
    hash: str
    created_at: Instant
    created_by: str
    revoked_at: Instant | None = None
    permissions: tuple[str, ...] = ()
    """What it allows besides its role."""


class TokenRows:
    """Reads and writes tokens. None is ever removed: a store that had one never has none."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def add(self, token: TokenRow, *, audit: AuditEntry) -> None:
        """Write a token, and in the audit log who made it.

        A token that is there already stays as it is, so a lost reply may be answered by a repeat.
        """
        permissions = json.dumps(token.permissions) if token.permissions else None
        values = {**token._asdict(), "role": token.role.value, "permissions": permissions}
        done_and_recorded(self._sql, "token_insert", values, audit)

    def revoke(self, token_id: str, *, at: Instant, audit: AuditEntry) -> bool:
        """Let nobody in by a token from now on; False when it is revoked already, or not there."""
        return done_and_recorded(self._sql, "token_revoke", {"id": token_id, "at": at}, audit)

    def get(self, token_id: str) -> TokenRow | None:
        """Return a token, revoked or not."""
        return _one(self._sql.rows("token", {"id": token_id}))

    def of_hash(self, digest: str) -> TokenRow | None:
        """Return the token of that hash, revoked or not."""
        return _one(self._sql.rows("token_of_hash", {"hash": digest}))

    def all(self) -> list[TokenRow]:
        """Return every token, the newest first."""
        return [_from_row(row) for row in self._sql.rows("tokens", {})]

    def any(self) -> bool:
        """Return whether there ever was a token."""
        return bool(self._sql.rows("token_any", {}))


def _one(rows: Sequence[Sequence[Any]]) -> TokenRow | None:
    return _from_row(rows[0]) if rows else None


def _from_row(row: Sequence[Any]) -> TokenRow:
    *facts, permissions = row
    token = TokenRow._make([*facts, tuple(json.loads(permissions or "[]"))])
    return token._replace(role=Role(token.role))
