"""The one place that says what follows for a delivery.

`decide_delivery` takes a delivery as it was read, an event, the terms of its provider, the instant
and one roll of chance, and returns the delivery after it, or `Unmoved`. `next_step` says what a
courier that has claimed a delivery does with it. Neither reads a clock or anything outside.

A message that may have been accepted is never simply sent again. Where the provider can look up it
is asked first, and not before its answer can be believed; where it drops what it has seen, the same
token is sent again within its window; where it can do neither, a person decides.
"""

from __future__ import annotations

import json
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple, assert_never

from holdfast.core.delivery import Delivery, DeliveryState
from holdfast.core.delivery_change import afresh, doubted, failed, released, sent
from holdfast.core.delivery_event import (
    Accepted,
    AskedAgain,
    CourierLost,
    DeliveryEvent,
    Finding,
    HandedBack,
    LookedUp,
    OperatorSays,
    Parked,
    Reconciled,
    SendBegun,
    SendFailed,
    Word,
)
from holdfast.core.failure import EVIDENCE_MISSING, WITHDRAWN, WORKER_LOST, Failure
from holdfast.core.instant import SECOND_US, Instant, later

if TYPE_CHECKING:
    from holdfast.core.delivery import Terms

STALE_US: Final = 300 * SECOND_US
"""An intent that lay untouched for so long may come from a backup: the provider is asked first."""


class Step(Enum):
    """What a courier does with a delivery."""

    SEND = auto()
    LOOK_UP = auto()
    PARK = auto()
    """Leave it to a person."""


class Unmoved(NamedTuple):
    """The event does not apply: nothing is written."""

    delivery_id: str
    state: DeliveryState
    event: str
    why: str


def next_step(delivery: Delivery, terms: Terms, now: Instant) -> Step:
    """Return what comes next for a delivery that is due."""
    can_look_up = _may_look_up(delivery, terms, now)
    if _is_open(delivery):
        if can_look_up:
            return Step.LOOK_UP
        return Step.SEND if _may_resend(delivery, terms, now) else Step.PARK
    if not can_look_up or delivery.lookups >= terms.lookup.attempts:
        return Step.SEND
    is_stale = now - delivery.updated_at > max(STALE_US, _lag_us(terms))
    first_asks = terms.look_first and not delivery.lookups
    return Step.LOOK_UP if is_stale or first_asks else Step.SEND


def decide_delivery(
    delivery: Delivery, event: DeliveryEvent, terms: Terms, now: Instant, roll: float
) -> Delivery | Unmoved:
    """Return the delivery after `event`, which happened at `now`; `roll` is in [0, 1).

    The revision stays: the write that names it raises it.
    """
    match event:
        case SendBegun():
            return _begin(delivery, event, terms, now)
        case Accepted():
            if delivery.state is DeliveryState.SENT:
                return _unmoved(delivery, event, "it is marked as sent already")
            return sent(delivery, event.notification_id, now=now)
        case SendFailed():
            if delivery.state is not DeliveryState.SENDING or delivery.holder is None:
                return _unmoved(delivery, event, "no courier sends it")
            return _after_failure(delivery, event, terms, now, roll)
        case HandedBack():
            return _hand_back(delivery, event, now)
        case LookedUp():
            return _after_lookup(delivery, event, terms, now, roll)
        case Parked():
            if delivery.holder is None or next_step(delivery, terms, now) is not Step.PARK:
                return _unmoved(delivery, event, "its outcome can still be found out")
            return released(delivery, run_at=now, now=now)._replace(state=DeliveryState.UNKNOWN)
        case CourierLost():
            return _lose(delivery, event, terms, now, roll)
        case AskedAgain():
            return _ask_again(delivery, event, now)
        case OperatorSays():
            return _obey(delivery, event, now)
        case Reconciled():
            return _reconcile(delivery, event, terms, now)
    assert_never(event)


def breaks_order(before: Delivery, after: Delivery) -> bool:
    """Tell whether a mark was taken back: somebody had marked what was never sent."""
    return before.notified_at is not None and after.notified_at is None


def _begin(delivery: Delivery, event: SendBegun, terms: Terms, now: Instant) -> Delivery | Unmoved:
    if delivery.holder is None or next_step(delivery, terms, now) is not Step.SEND:
        return _unmoved(delivery, event, "it is not to be sent now")
    return delivery._replace(
        state=DeliveryState.SENDING,
        attempts=delivery.attempts + 1,
        lookups=0,
        began_at=now if delivery.began_at is None else delivery.began_at,
        updated_at=now,
    )


def _after_failure(
    delivery: Delivery, event: SendFailed, terms: Terms, now: Instant, roll: float
) -> Delivery:
    failure = event.failure
    if not failure.outcome_known or delivery.began_at != event.since:
        # Also when this try was refused: an earlier one may have been accepted.
        return _doubt(delivery, failure, terms, now, roll)
    if _is_final(delivery, failure, terms):
        return failed(delivery, failure, now=now)
    run_at = _retry_at(delivery, failure, terms, now, roll)
    return afresh(delivery, run_at=run_at, now=now, failure=failure)


def _doubt(
    delivery: Delivery, failure: Failure, terms: Terms, now: Instant, roll: float
) -> Delivery:
    """Let the outcome be found out: by a lookup, by the same token again, or by a person."""
    if _may_look_up(delivery, terms, now):
        return doubted(delivery, failure, run_at=later(now, _lag_us(terms)), now=now)
    if failure.retryable and _may_resend(delivery, terms, now):
        run_at = _retry_at(delivery, failure, terms, now, roll)
        return doubted(delivery, failure, run_at=run_at, now=now)
    return doubted(delivery, failure, run_at=now, now=now)._replace(state=DeliveryState.UNKNOWN)


def _hand_back(delivery: Delivery, event: HandedBack, now: Instant) -> Delivery | Unmoved:
    if delivery.holder is None:
        return _unmoved(delivery, event, "no courier has it")
    run_at = now if event.until is None else max(event.until, now)
    if event.since is None or delivery.state is DeliveryState.INTENT:
        return released(delivery, run_at=run_at, now=now)
    if delivery.began_at == event.since:
        given_back = afresh(delivery, run_at=run_at, now=now)
    else:
        given_back = released(delivery, run_at=run_at, now=now)
    return given_back._replace(
        attempts=delivery.attempts - 1, error_class=delivery.error_class, error=delivery.error
    )


def _after_lookup(
    delivery: Delivery, event: LookedUp, terms: Terms, now: Instant, roll: float
) -> Delivery | Unmoved:
    if delivery.state not in {DeliveryState.INTENT, DeliveryState.SENDING}:
        return _unmoved(delivery, event, "its outcome is not being found out")
    if event.finding is Finding.FOUND:
        return sent(delivery, event.notification_id, now=now)
    if delivery.holder is None:
        return _unmoved(delivery, event, "no courier has it")
    if event.finding is Finding.UNAVAILABLE:
        return _after_silence(delivery, terms, now, roll)
    if _is_open(delivery):
        return _after_missing(delivery, terms, now)
    return released(delivery, run_at=now, now=now)._replace(lookups=delivery.lookups + 1)


def _after_silence(delivery: Delivery, terms: Terms, now: Instant, roll: float) -> Delivery:
    """Ask again later; in the end a person decides, or what never began is sent after all."""
    lookups = delivery.lookups + 1
    asked = released(delivery, run_at=now, now=now)._replace(lookups=lookups)
    if lookups < terms.lookup.attempts:
        delay_us = terms.lookup.delay_us(failures=lookups, roll=roll, retry_after_us=None)
        return asked._replace(run_at=later(now, delay_us))
    return asked._replace(state=DeliveryState.UNKNOWN) if _is_open(delivery) else asked


def _after_missing(delivery: Delivery, terms: Terms, now: Instant) -> Delivery:
    """Believe that the provider has nothing, unless its word comes too early or too late."""
    if not _may_look_up(delivery, terms, now):
        return released(delivery, run_at=now, now=now)._replace(state=DeliveryState.UNKNOWN)
    if delivery.began_at is not None and now < later(delivery.began_at, _lag_us(terms)):
        return released(delivery, run_at=later(delivery.began_at, _lag_us(terms)), now=now)
    last = None if delivery.error is None else Failure.from_document(json.loads(delivery.error))
    if _is_final(delivery, last or WORKER_LOST, terms):
        return failed(delivery, last or WORKER_LOST, now=now)
    return afresh(delivery, run_at=now, now=now, failure=last)


def _lose(
    delivery: Delivery, event: CourierLost, terms: Terms, now: Instant, roll: float
) -> Delivery | Unmoved:
    if delivery.holder is None:
        return _unmoved(delivery, event, "no courier has it")
    if delivery.lease_until is not None and now <= delivery.lease_until:
        return _unmoved(delivery, event, "the lease has not ended")
    if delivery.state is DeliveryState.INTENT:
        return released(delivery, run_at=now, now=now)
    return _doubt(delivery, WORKER_LOST, terms, now, roll)


def _ask_again(delivery: Delivery, event: AskedAgain, now: Instant) -> Delivery | Unmoved:
    if delivery.state is DeliveryState.SENT:
        return _unmoved(delivery, event, "it is sent")
    asked = delivery._replace(job_id=event.job_id, stage=event.stage, required=event.required)
    if delivery.state is DeliveryState.FAILED and delivery.error_class != WITHDRAWN.error_class:
        return afresh(asked, run_at=now, now=now)._replace(attempts=0)
    if asked == delivery:
        return _unmoved(delivery, event, "it is for this stage already")
    return asked._replace(job_told=False, updated_at=now)


def _obey(delivery: Delivery, event: OperatorSays, now: Instant) -> Delivery | Unmoved:
    state = delivery.state
    if state is DeliveryState.SENT:
        return _unmoved(delivery, event, "it is sent; to tell the recipient more is a new version")
    if delivery.holder is not None:
        return _unmoved(delivery, event, "a courier is at it; try again in a minute")
    match event.word:
        case Word.SENT:
            return sent(delivery, delivery.notification_id, now=now)
        case Word.RESEND:
            if state is DeliveryState.INTENT:
                return _unmoved(delivery, event, "it is to be sent anyway")
            return afresh(delivery, run_at=now, now=now)._replace(attempts=0)
        case Word.FAIL:
            if state is DeliveryState.FAILED:
                return _unmoved(delivery, event, "it has failed already")
            message = WITHDRAWN.message if event.reason is None else event.reason
            return failed(delivery, WITHDRAWN._replace(message=message), now=now)
    assert_never(event.word)


def _reconcile(
    delivery: Delivery, event: Reconciled, terms: Terms, now: Instant
) -> Delivery | Unmoved:
    state, finding = delivery.state, event.finding
    if delivery.holder is not None:
        return _unmoved(delivery, event, "a courier is at it")
    if finding is Finding.FOUND:
        if state is not DeliveryState.SENT:
            return sent(delivery, event.notification_id, now=now)._replace(checked_at=now)
        known = delivery.notification_id or event.notification_id
        return delivery._replace(notification_id=known, checked_at=now, updated_at=now)
    if state is DeliveryState.UNKNOWN:
        return _after_second_look(delivery, finding, terms, now)
    if state is DeliveryState.SENT and finding is Finding.MISSING:
        return _take_back(delivery, event, terms, now)
    return _unmoved(delivery, event, "that says nothing new")


def _after_second_look(
    delivery: Delivery, finding: Finding, terms: Terms, now: Instant
) -> Delivery:
    """Believe that there is nothing, unless the same was found to be wrong once before."""
    believed = finding is Finding.MISSING and delivery.error_class != EVIDENCE_MISSING.error_class
    looked_at = _after_missing(delivery, terms, now) if believed else delivery
    if looked_at.state is DeliveryState.UNKNOWN:
        return delivery._replace(checked_at=now, updated_at=now)
    return looked_at


def _take_back(
    delivery: Delivery, event: Reconciled, terms: Terms, now: Instant
) -> Delivery | Unmoved:
    """Clear a mark without evidence and send the message; the second time a person decides."""
    marked_at = now if delivery.notified_at is None else delivery.notified_at
    if not _may_look_up(delivery, terms, now, since=marked_at):
        return _unmoved(delivery, event, "the provider cannot be asked about it any more")
    if now < later(marked_at, _lag_us(terms)):
        return _unmoved(delivery, event, "the provider may not know of it yet")
    if delivery.error_class != EVIDENCE_MISSING.error_class:
        cleared = afresh(delivery, run_at=now, now=now, failure=EVIDENCE_MISSING)
        return cleared._replace(attempts=0)
    return delivery._replace(
        state=DeliveryState.UNKNOWN,
        began_at=marked_at,
        notified_at=None,
        checked_at=now,
        updated_at=now,
    )


def _is_open(delivery: Delivery) -> bool:
    """Tell whether the provider may have accepted a message that is not marked as sent."""
    known = (delivery.began_at, delivery.notification_id, delivery.notified_at)
    return known != (None, None, None)


def _may_look_up(
    delivery: Delivery, terms: Terms, now: Instant, *, since: Instant | None = None
) -> bool:
    """Tell whether a lookup would find what may have been accepted, at `since` if that is known."""
    promise = terms.promise
    if promise.lookup_lag is None:
        return False
    if promise.lookup_needs_id and delivery.notification_id is None:
        return False
    began_at = delivery.began_at if since is None else since
    kept = promise.lookup_for
    return kept is None or began_at is None or now < later(began_at, _us(kept))


def _may_resend(delivery: Delivery, terms: Terms, now: Instant) -> bool:
    """Tell whether the same token, sent now, arrives while the provider would drop it."""
    window, since = terms.promise.dedupes_for, delivery.began_at
    if window is None or since is None or delivery.notified_at is not None:
        return False
    arrives_at = later(now, terms.timeout_us)
    return arrives_at < later(since, _us(window)) and delivery.attempts < terms.retry.attempts


def _is_final(delivery: Delivery, failure: Failure, terms: Terms) -> bool:
    most = terms.retry.attempts
    budget = most if failure.attempts is None else min(most, failure.attempts)
    return not failure.retryable or delivery.attempts >= budget


def _retry_at(
    delivery: Delivery, failure: Failure, terms: Terms, now: Instant, roll: float
) -> Instant:
    delay_us = terms.retry.delay_us(
        failures=delivery.attempts, roll=roll, retry_after_us=failure.retry_after_us
    )
    return later(now, delay_us)


def _lag_us(terms: Terms) -> int:
    return _us(terms.promise.lookup_lag or 0.0)


def _us(seconds: float) -> int:
    return int(seconds * SECOND_US)


def _unmoved(delivery: Delivery, event: DeliveryEvent, why: str) -> Unmoved:
    return Unmoved(delivery.id, delivery.state, type(event).__name__, why)
