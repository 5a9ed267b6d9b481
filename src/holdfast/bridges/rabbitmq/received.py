"""From a message as the broker hands it out to one as its consumer sees it."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from aio_pika.abc import AbstractIncomingMessage

from holdfast.bridges.messages.dead_messages import DELIVERIES
from holdfast.bridges.messages.envelope import attribute, time_of, trace_of
from holdfast.core.values.document import Limits, parse
from holdfast.core.values.failure import clean_text
from holdfast.core.values.json_flaws import MAX_BYTES
from holdfast.core.values.outbox import MAX_NAME_BYTES
from holdfast.errors import InvalidDocument
from holdfast.runtime.outbox.received import Received

MAX_UNREADABLE: Final = 16_384
"""How many characters are kept of a dead letter that is no JSON."""
_LIMITS: Final = Limits(max_bytes=MAX_BYTES)
"""How large a message may be is the broker's to say."""


def unpacked(message: AbstractIncomingMessage, *, is_reply: bool = False) -> Received:
    """Return a message as its consumer sees it, or raise what is wrong with it.

    A reply without an id is known again by what it answers, and by what it says.
    """
    message_id = _id_of(message)
    has_id = bool(message_id)
    if not message_id and is_reply and message.correlation_id:
        known = hashlib.sha256(message.correlation_id.encode())
        known.update(message.body)
        message_id = known.hexdigest()
    if not message_id:
        raise InvalidDocument(
            "message",
            path="",
            limit="one with a message_id, by which it is known again",
            found="none that can be noted",
        )
    payload = parse(message.body, what="message", limits=_LIMITS)
    return _received(message, message_id, payload=payload)._replace(has_id=has_id)


def unearthed(message: AbstractIncomingMessage) -> Received:
    """Return a dead letter, whatever it holds: nothing that is wrong with it may keep it back.

    One without an id is known again by what it says.
    """
    try:
        return unpacked(message)
    except InvalidDocument:
        message_id = _id_of(message) or hashlib.sha256(message.body).hexdigest()
        text = clean_text(message.body.decode(errors="backslashreplace"), MAX_UNREADABLE)
        return _received(message, message_id, payload=None)._replace(unreadable=text)


def _id_of(message: AbstractIncomingMessage) -> str | None:
    """Return the id that a message has, if every database and every property can hold it."""
    given = message.message_id or attribute(dict(message.headers), "id") or ""
    fits = given.isprintable() and len(given.encode()) <= MAX_NAME_BYTES
    return given if fits else None


def _received(message: AbstractIncomingMessage, message_id: str, *, payload: object) -> Received:
    headers: dict[str, Any] = dict(message.headers)
    return Received(
        id=message_id,
        type=attribute(headers, "type") or message.type or message.routing_key or "",
        subject=attribute(headers, "subject"),
        payload=payload,
        source=attribute(headers, "source"),
        time=time_of(headers),
        sequence=attribute(headers, "sequence"),
        trace=trace_of(headers),
        correlation_id=message.correlation_id or None,
        reply_to=message.reply_to or None,
        deliveries=deliveries_of(message),
        headers=headers,
    )


def deliveries_of(message: AbstractIncomingMessage) -> int:
    """Return how often the broker has handed the message out, this time included."""
    count = message.headers.get(DELIVERIES)
    return 1 + count if isinstance(count, int) else 1 + bool(message.redelivered)
