"""Compares what is stored of deliveries with what their providers know of them."""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import Final, NamedTuple

from holdfast.core.delivery.delivery import Delivery, DeliveryState
from holdfast.core.delivery.event import Finding, Reconciled
from holdfast.core.delivery.lifecycle import breaks_order, decide_delivery
from holdfast.core.delivery.log import attempt_of
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.runtime.deliveries.courier import Start, in_thread
from holdfast.runtime.deliveries.dispatch import Dispatch
from holdfast.runtime.deliveries.log import masked, tell
from holdfast.runtime.deliveries.provider import BoundProvider
from holdfast.runtime.deliveries.sender import looked_up
from holdfast.runtime.events.signals import DeliveryChanged, MarksDoubted, Signals
from holdfast.runtime.kernel.clock import Chance, Clock
from holdfast.store.contract import Store
from holdfast.store.tables.audit import ENGINE, AuditEntry
from holdfast.store.tables.deliveries import SUBJECT

LOGGER: Final = logging.getLogger("holdfast.delivery")
MAX_MISSING: Final = 3
"""So many marks in a row are taken back; after that the lookup itself is doubted."""
KEPT_US: Final = 24 * 3600 * SECOND_US
"""Marks older than this are compared on request only."""
SETTLED_US: Final = 60 * SECOND_US
"""Marks younger than this are left alone, whatever the provider declares."""
UNKNOWN_EVERY_US: Final = 3600 * SECOND_US
UNKNOWN_AT_A_TIME: Final = 5


class Checked(NamedTuple):
    """What came of one comparison."""

    finding: Finding
    before: Delivery
    after: Delivery | None
    """None when nothing was written."""

    @property
    def taken_back(self) -> bool:
        """Whether a mark without evidence was cleared."""
        return self.after is not None and breaks_order(self.before, self.after)


class Checks:
    """Looks deliveries up, one at a time, and writes what follows."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        chance: Chance,
        signals: Signals,
        most_missing: int,
    ) -> None:
        self._store = store
        self._clock = clock
        self._chance = chance
        self._signals = signals
        self._most_missing = most_missing
        self._missing: dict[str, int] = {}

    def doubts(self, provider: str) -> bool:
        """Return whether so many marks in a row had no evidence that the lookup itself is doubted.

        A lookup that finds nothing at all, as with the key of another account, would otherwise
        have everything sent again.
        """
        return self._missing.get(provider, 0) >= self._most_missing

    def check(self, delivery: Delivery, bound: BoundProvider) -> Checked:
        """Compare one delivery."""
        said = looked_up(delivery, bound)
        if said.finding is Finding.FOUND:
            self._missing[bound.name] = 0
        if (
            said.finding is Finding.MISSING
            and delivery.state is DeliveryState.SENT
            and self.doubts(bound.name)
        ):
            return Checked(said.finding, delivery, None)
        event = Reconciled(said.finding, said.notification_id)
        now = self._clock.now()
        decided = decide_delivery(delivery, event, bound.terms, now, self._chance.roll())
        if not isinstance(decided, Delivery):
            return Checked(said.finding, delivery, None)
        audit = [_broken(delivery, now)] if breaks_order(delivery, decided) else []
        log = [attempt_of(delivery, event, decided)]
        if not self._store.deliveries.apply([decided], log=log, audit=audit):
            return Checked(said.finding, delivery, None)
        tell(DeliveryChanged(delivery, event, decided), self._signals.deliveries)
        checked = Checked(said.finding, delivery, decided)
        if checked.taken_back:
            self._count_missing(bound.name)
        return checked

    def _count_missing(self, provider: str) -> None:
        self._missing[provider] = self._missing.get(provider, 0) + 1
        if self.doubts(provider):
            self._signals.doubts.tell(MarksDoubted(provider, self._missing[provider]))
            LOGGER.critical(
                "%s knows nothing of %d deliveries in a row that were marked as sent; "
                "no more marks are taken back until it finds one",
                provider,
                self._missing[provider],
                extra={"event": "reconciliation_stopped", "provider": provider},
            )


class Reconciler:
    """A slow service: one lookup a turn, spread over time, in every worker."""

    name = "reconciler"

    def __init__(
        self,
        store: Store,
        *,
        dispatch: Dispatch,
        clock: Clock,
        chance: Chance,
        start: Start = in_thread,
    ) -> None:
        self.wake = threading.Event()
        self._store = store
        self._options = dispatch.options
        self._chance = chance
        self._start = start
        self._bound = [
            bound for bound in dispatch.providers if bound.terms.promise.lookup_lag is not None
        ]
        self._checks = Checks(
            store,
            clock=clock,
            chance=chance,
            signals=dispatch.signals,
            most_missing=MAX_MISSING,
        )
        self._waiting: deque[tuple[Delivery, BoundProvider]] = deque()
        self._cursors: dict[str, tuple[Instant, str]] = {}
        self._busy = False

    def tick(self, now: Instant) -> Instant:
        """Start the next lookup, unless one is under way."""
        every_us = int(self._options.reconcile_every * SECOND_US)
        spread = 0.75 + self._chance.roll() / 2
        if not self._options.reconcile_batch or not self._bound:
            return later(now, int(every_us * spread))
        if not self._waiting:
            self._fill(now)
        if self._waiting and not self._busy:
            delivery, bound = self._waiting.popleft()
            self._busy = True
            self._start(lambda: self._check(delivery, bound))
        share = max(self._options.reconcile_batch * len(self._bound), 1) if self._waiting else 1
        return later(now, int(every_us * spread / share))

    def _check(self, delivery: Delivery, bound: BoundProvider) -> None:
        try:
            self._checks.check(delivery, bound)
        except Exception as error:  # noqa: BLE001 - it is looked at again another time
            LOGGER.warning("a delivery could not be compared: %s", error)
        finally:
            self._busy = False

    def _fill(self, now: Instant) -> None:
        """Find what to compare next: what is unknown, then marks that nobody has confirmed."""
        for bound in self._bound:
            unknown = self._store.deliveries.unknown(
                bound.name, until=Instant(now - UNKNOWN_EVERY_US), limit=UNKNOWN_AT_A_TIME
            )
            marks = self._marks(bound, now)
            found = [*unknown, *marks]
            self._waiting.extend((one, bound) for one in found if can_check(one, bound))

    def _marks(self, bound: BoundProvider, now: Instant) -> list[Delivery]:
        """Return the next marks of a provider, going round: some may never be confirmed."""
        lag_us = int((bound.terms.promise.lookup_lag or 0) * SECOND_US)
        oldest = Instant(now - KEPT_US)
        until = Instant(now - max(lag_us, SETTLED_US))
        limit = self._options.reconcile_batch
        since, after = max(self._cursors.get(bound.name, (oldest, "")), (oldest, ""))
        marks = self._store.deliveries.unchecked(
            bound.name, since=since, after=after, until=until, limit=limit
        )
        if len(marks) == limit:
            self._cursors[bound.name] = (Instant(marks[-1].notified_at or 0), marks[-1].id)
        else:
            self._cursors.pop(bound.name, None)
        return marks


def can_check(delivery: Delivery, bound: BoundProvider) -> bool:
    """Return whether a provider can be asked about a delivery."""
    promise = bound.terms.promise
    if promise.lookup_lag is None or delivery.holder is not None:
        return False
    return not promise.lookup_needs_id or delivery.notification_id is not None


def _broken(delivery: Delivery, now: Instant) -> AuditEntry:
    detail = {
        "provider": delivery.provider,
        "recipient": masked(delivery.recipient),
        "notification_id": delivery.notification_id,
        "notified_at": delivery.notified_at,
    }
    reason = "marked as sent, and the provider knows nothing of it"
    return AuditEntry(now, ENGINE, "ordering_broken", SUBJECT, delivery.id, reason, detail=detail)
