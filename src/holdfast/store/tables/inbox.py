"""What consumers have handled: a message that comes again changes nothing."""

from __future__ import annotations

import json
from collections.abc import Collection

from holdfast.core.values.instant import Instant
from holdfast.store.statements.sql import Sql


class InboxRows:
    """Notes messages by their ids, per consumer."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def take(
        self, consumer: str, message_id: str, *, now: Instant, connection: object = None
    ) -> bool:
        """Note that `consumer` handles a message; False when it has before.

        With `connection` the note is part of the transaction that holds what the message causes,
        so that both exist or neither does. Who handles the same message at the same time waits
        there until the other's transaction has ended.
        """
        values = {"consumer": consumer, "message_id": message_id, "now": now}
        return (
            self._sql.transact(
                lambda steps: steps.count("inbox_take", values), connection=connection
            )
            == 1
        )

    def take_all(
        self, consumer: str, message_ids: Collection[str], *, now: Instant, connection: object
    ) -> bool:
        """Note several messages as `take` does one; False when some were handled before.

        Then the caller has to roll back: the others are noted.
        """
        # In one order, so that two who handle the same messages do not wait in a circle.
        ids = sorted(message_ids)
        values = {"consumer": consumer, "message_ids": json.dumps(ids), "now": now}
        noted = self._sql.transact(
            lambda steps: steps.count("inbox_take_all", values), connection=connection
        )
        return noted == len(ids)

    def has(self, consumer: str, message_id: str) -> bool:
        """Return whether `consumer` has handled a message."""
        values = {"consumer": consumer, "message_id": message_id}
        return bool(self._sql.rows("inbox_has", values))
