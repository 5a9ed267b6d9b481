"""What is recorded of a delivery: each send and each lookup, and what came of it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.core.delivery.delivery import Delivery, DeliveryState
from holdfast.core.delivery.doubt import is_under_way
from holdfast.core.delivery.event import (
    Accepted,
    CourierLost,
    DeliveryEvent,
    Finding,
    LookedUp,
    Parked,
    Postponed,
    Reconciled,
    SendFailed,
)
from holdfast.core.values.failure import EVIDENCE_MISSING, WORKER_LOST, Failure

if TYPE_CHECKING:
    from holdfast.core.values.instant import Instant


class Outcome(StrEnum):
    """What came of a send or a lookup."""

    ACCEPTED = "accepted"
    """The provider has accepted the message."""
    REFUSED = "refused"
    """The provider has not accepted it."""
    IN_DOUBT = "in_doubt"
    """The provider may have accepted it: no answer, or none that says."""
    POSTPONED = "postponed"
    """The provider takes no more until its quota is renewed; no attempt is spent."""
    LOST = "lost"
    """The worker did not report what came of the send."""
    FOUND = "found"
    """A lookup found the message: the provider had accepted it."""
    NOT_FOUND = "not_found"
    """A lookup found nothing."""
    NO_ANSWER = "no_answer"
    """A lookup was not answered."""
    UNKNOWN = "unknown"
    """Nothing more can be found out: a person decides."""
    TAKEN_BACK = "taken_back"
    """It was marked as sent, and the provider knows nothing of it: the mark was cleared."""


FAILURES: Final = frozenset({Outcome.REFUSED, Outcome.IN_DOUBT, Outcome.LOST})
"""The outcomes of a send that was not accepted, as far as anybody knew."""
_OF_FINDING: Final = {
    Finding.FOUND: Outcome.FOUND,
    Finding.MISSING: Outcome.NOT_FOUND,
    Finding.UNAVAILABLE: Outcome.NO_ANSWER,
}


class DeliveryAttempt(NamedTuple):
    """One line in the log of a delivery; a row, as `Delivery` is one."""

    delivery_id: str
    revision: int
    """That of the delivery after it: no two lines have the same."""
    at: Instant
    attempt: int
    """Which send it is about; 0 before the first."""
    outcome: Outcome
    error_class: str | None
    http_status: int | None
    notification_id: str | None
    """The provider's id, where it gave one."""
    holder: str | None
    """The worker."""
    message: str | None
    """What went wrong, in a sentence."""


def attempt_of(before: Delivery, event: DeliveryEvent, after: Delivery) -> DeliveryAttempt | None:
    """Return what the log says of a change, or None when it was neither a send nor a lookup."""
    found = _outcome(before, event, after)
    if found is None:
        return None
    outcome, failure = found
    return DeliveryAttempt(
        delivery_id=before.id,
        revision=before.revision + 1,
        at=after.updated_at,
        attempt=before.attempts,
        outcome=outcome,
        error_class=None if failure is None else failure.error_class,
        http_status=None if failure is None else failure.http_status,
        notification_id=after.notification_id or before.notification_id,
        holder=before.holder,
        message=None if failure is None else failure.message,
    )


def _of_lost(before: Delivery) -> tuple[Outcome, Failure | None] | None:
    if before.state is not DeliveryState.SENDING:
        return None
    return (Outcome.LOST, WORKER_LOST) if is_under_way(before) else (Outcome.NO_ANSWER, None)


def _outcome(
    before: Delivery, event: DeliveryEvent, after: Delivery
) -> tuple[Outcome, Failure | None] | None:
    match event:
        case Accepted():
            return Outcome.ACCEPTED, None
        case SendFailed(failure):
            return Outcome.REFUSED if failure.outcome_known else Outcome.IN_DOUBT, failure
        case Postponed(failure):
            return Outcome.POSTPONED, failure
        case CourierLost():
            return _of_lost(before)
        case LookedUp():
            return _OF_FINDING[event.finding], None
        case Parked():
            return Outcome.UNKNOWN, None
        case Reconciled() if before.notified_at is not None and after.notified_at is None:
            return Outcome.TAKEN_BACK, EVIDENCE_MISSING
        case Reconciled() if before.state is not after.state:
            return _OF_FINDING[event.finding], None
        case _:
            return None
