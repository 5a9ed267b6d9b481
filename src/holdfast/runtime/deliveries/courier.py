"""Carries deliveries out: leases what is due, sends it or asks about it, a few calls at a time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from holdfast.core.delivery.delivery import Delivery
from holdfast.core.delivery.event import (
    Accepted,
    CourierLost,
    DeliveryEvent,
    Finding,
    HandedBack,
    LookedUp,
    Parked,
    Postponed,
    SendBegun,
    SendFailed,
)
from holdfast.core.delivery.lifecycle import Step, decide_delivery, next_step
from holdfast.core.delivery.log import attempt_of
from holdfast.core.job.event import Done, Event, Failed, Held
from holdfast.core.values.instant import SECOND_US, Instant, later
from holdfast.runtime.breakers.breakers import Breakers
from holdfast.runtime.breakers.watch import RATE, Permit, Ticket, Watch
from holdfast.runtime.deliveries.dispatch import Dispatch
from holdfast.runtime.deliveries.log import tell
from holdfast.runtime.deliveries.provider import BoundProvider
from holdfast.runtime.deliveries.sender import DeliverySender
from holdfast.runtime.deliveries.stage_deliveries import Notices
from holdfast.runtime.events.signals import DeliveryChanged
from holdfast.runtime.kernel.clock import Chance, Clock
from holdfast.store.contract import Store

LOGGER: Final = logging.getLogger("holdfast.delivery")
CHUNK: Final = 100
HOLD_US: Final = 5 * SECOND_US
MAX_STUCK: Final = 4
"""Calls that outlive their lease keep their threads: how many times the usual number is borne."""
_CLAIM_S: Final = 3.0

Start = Callable[[Callable[[], None]], None]
"""Runs an errand beside everything else."""


class Carried(NamedTuple):
    """A delivery, begun or to be looked up, with the right to call its provider."""

    delivery: Delivery
    bound: BoundProvider
    since: Instant | None
    """When its send was written as begun; None for a lookup."""
    watch: Watch | None
    ticket: Ticket | None


def in_thread(errand: Callable[[], None]) -> None:
    """Run an errand in a thread of its own; one that hangs must not keep the process alive."""
    threading.Thread(target=errand, name="holdfast-errand", daemon=True).start()


class Courier:
    """A service that carries deliveries out for as long as it has turns."""

    name = "courier"

    def __init__(
        self,
        store: Store,
        *,
        holder: str,
        dispatch: Dispatch,
        notices: Notices,
        clock: Clock,
        chance: Chance,
        poll_us: int,
        breakers: Breakers | None = None,
        start: Start = in_thread,
    ) -> None:
        self.wake = threading.Event()
        self._draining = False
        self._closed = False
        self._claiming = threading.Lock()
        self._store = store
        self._holder = holder
        self._providers = dispatch.providers
        self._notices = notices
        self._clock = clock
        self._chance = chance
        self._options = dispatch.options
        self._changed = dispatch.signals.deliveries
        self._poll_us = poll_us
        self._breakers = breakers
        self._start = start
        self._sender = DeliverySender(
            store,
            clock=clock,
            chance=chance,
            changed=self._changed,
            given_up=lambda: self._closed,
        )
        self._lock = threading.Lock()
        self._running: dict[str, dict[str, Instant]] = {bound.name: {} for bound in self._providers}

    def __len__(self) -> int:
        """How many deliveries are on their way."""
        return sum(map(len, self._running.values()))

    def tick(self, now: Instant) -> Instant:
        """Tell jobs, take back what was lost, and carry what is due."""
        more = self._notices.tell(now)
        for bound in self._providers:
            self._reclaim(bound, now)
            with self._claiming:
                more = (not self._draining and self._carry(bound, now)) or more
        return now if more else later(now, int(self._poll_us * (0.75 + self._chance.roll() / 2)))

    def drain(self) -> None:
        """Claim nothing more; what is on its way goes on, and is counted by `len`."""
        self._draining = True
        # A claim under way would otherwise set out with more in a moment.
        if self._claiming.acquire(timeout=_CLAIM_S):
            self._claiming.release()

    def close(self) -> None:
        """Give up what cannot be written; its outcome is found out by others."""
        self._closed = True

    def _reclaim(self, bound: BoundProvider, now: Instant) -> None:
        """Let deliveries go whose courier did not report in time; their outcome is found out."""
        lost = self._store.deliveries.lost(bound.name, now=now, limit=CHUNK)
        if not lost:
            return
        # Not right after the store's clock was set, and never by a time that is out of date.
        self._clock.learn()
        if self._clock.steady_for(self._options.lease_us):
            event = CourierLost()
            self._move(bound, [(delivery, event) for delivery in lost], self._clock.now())

    def _carry(self, bound: BoundProvider, now: Instant) -> bool:
        """Claim what there is room for; True when there may be more to claim."""
        room, permits = self._room(bound, now)
        if room <= 0:
            return False
        claimed = self._store.deliveries.claim(
            bound.name,
            limit=room,
            holder=self._holder,
            lease_us=self._options.lease_us,
            now=now,
        )
        watch = self._watch_of(bound)
        if watch is not None and permits:
            for permit in permits[len(claimed) :]:
                watch.return_permit(permit)
        if claimed and watch is not None and watch.room is not None and self._breakers is not None:
            self._breakers.rates.reserve(watch.terms.name, len(claimed), store=self._store, now=now)
        for carried in self._begin(bound, claimed, permits, now):
            self._set_off(carried)
        return len(claimed) == room

    def _begin(
        self,
        bound: BoundProvider,
        claimed: Sequence[Delivery],
        permits: Sequence[Permit],
        now: Instant,
    ) -> list[Carried]:
        """Write that sends begin, before anything is handed over; return what may set off."""
        watch = self._watch_of(bound)
        pairs: list[tuple[Delivery, DeliveryEvent]] = []
        lookups: list[Carried] = []
        tickets: dict[str, Ticket] = {}
        for number, delivery in enumerate(claimed):
            step = next_step(delivery, bound.terms, now)
            if step is Step.PARK:
                pairs.append((delivery, Parked()))
                continue
            if watch is not None:
                watch.add()
                permit = permits[number] if number < len(permits) else None
                entered = watch.enter(delivery.attempts + 1, permit, now)
                if not isinstance(entered, Ticket):
                    watch.leave(None, None, now)
                    pairs.append((delivery, HandedBack(None, _again_at(watch, entered, now))))
                    continue
                tickets[delivery.id] = entered
            if step is Step.LOOK_UP:
                lookups.append(Carried(delivery, bound, None, watch, tickets.get(delivery.id)))
            else:
                pairs.append((delivery, SendBegun()))
        begun = {delivery.id for delivery, event in pairs if isinstance(event, SendBegun)}
        written = self._move(bound, pairs, now)
        sends = [
            Carried(written[delivery_id], bound, now, watch, tickets.get(delivery_id))
            for delivery_id in sorted(begun & written.keys())
        ]
        if watch is not None:
            for _ in begun - written.keys():
                watch.leave(None, None, now)
        return [*lookups, *sends]

    def _move(
        self,
        bound: BoundProvider,
        pairs: Sequence[tuple[Delivery, DeliveryEvent]],
        now: Instant,
    ) -> dict[str, Delivery]:
        """Decide and write what needs no call; what has moved on is left to what moved it."""
        decided: dict[str, DeliveryChanged] = {}
        for delivery, event in pairs:
            after = decide_delivery(delivery, event, bound.terms, now, self._chance.roll())
            if isinstance(after, Delivery):
                decided[delivery.id] = DeliveryChanged(delivery, event, after)
        written = self._store.deliveries.apply(
            (after for _, _, after in decided.values()),
            log=(attempt_of(*change) for change in decided.values()),
        )
        for delivery_id in written:
            tell(decided[delivery_id], self._changed)
        return written

    def _set_off(self, carried: Carried) -> None:
        delivery, bound = carried.delivery, carried.bound
        with self._lock:
            self._running[bound.name][delivery.id] = Instant(delivery.lease_until or 0)
        self._start(lambda: self._run(carried))

    def _run(self, carried: Carried) -> None:
        delivery, bound, since, watch, ticket = carried
        event: DeliveryEvent | None = None
        try:
            if since is None:
                event = self._sender.look_up(delivery, bound)
            else:
                event = self._sender.send(delivery, bound, since=since)
        except Exception:
            LOGGER.exception("an errand failed", extra={"delivery_id": delivery.id})
        finally:
            now = self._clock.now()
            if watch is not None and watch.leave(
                ticket, _evidence(event), now, job_id=delivery.job_id
            ):
                self._heed_breakers(now)
            with self._lock:
                self._running[bound.name].pop(delivery.id, None)
            self.wake.set()

    def _heed_breakers(self, now: Instant) -> None:
        if self._breakers is not None:
            self._breakers.heed(now)

    def _watch_of(self, bound: BoundProvider) -> Watch | None:
        if self._breakers is None or bound.upstream is None:
            return None
        return self._breakers.watches[bound.upstream.name]

    def _room(self, bound: BoundProvider, now: Instant) -> tuple[int, list[Permit]]:
        """Return how many calls may begin now, and the permits they need, if they need any."""
        most = self._options.concurrency
        with self._lock:
            leases = list(self._running[bound.name].values())
        if len(leases) >= MAX_STUCK * most:
            return 0, []
        # A call that outlived its lease is no longer this courier's.
        room = most - sum(until >= now for until in leases)
        if self._breakers is None or bound.upstream is None or room <= 0:
            return room, []
        name = bound.upstream.name
        allowance = self._breakers.allowances(now, places=most).get(name)
        if allowance is None:
            return room, []
        if allowance.by_permit:
            permits = self._breakers.ask_permits(name, room, store=self._store, now=now)
            return len(permits), permits
        watch = self._breakers.watches[name]
        room = min(room, allowance.limit - watch.in_flight)
        if watch.room is not None:
            # One without a call at hand: whether it is due decides whether a slice is asked for.
            room = min(room, max(watch.room.free(now), int(not watch.room.is_waiting(now))))
        return room, []


def _again_at(watch: Watch, refused: Event, now: Instant) -> Instant:
    """Return when a delivery is due again whose provider lets nothing through now."""
    if watch.room is not None and isinstance(refused, Held) and refused.reason == RATE:
        return max(watch.room.ask_at, now)
    return later(now, HOLD_US)


def _evidence(event: DeliveryEvent | None) -> Event | None:
    """Return what an outcome says about the provider, in the words of jobs."""
    match event:
        case Accepted():
            return Done("null")
        case SendFailed() | Postponed():
            return Failed(event.failure)
        case LookedUp() if event.finding is not Finding.UNAVAILABLE:
            return Done("null")
        case _:
            return None
