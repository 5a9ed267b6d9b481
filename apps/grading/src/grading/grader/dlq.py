"""The dead-letter queue: what the broker gives up becomes a record, and records reach the store."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from grading.grader.rows import read_request
from grading.messages.contract import DLQ
from grading.messages.outgoing import dlq_record, event_id
from grading.states import FailureReason
from holdfast import GiveUp, Holdfast
from holdfast.errors import UnknownLetter
from holdfast.messaging import Handle, Received

LOGGER: Final = logging.getLogger("grading.dlq")
INTAKE: Final = "intake"
_LOST: Final = "the broker gave it up after {deliveries} deliveries"


class DeadLetterQueue:
    """Handles of what is in `grading.request.dead` and in `grading.dlq`."""

    def __init__(self, app: Callable[[], Holdfast], *, redact: bool) -> None:
        self._app = app
        self._redact = redact

    def wrap(self, received: Received) -> None:
        """Publish the record of a request that the broker has given up by itself."""
        original: Any = received.payload if received.unreadable is None else received.unreadable
        is_poison = received.unreadable is not None
        reason = FailureReason.INVALID_SCHEMA if is_poison else FailureReason.WORKER_LOST
        why = "it is no JSON" if is_poison else _LOST.format(deliveries=received.deliveries)
        with self._app().transaction() as tx:
            record = dlq_record(
                original=original,
                reason=reason,
                attempts_made=max(received.deliveries, 0),
                last_error=why,
                at=tx.now,
                stage=INTAKE,
                redact=self._redact,
            )
            self._app().publish(
                DLQ,
                record,
                message_id=event_id(received.id, "dead"),
                connection=tx.connection,
            )

    def keep(self, received: Received) -> None:
        """Have a record become a dead letter of the store, unless its job has one there already.

        What raises `GiveUp` is one: that is what a loopback makes of it.
        """
        if self._is_known(received):
            return
        payload = received.payload if isinstance(received.payload, dict) else {}
        reason = payload.get("failureReason")
        known = reason if reason in set(FailureReason) else FailureReason.INTERNAL
        raise GiveUp(str(known), str(payload.get("lastError", "")))

    def moved(self, bury: Handle) -> Handle:
        """Return what moves records into the store by `bury`, but for those that are there."""

        def move(received: Received) -> None:
            if not self._is_known(received):
                bury(received)

        return move

    def _is_known(self, received: Received) -> bool:
        payload = received.payload if isinstance(received.payload, dict) else {}
        request_id = payload.get("requestId")
        if not isinstance(request_id, str) or not self._has_letter(request_id):
            return False
        LOGGER.info("request %s has its dead letter already", request_id)
        return True

    def _has_letter(self, request_id: str) -> bool:
        with self._app().transaction() as tx:
            row = read_request(tx, request_id)
        if row is None:
            return False
        try:
            self._app().dead.get(row.job_id)
        except UnknownLetter:
            return False
        return True
