"""Sessions of browsers that were ended. One that is not is not in the store at all."""

from __future__ import annotations

from holdfast.core.values.instant import Instant
from holdfast.store.statements.sql import Sql, Steps


class SessionRows:
    """Keeps which sessions were ended, for as long as their cookies would be good."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def end(self, session_id: str, *, expires_at: Instant, now: Instant) -> None:
        """End a session for everybody who has its cookie; once more changes nothing."""

        def end(steps: Steps) -> None:
            steps.count("sessions_expired", {"now": now})
            steps.count("session_end", {"id": session_id, "expires_at": expires_at})

        self._sql.transact(end)

    def has_ended(self, session_id: str) -> bool:
        """Return whether it was ended."""
        return bool(self._sql.rows("session_ended", {"id": session_id}))
