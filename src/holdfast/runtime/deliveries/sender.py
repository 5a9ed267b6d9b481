"""One call to a provider, and the write of what came of it.

The order is fixed: that a send begins is written before the message is handed over, and that it was
accepted is written after the provider has said so, in one write. No row is locked meanwhile.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any, Final

from holdfast.classify import QuotaExceeded, classify, is_failure
from holdfast.core.delivery.delivery import Delivery
from holdfast.core.delivery.event import (
    Accepted,
    DeliveryEvent,
    Finding,
    HandedBack,
    LookedUp,
    Postponed,
    SendFailed,
)
from holdfast.core.delivery.lifecycle import Unmoved, decide_delivery
from holdfast.core.delivery.log import attempt_of
from holdfast.core.values.failure import WORKER_LOST, Failure, clean_text
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.errors import RetryLater, UnavailableError
from holdfast.runtime.attempts.spans import delivery_span
from holdfast.runtime.deliveries.log import facts, tell
from holdfast.runtime.deliveries.provider import BoundProvider, Evidence, LooksUp
from holdfast.runtime.events.signals import DeliveryChanged, Signal
from holdfast.runtime.kernel import failpoint
from holdfast.runtime.kernel.clock import Chance, Clock, sleep_s
from holdfast.store.contract import Store

LOGGER: Final = logging.getLogger("holdfast.delivery")
MAX_ID_LENGTH: Final = 255
TRIES: Final = 8
_PAUSES_S: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)


class DeliverySender:
    """Calls providers for deliveries that are leased to this courier, and keeps what they say."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        chance: Chance,
        changed: Signal[DeliveryChanged],
        given_up: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store = store
        self._clock = clock
        self._chance = chance
        self._changed = changed
        self._given_up = given_up

    def send(self, begun: Delivery, bound: BoundProvider, *, since: Instant) -> DeliveryEvent:
        """Hand over a message whose send was written as begun at `since`; return what followed."""
        failpoint.reach("send.before")
        event = self._sent(begun, bound, since)
        failpoint.reach("send.after")
        self.record(begun, event, bound)
        return event

    def look_up(self, delivery: Delivery, bound: BoundProvider) -> DeliveryEvent:
        """Ask what became of an earlier send; return what followed."""
        event = looked_up(delivery, bound)
        self.record(delivery, event, bound)
        return event

    def record(self, delivery: Delivery, event: DeliveryEvent, bound: BoundProvider) -> bool:
        """Decide and write, for as long as the store cannot be reached; False when it is dropped.

        What a provider has accepted is a fact, also without the lease. Everything else counts
        only while the lease is this courier's.
        """
        pause = 0
        while True:
            try:
                return self._record(delivery, event, bound)
            except UnavailableError as error:
                if self._given_up():
                    LOGGER.warning(
                        "the outcome of a delivery cannot be written: %s",
                        error,
                        extra={"event": "delivery_unwritten", **facts(delivery)},
                    )
                    return False
                sleep_s(_PAUSES_S[min(pause, len(_PAUSES_S) - 1)])
                pause += 1

    def _sent(self, begun: Delivery, bound: BoundProvider, since: Instant) -> DeliveryEvent:
        timeout_us = bound.terms.timeout_us
        if later(self._clock.now(), timeout_us) > (begun.lease_until or 0):
            # This process stood still: others may take the delivery while the call is under way.
            return HandedBack(since)
        try:
            with delivery_span(begun):
                evidence = bound.provider.send(
                    json.loads(begun.message), token=begun.token, timeout_s=timeout_us / SECOND_US
                )
            return Accepted(_id_of(evidence))
        except RetryLater as postponed:
            return HandedBack(since, later(self._clock.now(), postponed.after_us))
        except QuotaExceeded as error:
            return Postponed(self._failure(error), since, error.window)
        except BaseException as error:  # noqa: BLE001 - whatever ends the call is its outcome
            return SendFailed(self._failure(error), since)

    def _failure(self, error: BaseException) -> Failure:
        return classify(error, (), now=self._clock.now()) if is_failure(error) else WORKER_LOST

    def _record(self, delivery: Delivery, event: DeliveryEvent, bound: BoundProvider) -> bool:
        current = delivery
        for _ in range(TRIES):
            now = self._clock.now()
            decided = decide_delivery(current, event, bound.terms, now, self._chance.roll())
            if isinstance(decided, Unmoved):
                return self._drop(current, event, decided.why)
            failpoint.reach("mark.before")
            written = self._store.deliveries.apply(
                [decided], log=[attempt_of(current, event, decided)]
            )
            failpoint.reach("mark.after")
            fresh = None if written else self._store.deliveries.get(current.id)
            if written or fresh == decided._replace(revision=decided.revision + 1):
                # The second way round the reply to an earlier write was lost.
                tell(DeliveryChanged(current, event, decided), self._changed)
                return True
            if fresh is None or not (_is_fact(event) or _is_same_lease(fresh, delivery)):
                return self._drop(current, event, "another courier has it, or it has ended")
            current = fresh
        return self._drop(current, event, "it changes all the time")

    @staticmethod
    def _drop(delivery: Delivery, event: DeliveryEvent, why: str) -> bool:
        LOGGER.warning(
            "outcome of a delivery dropped: %s",
            why,
            extra={
                "event": "delivery_dropped",
                "outcome": type(event).__name__,
                **facts(delivery),
            },
        )
        return False


def looked_up(delivery: Delivery, bound: BoundProvider) -> LookedUp:
    """Ask the provider about a delivery; if it cannot be asked, or raises, it has not said."""
    provider = bound.provider
    if not isinstance(provider, LooksUp):
        return LookedUp(Finding.UNAVAILABLE)
    try:
        evidence = provider.lookup(
            token=delivery.token,
            notification_id=delivery.notification_id,
            timeout_s=bound.terms.timeout_us / SECOND_US,
        )
        if evidence is None:
            return LookedUp(Finding.MISSING)
        return LookedUp(Finding.FOUND, _id_of(evidence))
    except BaseException as error:  # noqa: BLE001 - a lookup that fails says nothing
        LOGGER.info(
            "the lookup failed: %s",
            type(error).__name__,
            extra={"event": "lookup_failed", **facts(delivery)},
        )
        return LookedUp(Finding.UNAVAILABLE)


def _id_of(evidence: Evidence) -> str | None:
    found: Any = evidence.notification_id
    return None if found is None else clean_text(str(found), MAX_ID_LENGTH) or None


def _is_fact(event: DeliveryEvent) -> bool:
    return isinstance(event, Accepted) or (
        isinstance(event, LookedUp) and event.finding is Finding.FOUND
    )


def _is_same_lease(fresh: Delivery, delivery: Delivery) -> bool:
    return fresh.holder == delivery.holder and fresh.lease_until == delivery.lease_until
