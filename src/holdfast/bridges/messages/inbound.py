"""What is done with a message from outside: once, however often it comes."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

from holdfast.bridges.messages.correlation import OUTCOME_FIELD, RESULT_FIELD, TOKEN_FIELD
from holdfast.bridges.messages.dead_messages import attempts_of, queue_of
from holdfast.bridges.messages.dead_messages import failure_of as failure_in
from holdfast.core.dead_letter.dead_letter import MESSAGE, DeadLetter, LetterState
from holdfast.core.dead_letter.fingerprint import fingerprint
from holdfast.core.job.job import DEFAULT_OWNER
from holdfast.core.values.failure import ErrorClass, clean_text
from holdfast.core.values.instant import Instant, to_datetime
from holdfast.core.values.outbox import MAX_NAME_BYTES
from holdfast.errors import ConflictError, GiveUp, InvalidDocument, UsageError
from holdfast.runtime.kernel.clock import Clock
from holdfast.runtime.outbox.answer import Outcome, Progress, answer_of, failure_of, progress_of
from holdfast.runtime.outbox.callbacks import REPLIES
from holdfast.runtime.outbox.received import Handle, Received
from holdfast.store.contract import Store

LOGGER: Final = logging.getLogger("holdfast.consumer")
_STATUSES: Final = range(1_000)

Handler = Callable[[Received, Any], None]
"""Does what a message asks for, on the connection of a transaction that is committed after it."""


def once(opened: Callable[[], Store], *, consumer: str, clock: Clock, handler: Handler) -> Handle:
    """Return what runs `handler` and notes the message in one transaction, unless it was noted."""

    def handle(received: Received) -> None:
        store = opened()
        with store.transaction() as connection:
            if store.inbox.take(consumer, received.id, now=clock.now(), connection=connection):
                handler(received, connection)
            else:
                LOGGER.info(
                    "message %s was handled before",
                    received.id,
                    extra={
                        "event": "duplicate",
                        "consumer": consumer,
                        "message_id": received.id,
                    },
                )

    return handle


def submitted(submit: Callable[..., object]) -> Handle:
    """Return what makes a job of a message; its id is the key, so that it makes one."""

    def handle(received: Received) -> None:
        submit(received.payload, key=received.id, key_alone=True, trace=received.trace)

    return handle


def replied(receive: Callable[..., object], *, clock: Clock) -> Handle:
    """Return what gives the stage that a message answers what the message says, once.

    A reply that is refused is given up at once: no other delivery of it could be taken. A progress
    note that is refused is dropped: nobody waits for it any more.
    """

    def handle(received: Received) -> None:
        token, answer = reply_of(received)
        when = received.arrived_s
        known: dict[str, Any] = {
            "received_at": None if when is None else to_datetime(clock.instant_of(when))
        }
        if not isinstance(answer, Progress):
            # A note that comes twice is noted twice: that changes nothing.
            known["message_id" if received.has_id else "fingerprint"] = received.id
        try:
            receive(token, answer, **known)
        except (UsageError, ConflictError) as error:
            if isinstance(answer, Progress):
                _log_dropped(received, error)
            elif isinstance(error, ConflictError):
                raise
            else:
                raise GiveUp(ErrorClass.INVALID, str(error)) from error

    return handle


def _log_dropped(received: Received, error: Exception) -> None:
    facts = {"event": "progress_dropped", "consumer": REPLIES, "message_id": received.id}
    LOGGER.info("progress note %s is of no use: %s", received.id, error, extra=facts)


def reply_of(received: Received) -> tuple[str, Any]:
    """Return the callback token and the answer that a reply carries.

    They are the fields `callback_token` and `result` of its payload, or `outcome` and what belongs
    to it; or its correlation id and the payload as a whole, which the header `outcome` may say to
    be a failure or a progress note.
    """
    payload = received.payload
    token = payload.get(TOKEN_FIELD) if isinstance(payload, dict) else None
    try:
        if isinstance(token, str):
            return token, _answer_in(payload)
        if received.correlation_id is not None:
            return received.correlation_id, _whole_answer(received)
    except InvalidDocument as error:
        raise GiveUp(ErrorClass.INVALID, str(error)) from error
    raise GiveUp(
        ErrorClass.INVALID,
        f"the reply carries no callback token: its payload has no field {TOKEN_FIELD!r}, "
        "and it has no correlation id",
    )


def _answer_in(payload: dict[str, Any]) -> Any:  # noqa: ANN401 - or any JSON
    if OUTCOME_FIELD in payload:
        return answer_of(payload[OUTCOME_FIELD], payload)
    if RESULT_FIELD not in payload:
        # A request carries the token as well, and must not answer itself.
        why = f"the reply carries no result: its payload has no field {RESULT_FIELD!r}"
        raise GiveUp(ErrorClass.INVALID, why)
    return payload[RESULT_FIELD]


def _whole_answer(received: Received) -> Any:  # noqa: ANN401 - or any JSON
    match received.headers.get(OUTCOME_FIELD, Outcome.RESULT):
        case Outcome.FAILURE:
            return failure_of(received.payload)
        case Outcome.PROGRESS:
            return progress_of(received.payload)
        case _:
            return received.payload


def buried(store: Store, *, clock: Clock, queue: str) -> Handle:
    """Return what keeps a dead letter of the broker's as one of the store's."""

    def handle(received: Received) -> None:
        now = clock.now()
        letter = letter_of(received, queue=queue, now=now)
        LOGGER.warning(
            "message %s is a dead letter: %s",
            received.id,
            letter.message,
            extra={
                "event": "message_buried" if store.letters.bury(letter) else "duplicate",
                "queue": letter.queue,
                "message_id": received.id,
                "error_class": letter.error_class,
            },
        )

    return handle


def letter_of(received: Received, *, queue: str, now: Instant) -> DeadLetter:
    """Return the dead letter of a message, which has the message's own id where that is a UUID."""
    failure = failure_in(received.headers)
    died_in = queue_of(received.headers, queue)
    return DeadLetter(
        id=_letter_id(received.id),
        kind=MESSAGE,
        pipeline=clean_text(received.type, MAX_NAME_BYTES),
        stage=died_in,
        queue=died_in,
        owner=DEFAULT_OWNER,
        error_class=failure.error_class,
        previous_class=None,
        category=failure.category,
        severity=failure.severity,
        retryable=failure.retryable,
        outcome_known=failure.outcome_known,
        http_status=failure.http_status if failure.http_status in _STATUSES else None,
        attempts=attempts_of(received.headers),
        deaths=1,
        first_failure_at=now,
        last_failure_at=now,
        holder=None,
        message=failure.message,
        exception_type=failure.exception_type,
        stack=failure.stack,
        fingerprint=fingerprint(failure, died_in),
        payload=_document(received),
        state=LetterState.OPEN,
        revision=0,
        updated_at=now,
        cause=None,
        evidence=None,
        note=None,
        replayed_at=None,
        resolved_at=None,
    )


def _letter_id(message_id: str) -> str:
    try:
        return str(UUID(message_id))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, message_id))


def _document(received: Received) -> str:
    told: dict[str, Any] = {
        "message_id": received.id,
        "message_type": received.type,
        "aggregate_id": received.subject,
        "trace": received.trace,
    }
    if received.unreadable is None:
        told["payload"] = received.payload
    else:
        told["unreadable"] = received.unreadable
    return json.dumps(told, ensure_ascii=False)
