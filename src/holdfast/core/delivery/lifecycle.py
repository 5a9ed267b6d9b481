"""The one place that says what follows for a delivery.

`decide_delivery` takes a delivery as it was read, an event, the terms of its provider, the instant
and one roll of chance, and returns the delivery after it, or `Unmoved`. `next_step` says what a
courier that has claimed a delivery does with it. Neither reads a clock or anything outside.

A message that may have been accepted is never simply sent again. Where the provider can look up it
is asked first: what it finds is believed at once, and that it finds nothing only once its declared
lag is over. Where it drops what it has seen, the same token is sent again within its window; where
it can do neither, a person decides.
"""

from __future__ import annotations

import json
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple, assert_never

from holdfast.core.delivery.change import afresh, doubted, failed, released, sent, unknown
from holdfast.core.delivery.delivery import Delivery, DeliveryState
from holdfast.core.delivery.doubt import (
    can_be_settled,
    first_look_at,
    is_open,
    is_under_way,
    lag_us,
    may_look_up,
    may_resend,
    next_look_at,
    renewed,
)
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
from holdfast.core.values.failure import EVIDENCE_MISSING, WITHDRAWN, WORKER_LOST, Failure
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.core.values.quota import allowed_at

if TYPE_CHECKING:
    from holdfast.core.delivery.delivery import Terms

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
    can_look_up = may_look_up(delivery, terms, now)
    if is_open(delivery):
        if can_look_up:
            return Step.LOOK_UP
        return Step.SEND if may_resend(delivery, terms, now) else Step.PARK
    if not can_look_up or delivery.lookups >= terms.lookup.attempts:
        return Step.SEND
    is_stale = now - delivery.updated_at > max(STALE_US, lag_us(terms))
    first_asks = terms.look_first and not delivery.lookups
    return Step.LOOK_UP if is_stale or first_asks else Step.SEND


def decide_delivery(  # noqa: C901, PLR0912 - one case per event of a closed set
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
        case Postponed():
            if delivery.state is not DeliveryState.SENDING or delivery.holder is None:
                return _unmoved(delivery, event, "no courier sends it")
            return _postpone(delivery, event, terms, now, roll)
        case LookedUp():
            return _after_lookup(delivery, event, terms, now, roll)
        case Parked():
            if delivery.holder is None or next_step(delivery, terms, now) is not Step.PARK:
                return _unmoved(delivery, event, "its outcome can still be found out")
            return unknown(delivery, now=now)
        case CourierLost():
            return _lose(delivery, event, terms, now, roll)
        case AskedAgain():
            return _ask_again(delivery, event, terms, now)
        case OperatorSays():
            return _obey(delivery, event, now)
        case Reconciled():
            return _reconcile(delivery, event, terms, now)
    assert_never(event)


def breaks_order(before: Delivery, after: Delivery) -> bool:
    """Return whether a mark was taken back: the message was marked and never sent."""
    return before.notified_at is not None and after.notified_at is None


def _begin(delivery: Delivery, event: SendBegun, terms: Terms, now: Instant) -> Delivery | Unmoved:
    if delivery.holder is None or next_step(delivery, terms, now) is not Step.SEND:
        return _unmoved(delivery, event, "it is not to be sent now")
    return delivery._replace(
        state=DeliveryState.SENDING,
        attempts=delivery.attempts + 1,
        lookups=0,
        began_at=now if delivery.began_at is None else delivery.began_at,
        doubted_at=None,
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
    if may_look_up(delivery, terms, now):
        return doubted(delivery, failure, run_at=first_look_at(delivery, terms, now), now=now)
    if failure.retryable and may_resend(delivery, terms, now):
        run_at = _retry_at(delivery, failure, terms, now, roll)
        return doubted(delivery, failure, run_at=run_at, now=now)
    return unknown(doubted(delivery, failure, run_at=now, now=now), now=now)


def _postpone(
    delivery: Delivery, event: Postponed, terms: Terms, now: Instant, roll: float
) -> Delivery:
    """Wait for the end of the window; an earlier send whose outcome is open stays open."""
    failure = event.failure
    run_at = allowed_at(event.window, now, roll=roll, retry_after_us=failure.retry_after_us)
    if delivery.began_at == event.since:
        waiting = afresh(delivery, run_at=run_at, now=now, failure=failure)
    elif may_look_up(delivery, terms, now):
        waiting = doubted(delivery, failure, run_at=first_look_at(delivery, terms, now), now=now)
    else:
        waiting = doubted(delivery, failure, run_at=run_at, now=now)
    return waiting._replace(attempts=delivery.attempts - 1)


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
    if is_open(delivery):
        return _after_missing(delivery, terms, now)
    return released(delivery, run_at=now, now=now)._replace(lookups=delivery.lookups + 1)


def _after_silence(delivery: Delivery, terms: Terms, now: Instant, roll: float) -> Delivery:
    """Ask again later; in the end a person decides, or what never began is sent after all."""
    look_again_at = next_look_at(delivery, terms, now)
    if is_open(delivery) and look_again_at is not None:
        # No answer would have settled it yet: early lookups are not counted.
        return released(delivery, run_at=look_again_at, now=now)
    lookups = delivery.lookups + 1
    asked = released(delivery, run_at=now, now=now)._replace(lookups=lookups)
    if lookups < terms.lookup.attempts:
        delay_us = terms.lookup.delay_us(failures=lookups, roll=roll, retry_after_us=None)
        return asked._replace(run_at=later(now, delay_us))
    return unknown(asked, now=now) if is_open(delivery) else asked


def _after_missing(delivery: Delivery, terms: Terms, now: Instant) -> Delivery:
    """Believe that the provider has nothing, unless its word comes too early or too late."""
    if not may_look_up(delivery, terms, now):
        return unknown(delivery, now=now)
    look_again_at = next_look_at(delivery, terms, now)
    if look_again_at is not None:
        return released(delivery, run_at=look_again_at, now=now)
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
    if delivery.state is DeliveryState.INTENT or not is_under_way(delivery):
        return released(delivery, run_at=now, now=now)
    return _doubt(delivery, WORKER_LOST, terms, now, roll)


def _ask_again(
    delivery: Delivery, event: AskedAgain, terms: Terms, now: Instant
) -> Delivery | Unmoved:
    if delivery.state is DeliveryState.SENT:
        return _unmoved(delivery, event, "it is sent")
    asked = delivery._replace(job_id=event.job_id, stage=event.stage, required=event.required)
    if delivery.state is DeliveryState.FAILED and delivery.error_class != WITHDRAWN.error_class:
        return afresh(asked, run_at=now, now=now)._replace(attempts=0)
    if delivery.state is DeliveryState.UNKNOWN and can_be_settled(delivery, terms, now):
        return released(renewed(asked), run_at=now, now=now)._replace(
            state=DeliveryState.SENDING, job_told=False
        )
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
                if delivery.run_at <= now:
                    return _unmoved(delivery, event, "it is to be sent anyway")
                return released(delivery, run_at=now, now=now)
            return afresh(delivery, run_at=now, now=now)._replace(attempts=0)
        case Word.FAIL:
            if delivery.error_class == WITHDRAWN.error_class:
                return _unmoved(delivery, event, "it was given up already")
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
    if not may_look_up(delivery, terms, now, since=marked_at):
        return _unmoved(delivery, event, "the provider cannot be asked about it any more")
    if now < later(marked_at, lag_us(terms)):
        return _unmoved(delivery, event, "the provider may not know of it yet")
    if delivery.error_class != EVIDENCE_MISSING.error_class:
        cleared = afresh(delivery, run_at=now, now=now, failure=EVIDENCE_MISSING)
        return cleared._replace(attempts=0)
    return delivery._replace(
        state=DeliveryState.UNKNOWN,
        began_at=marked_at,
        notified_at=None,
        checked_at=now,
        job_told=False,
        updated_at=now,
    )


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


def _unmoved(delivery: Delivery, event: DeliveryEvent, why: str) -> Unmoved:
    return Unmoved(delivery.id, delivery.state, type(event).__name__, why)
