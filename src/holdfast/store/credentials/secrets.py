"""Keys that all programs on one database share."""

from __future__ import annotations

from holdfast.core.values.instant import Instant
from holdfast.store.statements.sql import Sql


class SecretRows:
    """Reads shared keys; a key is made once and never changed here."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def get_or_make(self, name: str, fresh: str, *, now: Instant) -> str:
        """Return the key of that name, which is `fresh` when there was none."""
        self._sql.count("secret_make", {"name": name, "value": fresh, "created_at": now})
        return str(self._sql.rows("secret", {"name": name})[0][0])
