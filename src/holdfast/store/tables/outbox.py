"""Messages for a broker: stored with what they tell of, leased by relays, marked when they are out.

The order of an aggregate's messages is kept by leasing them from the first pending one on, and by
one relay only; see the statement `outbox_claim`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid5

from holdfast.core.job.decision import Decision
from holdfast.core.values.instant import Instant, later
from holdfast.core.values.outbox import NewMessage, OutboxMessage, OutboxStatus
from holdfast.store.statements.sql import Sql, Steps
from holdfast.store.tables.audit import AuditEntry, record

OUTBOX_COLUMNS: Final = ", ".join(f"message.{name}" for name in OutboxMessage._fields)
OUTBOX_RETURNED: Final = ", ".join(OutboxMessage._fields)
"""The same for SQLite, which knows no other name of a table where it returns what it wrote."""
SUBJECT: Final = "message"
"""The kind of subject under which the audit record keeps what is done about messages."""
WINDOW: Final = 1_000
"""How many due messages a claim looks at before it looks at every aggregate."""
_BEFORE_ALL: Final = Instant(-1)
_messages: Final = attrgetter("messages")
MessagesAdded = Callable[[Sequence[tuple[Any, ...]], object], None]
"""Is given the rows of messages that were stored, and the connection of the caller who commits."""
_MARKED: Final = ("position", "status", "processed_at", "retry_count", "error_message", "run_at")


class OutboxFilter(NamedTuple):
    """Which messages to list; empty fields match everything."""

    status: OutboxStatus | None = None
    aggregate_id: str | None = None
    message_type: str | None = None


class TypeFilter(NamedTuple):
    """The types of messages that a relay publishes: all, some, or all but some."""

    only: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()

    @property
    def is_everything(self) -> bool:
        """Whether no type is left out."""
        return self.only is None and not self.without

    def values(self) -> dict[str, str | None]:
        """Return what the statements take for it."""
        return {
            "types": None if self.only is None else json.dumps(self.only),
            "without_types": json.dumps(self.without) if self.without else None,
        }


EVERY_TYPE: Final = TypeFilter()


class Standing(NamedTuple):
    """How the outbox stands. What is published is not counted: history may be long."""

    pending: int
    oldest_pending_at: Instant | None
    failed: int


def insertion(messages: Iterable[NewMessage], *, at: Instant) -> list[dict[str, Any]]:
    """Return the rows of new messages as `outbox_insert` takes them."""
    return [{**message._asdict(), "created_at": at} for message in messages]


def any_publishes(decisions: Iterable[Decision]) -> bool:
    """Return whether any decision publishes something; most do not, and this is asked of all."""
    return any(map(_messages, decisions))


def messages_of(applied: Iterable[Decision]) -> dict[str, str]:
    """Return what `outbox_insert` takes for decisions that publish."""
    rows = [
        row for decision in applied for row in insertion(decision.messages, at=decision.entry.at)
    ]
    return {"messages": json.dumps(rows)}


def message_id(job_id: str, token: int, number: int) -> str:
    """Return the id of the n-th message that the attempt under a lease of a job publishes.

    A lease is used once, so that no other attempt makes the same id.
    """
    return str(uuid5(UUID(job_id), f"{token}:{number}"))


def decision_message_id(job_id: str, revision: int, number: int) -> str:
    """Return the id of the n-th message of the decision that leads to a revision of a job."""
    return str(uuid5(UUID(job_id), f"revision {revision}:{number}"))


class OutboxRows:
    """Reads and writes messages; `messages_added` is called when new ones may be due."""

    def __init__(self, sql: Sql, *, messages_added: MessagesAdded) -> None:
        self._sql = sql
        self._added = messages_added

    def add(
        self, messages: Sequence[NewMessage], *, now: Instant, connection: object = None
    ) -> None:
        """Store messages, all or none; one whose id is stored already stays as it is.

        With `connection` they become part of the caller's own transaction: they are published if
        and only if it commits.
        """
        if not messages:
            return
        values = {"messages": json.dumps(insertion(messages, at=now))}
        rows = self._sql.transact(
            lambda steps: steps.rows("outbox_insert", values), connection=connection
        )
        self._added(rows, connection)

    def claim(
        self,
        *,
        holder: str,
        limit: int,
        lease_us: int,
        now: Instant,
        types: TypeFilter = EVERY_TYPE,
    ) -> list[OutboxMessage]:
        """Lease up to `limit` messages, in the order in which they are to be published.

        Of one aggregate only those are leased before which no other is pending, and none that is
        leased or not due lies between them. No two claims return the same lease. Messages of types
        that are not wanted count for nothing in this.
        """
        values = {
            "holder": holder,
            "limit": limit,
            "now": now,
            "lease_until": later(now, lease_us),
            "window": max(WINDOW, limit),
            **types.values(),
        }
        for wide in (False, True):
            rows = self._sql.written("outbox_claim", values | {"wide": wide})
            if rows:
                return sorted(map(_from_row, rows))
            # Behind one message that waits there may be many that it holds up.
        return []

    def mark(
        self, messages: Sequence[OutboxMessage], *, holder: str, lease_until: Instant
    ) -> set[str]:
        """Write leased messages as `decide_publish` left them; return the ids of those written.

        One that was leased anew meanwhile, because this lease had ended, is left alone.
        """
        if not messages:
            return set()
        marks = [{name: getattr(message, name) for name in _MARKED} for message in messages]
        values = {"marks": json.dumps(marks), "holder": holder, "lease_until": lease_until}
        rows = self._sql.written("outbox_mark", values)
        return {row[0] for row in rows}

    def release(self, holder: str, *, now: Instant) -> int:
        """Let go of everything that `holder` has leased; return how many messages that were."""
        return self._sql.count("outbox_release", {"holder": holder, "now": now})

    def next_due(
        self, *, after: Instant = _BEFORE_ALL, types: TypeFilter = EVERY_TYPE
    ) -> Instant | None:
        """Return when the first message that is due after an instant is, or None without one."""
        found = self._sql.rows("outbox_next_due", {"after": after, **types.values()})[0][0]
        return None if found is None else Instant(found)

    def standing(self, *, types: TypeFilter = EVERY_TYPE) -> Standing:
        """Return how many messages wait, since when, and how many were given up."""
        if types.is_everything:
            return Standing._make(self._sql.rows("outbox_standing", {})[0])
        return Standing._make(self._sql.rows("outbox_standing_of_types", types.values())[0])

    def get(self, message_id: str) -> OutboxMessage | None:
        """Return a message, or None when there is none of that id."""
        rows = self._sql.rows("outbox_get", {"id": message_id})
        return _from_row(rows[0]) if rows else None

    def find(self, wanted: OutboxFilter, *, before: int | None, limit: int) -> list[OutboxMessage]:
        """Return matching messages, newest first, from those whose position lies below `before`."""
        values = {**wanted._asdict(), "before": before, "limit": limit}
        return [_from_row(row) for row in self._sql.rows("outbox_find", values)]

    def retry(self, message_id: str, *, now: Instant, audit: Sequence[AuditEntry] = ()) -> bool:
        """Have a message tried now, with a new budget; False when it is out or being sent."""

        def write(steps: Steps) -> list[tuple[Any, ...]]:
            rows = steps.rows("outbox_retry", {"id": message_id, "now": now})
            for entry in audit if rows else ():
                record(steps, entry)
            return rows

        rows = self._sql.transact(write)
        self._added(rows, None)
        return bool(rows)


def _from_row(row: Sequence[Any]) -> OutboxMessage:
    message = OutboxMessage._make(row)
    return message._replace(status=OutboxStatus(message.status))
