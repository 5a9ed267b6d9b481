"""Deliveries, promises and events as the tests of their machine use them."""

from typing import NamedTuple

from holdfast.core.delivery.delivery import Delivery, DeliveryState, Terms, token_of
from holdfast.core.delivery.event import (
    Accepted,
    AskedAgain,
    CourierLost,
    DeliveryEvent,
    Finding,
    HandedBack,
    LookedUp,
    OperatorSays,
    Parked,
    Postponed,
    Reconciled,
    SendBegun,
    SendFailed,
    Word,
)
from holdfast.core.delivery.promise import Promise
from holdfast.core.values.failure import BUG, Category, Failure
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.core.values.quota import Window
from holdfast.core.values.retry import Retry

NOW = Instant(1_800_000_000 * SECOND_US)
LAG_S = 30
WINDOW_S = 3600


def after(seconds: float) -> Instant:
    """The instant that many seconds after `NOW`."""
    return Instant(NOW + int(seconds * SECOND_US))


PROMISES = {
    "both": Promise(dedupes_for=WINDOW_S, lookup_lag=LAG_S),
    "lookup": Promise(lookup_lag=LAG_S),
    "dedupes": Promise(dedupes_for=WINDOW_S),
    "neither": Promise(),
}


def terms_of(promise: Promise, **changes) -> Terms:
    """Three sends eight seconds apart, three lookups four seconds apart."""
    given = {
        "promise": promise,
        "retry": Retry(attempts=3, base=8, factor=1, jitter="none"),
        "lookup": Retry(attempts=3, base=4, factor=1, jitter="none"),
        "timeout_us": 10 * SECOND_US,
    }
    return Terms(**{**given, **changes})


def failure(error_class: str, *, retryable: bool, outcome_known: bool, **facts) -> Failure:
    category = Category.TRANSIENT if retryable else Category.PERMANENT
    return Failure(
        error_class=error_class,
        message="",
        category=category,
        retryable=retryable,
        outcome_known=outcome_known,
        **facts,
    )


BUSY = failure("RATE_LIMITED", retryable=True, outcome_known=True)
REFUSED = failure("INVALID", retryable=False, outcome_known=True)
SPENT = failure("QUOTA_EXCEEDED", retryable=True, outcome_known=True)
LOST = failure("NETWORK_TIMEOUT", retryable=True, outcome_known=False)

BEGAN_AT = after(-60)
"""When the send of a delivery that is being sent began."""

DOUBTED_AT = after(-50)
"""When the outcome of one that is in doubt became a question."""

EVENTS: dict[str, DeliveryEvent] = {
    "SendBegun": SendBegun(),
    "Accepted": Accepted("m-1"),
    "Busy": SendFailed(BUSY, BEGAN_AT),
    "Refused": SendFailed(REFUSED, BEGAN_AT),
    "Lost": SendFailed(LOST, BEGAN_AT),
    "Bug": SendFailed(BUG, BEGAN_AT),
    "HandedBack": HandedBack(),
    "Unsent": HandedBack(BEGAN_AT, after(5)),
    "Postponed": Postponed(SPENT, BEGAN_AT, Window.DAY),
    "Found": LookedUp(Finding.FOUND, "m-1"),
    "Missing": LookedUp(Finding.MISSING),
    "Silence": LookedUp(Finding.UNAVAILABLE),
    "Parked": Parked(),
    "CourierLost": CourierLost(),
    "AskedAgain": AskedAgain("job-1", "notify", required=True),
    "AskedByOther": AskedAgain("job-2", "notify", required=False),
    "SaysSent": OperatorSays(Word.SENT, "ada"),
    "SaysResend": OperatorSays(Word.RESEND, "ada"),
    "SaysFail": OperatorSays(Word.FAIL, "ada", "left the firm"),
    "RecFound": Reconciled(Finding.FOUND, "m-1"),
    "RecMissing": Reconciled(Finding.MISSING),
    "RecSilence": Reconciled(Finding.UNAVAILABLE),
}


class Standing(NamedTuple):
    """How a delivery stands before an event."""

    state: DeliveryState
    leased: bool = False


STANDINGS = {
    "intent": Standing(DeliveryState.INTENT),
    "claimed": Standing(DeliveryState.INTENT, leased=True),
    "sending": Standing(DeliveryState.SENDING, leased=True),
    "in-doubt": Standing(DeliveryState.SENDING),
    "asking": Standing(DeliveryState.SENDING, leased=True),
    "sent": Standing(DeliveryState.SENT),
    "failed": Standing(DeliveryState.FAILED),
    "unknown": Standing(DeliveryState.UNKNOWN),
}


def a_delivery(standing: str, **changes) -> Delivery:
    """A delivery that could stand in the store like this."""
    state, leased = STANDINGS[standing]
    began = state in {DeliveryState.SENDING, DeliveryState.SENT, DeliveryState.UNKNOWN}
    trouble = {"in-doubt": LOST, "asking": LOST, "unknown": LOST, "failed": REFUSED}.get(standing)
    key = {"subject": "s", "recipient": "jane@example.test", "version": 1, "provider": "mail"}
    delivery = Delivery(
        id="0190-delivery",
        **key,
        token=token_of(**key),
        message='{"to":"jane@example.test"}',
        created_at=after(-100),
        job_id="job-1",
        stage="notify",
        required=True,
        state=state,
        revision=4,
        run_at=after(-1),
        holder="courier-1" if leased else None,
        lease_until=after(-1) if leased else None,
        attempts=0 if state is DeliveryState.INTENT else 1,
        lookups=0,
        began_at=BEGAN_AT if began else None,
        notification_id="m-1" if state is DeliveryState.SENT else None,
        notified_at=after(-50) if state is DeliveryState.SENT else None,
        error_class=None if trouble is None else trouble.error_class,
        error=None if trouble is None else trouble.text,
        checked_at=None,
        job_told=state in {DeliveryState.SENT, DeliveryState.FAILED},
        updated_at=after(-60),
        doubted_at=DOUBTED_AT if standing in {"in-doubt", "asking", "unknown"} else None,
    )
    return delivery._replace(**changes)
