"""`/api/outbox`: messages for others, and those that are stuck."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path, Query
from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.access import OperatorOfAll, ReaderOfAll, guarded_router
from holdfast.api.models.outbox import OutboxMessage, OutboxPage
from holdfast.api.models.values.acting import NO_REASON, Reasoned
from holdfast.api.models.values.moment import told
from holdfast.api.models.values.texts import Plain
from holdfast.api.requests.paging import PageQuery, link_next
from holdfast.api.requests.positions import cut, number_position
from holdfast.api.serving import Engine
from holdfast.core.values.instant import Instant
from holdfast.core.values.outbox import OutboxMessage as Message
from holdfast.core.values.outbox import OutboxStatus
from holdfast.engine.outbox import message_document
from holdfast.secrecy import redacted_value
from holdfast.store.tables.outbox import OutboxFilter

ROUTER: Final = guarded_router("outbox")
KIND: Final = "outbox"

MessageId = Annotated[Plain, Path(description="The id of the message.")]


class OutboxQuery(PageQuery):
    """Which messages; what is left out matches everything."""

    status: OutboxStatus | None = None
    aggregate_id: Plain | None = None
    message_type: Plain | None = None

    def filter(self) -> OutboxFilter:
        """Return the engine's filter."""
        return OutboxFilter(
            status=self.status, aggregate_id=self.aggregate_id, message_type=self.message_type
        )


@ROUTER.get("", response_model=OutboxPage)
def list_outbox(
    query: Annotated[OutboxQuery, Query()],
    _who: ReaderOfAll,
    engine: Engine,
    request: Request,
    response: Response,
) -> dict[str, object]:
    """List messages, newest first, and tell how the outbox stands as a whole."""
    found = engine.outbox.find(
        query.filter(), before=number_position(KIND, query.cursor), limit=query.limit + 1
    )
    page, cursor = cut(found, limit=query.limit, kind=KIND, position=lambda row: row.position)
    link_next(request, response, cursor)
    now, standing = engine.clock.now(), engine.outbox.standing()
    return {
        "items": [_shown(message, now) for message in page],
        "next_cursor": cursor,
        "pending": standing.pending,
        "oldest_pending_at": told(standing.oldest_pending_at),
        "failed": standing.failed,
    }


@ROUTER.get("/{message_id}", response_model=OutboxMessage)
def get_outbox_message(
    message_id: MessageId, _who: ReaderOfAll, engine: Engine
) -> dict[str, object]:
    """Tell how far a message has come."""
    return _shown(engine.outbox.get(message_id), engine.clock.now())


@ROUTER.post("/{message_id}/retry", response_model=OutboxMessage)
def retry_outbox_message(
    message_id: MessageId, who: OperatorOfAll, engine: Engine, said: Reasoned = NO_REASON
) -> dict[str, object]:
    """Have a message tried now that waits or was given up, with a new budget."""
    message = engine.outbox.retry(message_id, by=who.name, reason=said.reason)
    return _shown(message, engine.clock.now())


def _shown(message: Message, now: Instant) -> dict[str, object]:
    """Return a message with the secrets of its body hidden."""
    document = message_document(message, now)
    return document | {"payload": redacted_value(document["payload"])}
