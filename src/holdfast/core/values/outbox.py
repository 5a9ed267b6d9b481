"""Messages for a broker, and the one place that says what follows from a try to publish one.

`decide_publish` takes a message as it was leased, what became of the try, the policy, the instant
and one roll of chance, and returns the message as it is to be written.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, TypeAlias, assert_never
from uuid import UUID

from holdfast.core.values.document import DEFAULT_LIMITS, encode
from holdfast.core.values.failure import clean_text
from holdfast.core.values.instant import later
from holdfast.core.values.retry import Retry
from holdfast.errors import InvalidValue

if TYPE_CHECKING:
    from holdfast.core.values.instant import Instant

MAX_ERROR_LENGTH: Final = 1_000
MAX_NAME_BYTES: Final = 255
"""What brokers can hold of a message's type and its other names."""
RELAY_RETRY: Final = Retry(attempts=10_000, base=0.5, factor=2.0, cap=60.0, floor=0.1)
"""How long a message waits after a failed try, and how often the broker may refuse it."""


class OutboxStatus(StrEnum):
    """How far a message has come."""

    PENDING = "pending"
    PUBLISHED = "published"
    """The broker has confirmed that it has the message."""
    FAILED = "failed"
    """It was given up, and a person has to look at it."""


class NewMessage(NamedTuple):
    """A message about to be stored."""

    id: str
    aggregate_id: str
    """What it is about: messages of one aggregate are published one after the other."""
    message_type: str
    payload: str
    """Its body, as JSON text."""
    trace: str | None = None


def new_message(
    message_id: str,
    *,
    message_type: str,
    payload: object,
    aggregate_id: str | None,
    trace: str | None,
) -> NewMessage:
    """Return a message that can be stored and published, or raise what is wrong with it.

    Without an aggregate it is one of its own: nothing waits for it, and it waits for nothing.
    """
    checked_name("publish", field="message_type", text=message_type)
    if aggregate_id is not None:
        checked_name("publish", field="aggregate_id", text=aggregate_id)
    if trace is not None:
        checked_name("publish", field="trace", text=trace)
    body = encode(payload, what="message", limits=DEFAULT_LIMITS)
    return NewMessage(message_id, aggregate_id or message_id, message_type, body, trace)


def checked_name(owner: str, *, field: str, text: object) -> str:
    """Return a name that fits into a header of a message and can be shown in a line."""
    if (
        not isinstance(text, str)
        or not text
        or not text.isprintable()
        or len(text.encode()) > MAX_NAME_BYTES
    ):
        limit = f"printable text of 1 to {MAX_NAME_BYTES} bytes"
        raise InvalidValue(owner, field=field, value=text, limit=limit)
    return text


def checked_id(message_id: object) -> str:
    """Return a message's id that a caller chose, in its usual form, or raise `InvalidValue`."""
    try:
        return str(UUID(message_id)) if isinstance(message_id, str) else _refused_id(message_id)
    except ValueError:
        return _refused_id(message_id)


def _refused_id(given: object) -> NoReturn:
    raise InvalidValue("publish", field="message_id", value=given, limit="a UUID, as text")


class OutboxMessage(NamedTuple):
    """A stored message; a row, as `Job` is one."""

    position: int
    """Rises with every message that is stored: the order in which an aggregate's are published."""
    id: str
    aggregate_id: str
    message_type: str
    payload: str
    trace: str | None
    status: OutboxStatus
    created_at: Instant
    processed_at: Instant | None
    """When it was published, or given up."""
    retry_count: int
    """Failed tries."""
    error_message: str | None
    """Why the last of them was."""
    run_at: Instant
    """Not before this instant; while a relay has it, the end of its lease."""
    holder: str | None
    lease_until: Instant | None


class Trouble(StrEnum):
    """Why a message that can be sent was not."""

    REFUSED = "refused"
    """The broker said that it did not take the message."""
    UNROUTABLE = "unroutable"
    """No queue wants messages of this type."""
    UNAVAILABLE = "unavailable"
    """The broker cannot be reached, or lacks what it was to publish to."""
    BLOCKED = "blocked"
    """The broker is short of memory or disk, and takes nothing from anybody."""
    UNCONFIRMED = "unconfirmed"
    """No answer came: the broker may have the message all the same."""


BLAMES_MESSAGE: Final = frozenset({Trouble.REFUSED, Trouble.UNROUTABLE})
"""Troubles that use up a message's budget; an outage, however long, does not."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The broker has the message, and will not lose it."""


@dataclass(frozen=True, slots=True)
class NotTaken:
    """The broker does not have it, or did not say that it has."""

    trouble: Trouble
    error: str


@dataclass(frozen=True, slots=True)
class Unsendable:
    """No try can succeed, because of what the message is."""

    error: str


@dataclass(frozen=True, slots=True)
class Untried:
    """It was not handed over, because one before it was not taken or because time ran out."""


@dataclass(frozen=True, slots=True)
class Postponed:
    """It was not handed over, because it is not to be before an instant."""

    until: Instant


Publication: TypeAlias = Confirmed | NotTaken | Unsendable | Untried | Postponed
"""What became of a try to publish a message."""


def decide_publish(
    message: OutboxMessage, outcome: Publication, policy: Retry, now: Instant, roll: float
) -> OutboxMessage:
    """Return the message as it is after `outcome` at `now`; nobody has it any more.

    It stays pending until the broker has it. It is given up when it can never be sent, or when the
    broker refuses it as often as the policy allows.
    """
    message = message._replace(holder=None, lease_until=None)
    match outcome:
        case Confirmed():
            return message._replace(status=OutboxStatus.PUBLISHED, processed_at=now)
        case Untried():
            return message._replace(run_at=now)
        case Postponed():
            return message._replace(run_at=max(now, outcome.until))
        case Unsendable():
            return _given_up(message, outcome.error, now)
        case NotTaken():
            error = f"{outcome.trouble}: {outcome.error}"
            tries = message.retry_count + 1
            if outcome.trouble in BLAMES_MESSAGE and policy.exhausted(tries):
                return _given_up(message, error, now)
            delay_us = policy.delay_us(failures=tries, roll=roll, retry_after_us=None)
            return message._replace(
                retry_count=tries,
                error_message=clean_text(error, MAX_ERROR_LENGTH),
                run_at=later(now, delay_us),
            )
    assert_never(outcome)


def _given_up(message: OutboxMessage, error: str, now: Instant) -> OutboxMessage:
    return message._replace(
        status=OutboxStatus.FAILED,
        processed_at=now,
        retry_count=message.retry_count + 1,
        error_message=clean_text(error, MAX_ERROR_LENGTH),
        run_at=now,
    )
