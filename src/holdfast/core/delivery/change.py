"""The columns that a decision writes, for each way a delivery may go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.delivery.delivery import Delivery, DeliveryState
from holdfast.core.values.failure import EVIDENCE_MISSING, Failure

if TYPE_CHECKING:
    from holdfast.core.values.instant import Instant


def released(delivery: Delivery, *, run_at: Instant, now: Instant) -> Delivery:
    """Return a delivery that no courier has, and that is due at `run_at`."""
    return delivery._replace(run_at=run_at, holder=None, lease_until=None, updated_at=now)


def doubted(delivery: Delivery, failure: Failure, *, run_at: Instant, now: Instant) -> Delivery:
    """Return a delivery whose outcome has to be found out."""
    return released(delivery, run_at=run_at, now=now)._replace(
        state=DeliveryState.SENDING,
        doubted_at=now,
        error_class=failure.error_class,
        error=failure.text,
    )


def unknown(delivery: Delivery, *, now: Instant) -> Delivery:
    """Return a delivery whose outcome nothing more can be found out about."""
    return released(delivery, run_at=now, now=now)._replace(
        state=DeliveryState.UNKNOWN, job_told=False
    )


def sent(delivery: Delivery, notification_id: str | None, *, now: Instant) -> Delivery:
    """Return a delivery that the provider has accepted.

    One whose mark was taken back before keeps saying so.
    """
    taken_back = delivery.error_class == EVIDENCE_MISSING.error_class
    return released(delivery, run_at=now, now=now)._replace(
        state=DeliveryState.SENT,
        notification_id=notification_id or delivery.notification_id,
        notified_at=now,
        doubted_at=None,
        error_class=delivery.error_class if taken_back else None,
        error=delivery.error if taken_back else None,
        checked_at=None,
        job_told=False,
    )


def afresh(
    delivery: Delivery, *, run_at: Instant, now: Instant, failure: Failure | None = None
) -> Delivery:
    """Return a delivery of which the provider has accepted nothing, to be sent at `run_at`."""
    return released(delivery, run_at=run_at, now=now)._replace(
        state=DeliveryState.INTENT,
        lookups=0,
        began_at=None,
        doubted_at=None,
        notification_id=None,
        notified_at=None,
        error_class=None if failure is None else failure.error_class,
        error=None if failure is None else failure.text,
        checked_at=None,
        job_told=False,
    )


def failed(delivery: Delivery, failure: Failure, *, now: Instant) -> Delivery:
    """Return a delivery that the provider has not accepted, and that is given up."""
    ended = afresh(delivery, run_at=now, now=now, failure=failure)
    return ended._replace(state=DeliveryState.FAILED)
