"""Messages for others: publish with your own transaction, look at what waits, try again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

from holdfast.core.values.document import decode
from holdfast.core.values.ids import IdSequence
from holdfast.core.values.instant import SECOND_US, Instant, to_rfc3339
from holdfast.core.values.outbox import OutboxMessage, OutboxStatus, checked_id, new_message
from holdfast.engine.arguments import PAGE, asked, checked_limit
from holdfast.engine.connections.resolve import resolved
from holdfast.errors import ConflictError, InvalidDocument, UnknownMessage
from holdfast.runtime import tracing
from holdfast.runtime.events.decided import Message
from holdfast.runtime.kernel.clock import Chance, Clock
from holdfast.store.contract import Store
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.outbox import SUBJECT, OutboxFilter, Standing

_ID_BITS: Final = 62


class Outbox:
    """The outbox of a store."""

    def __init__(self, store: Callable[[], Store], *, clock: Clock, chance: Chance) -> None:
        self._store = store
        self._clock = clock
        self._chance = chance
        self._ids = IdSequence()

    def publish(
        self,
        message_type: str,
        payload: object = None,
        *,
        aggregate_id: str | None = None,
        message_id: str | None = None,
        trace: str | None = None,
        connection: object = None,
    ) -> str:
        """Have a message published by a relay, and return its id.

        `message_id` is a UUID of the caller's own: a message of that id which is stored already
        stays as it is, so that publishing it again changes nothing.
        With `connection` it is part of the caller's own transaction on the same database: it is
        published if and only if that transaction commits. Messages of one aggregate are published
        one after the other; without an aggregate a message waits for no other.
        """
        message = Message(message_type, payload, aggregate_id, message_id)
        return self.publish_many([message], trace=trace, connection=connection)[0]

    def publish_many(
        self,
        messages: Iterable[Message],
        *,
        trace: str | None = None,
        connection: object = None,
    ) -> list[str]:
        """Have messages published as `publish` does, all or none of them; return their ids."""
        within = tracing.current() if trace is None else trace
        now = self._clock.now()
        new = [
            new_message(
                self._new_id(now) if message.id is None else checked_id(message.id),
                message_type=message.type,
                payload=message.payload,
                aggregate_id=message.aggregate_id,
                trace=within,
            )
            for message in messages
        ]
        self._store().outbox.add(new, now=now, connection=resolved(connection))
        return [message.id for message in new]

    def _new_id(self, now: Instant) -> str:
        return self._ids.next(now=now, chance=self._chance.bits(_ID_BITS))

    def find(
        self,
        wanted: OutboxFilter | None = None,
        *,
        before: str | int | None = None,
        limit: int = PAGE,
    ) -> list[OutboxMessage]:
        """Return matching messages, newest first.

        The last one's id, or its position, is `before` of the next page.
        """
        checked_limit("outbox", limit)
        below = self.get(before).position if isinstance(before, str) else before
        return self._store().outbox.find(wanted or OutboxFilter(), before=below, limit=limit)

    def get(self, message_id: str) -> OutboxMessage:
        """Read a message, or raise `UnknownMessage`."""
        found = self._store().outbox.get(message_id)
        if found is None:
            raise UnknownMessage(message_id)
        return found

    def standing(self) -> Standing:
        """Return how many messages wait, since when, and how many were given up."""
        return self._store().outbox.standing()

    def retry(self, message_id: str, *, by: str, reason: str | None = None) -> OutboxMessage:
        """Have a message tried now that waits or was given up, with a new budget.

        One that is published stays so, and one that a relay is sending is left to it; both raise
        `ConflictError`.
        """
        who, why = asked("retry", by, reason)
        now = self._clock.now()
        entry = AuditEntry(now, who, "retried", SUBJECT, message_id, why)
        if not self._store().outbox.retry(message_id, now=now, audit=[entry]):
            found = self.get(message_id)
            published = found.status is OutboxStatus.PUBLISHED
            doing = "published" if published else "being sent by a relay"
            raise ConflictError(f"message {message_id} is {doing}; there is nothing to try again")
        return self.get(message_id)


def message_document(message: OutboxMessage, now: Instant) -> dict[str, Any]:
    """Return a message as JSON shows it."""
    document = message._asdict()
    for name in ("created_at", "processed_at", "run_at", "lease_until"):
        document[name] = None if document[name] is None else to_rfc3339(document[name])
    with suppress(InvalidDocument):  # what something else wrote there is shown as it is
        document["payload"] = decode(message.payload)
    if message.status is OutboxStatus.PENDING:
        document["waiting_s"] = round((now - message.created_at) / SECOND_US, 6)
    return document
