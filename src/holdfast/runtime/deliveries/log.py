"""Tells of deliveries, in the log, once what happened to them is committed.

Recipients are masked, and messages are not shown at all.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from holdfast.core.delivery.delivery import Delivery, DeliveryState
from holdfast.core.delivery.event import (
    Accepted,
    AskedAgain,
    CourierLost,
    HandedBack,
    LookedUp,
    OperatorSays,
    Parked,
    Postponed,
    Reconciled,
    SendBegun,
    SendFailed,
)
from holdfast.core.delivery.lifecycle import breaks_order
from holdfast.core.values.instant import to_rfc3339
from holdfast.redaction import mask_recipient
from holdfast.runtime.events.signals import DeliveryChanged, Signal

LOGGER: Final = logging.getLogger("holdfast.delivery")


def masked(recipient: str) -> str:
    """Return a recipient as it may be shown."""
    return mask_recipient(recipient, key=b"").shown


def tell(changed: DeliveryChanged, signal: Signal[DeliveryChanged]) -> None:
    """Tell of a change that was written, with a line where it is worth one."""
    signal.tell(changed)
    before, event, after = changed
    if breaks_order(before, after):
        LOGGER.critical(
            "a delivery was marked as sent, and the provider knows nothing of it",
            extra={"event": "ordering_broken", **facts(after)},
        )
        return
    match event:
        case SendBegun() | AskedAgain():
            return
        case SendFailed() | CourierLost() | Parked():
            _tell_of_trouble(after)
        case Postponed():
            LOGGER.warning(
                "the provider's quota for the %s is used up",
                event.window,
                extra={
                    "event": "delivery_postponed",
                    "until": to_rfc3339(after.run_at),
                    **facts(after),
                },
            )
        case LookedUp() | Reconciled():
            _tell_of_lookup(before, after)
        case Accepted():
            LOGGER.info("delivery sent", extra={"event": "delivery_sent", **facts(after)})
        case HandedBack():
            LOGGER.debug("delivery held", extra={"event": "delivery_held", **facts(after)})
        case OperatorSays():
            LOGGER.info(
                "delivery resolved",
                extra={"event": "delivery_resolved", "by": event.by, **facts(after)},
            )


def _tell_of_trouble(after: Delivery) -> None:
    match after.state:
        case DeliveryState.FAILED:
            LOGGER.error("delivery failed", extra={"event": "delivery_failed", **facts(after)})
        case DeliveryState.UNKNOWN:
            LOGGER.error(
                "nobody can tell whether the recipient has been told",
                extra={"event": "delivery_unknown", **facts(after)},
            )
        case _:
            LOGGER.warning("delivery retried", extra={"event": "delivery_retried", **facts(after)})


def _tell_of_lookup(before: Delivery, after: Delivery) -> None:
    if before.state is after.state:
        LOGGER.debug("delivery looked up", extra={"event": "delivery_checked", **facts(after)})
    elif after.state is DeliveryState.SENT:
        LOGGER.warning(
            "the provider has what nobody had marked; it is not sent again",
            extra={"event": "delivery_found", **facts(after)},
        )
    else:
        _tell_of_trouble(after)


def facts(delivery: Delivery) -> dict[str, Any]:
    """Return the fields of a log line about a delivery."""
    known: dict[str, Any] = {
        "delivery_id": delivery.id,
        "subject": delivery.subject,
        "recipient": masked(delivery.recipient),
        "version": delivery.version,
        "provider": delivery.provider,
        "status": delivery.state.value,
        "attempt": delivery.attempts,
    }
    if delivery.job_id is not None:
        known["job_id"] = delivery.job_id
    if delivery.notification_id is not None:
        known["notification_id"] = delivery.notification_id
    if delivery.error_class is not None:
        known["error_code"] = delivery.error_class
    return known
