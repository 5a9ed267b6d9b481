"""Leases slices of the rates of upstreams, and tells the fleet what was used of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from holdfast.core.upstream.rate import (
    AGAIN_US,
    CallsReported,
    SliceAsked,
    decide_rate,
    room,
    room_at,
)
from holdfast.core.values.instant import Instant, later
from holdfast.runtime.breakers.rate_room import RateRoom
from holdfast.runtime.kernel.clock import Chance
from holdfast.store.contract import Store

TRIES: Final = 16
SPREAD_US: Final = 50_000
"""Workers that wait for room do not ask for it at the same instant."""


class Rates:
    """What a worker may call of the upstreams that have a rate.

    While there is a call at hand the store is not asked. It is asked for a slice at a time, so that
    what a rate costs grows with the rate and the workers, and not with the jobs.
    """

    def __init__(
        self,
        rooms: Mapping[str, RateRoom],
        *,
        worker: str,
        fleet: Callable[[Instant, Store], int],
        chance: Chance,
        in_use: Callable[[], None] = lambda: None,
    ) -> None:
        self._rooms = rooms
        self._worker = worker
        self._fleet = fleet
        self._chance = chance
        self._in_use = in_use

    def reserve(self, name: str, wanted: int, *, store: Store, now: Instant) -> int:
        """Keep up to `wanted` calls for jobs that are about to be claimed; return how many."""
        found = self._rooms[name]
        if not found.free(now):
            self._ask(name, store, now)
        return found.reserve(wanted, now)

    def release(self, name: str, unneeded: int, *, store: Store, now: Instant) -> None:
        """Let go of calls for which there was no job; where others may need them, at once."""
        found = self._rooms[name]
        if unneeded > 0:
            found.release(unneeded)
            if found.scarce:
                self.report(name, store=store, now=now, give_back=True)

    def ask_at(self, name: str, now: Instant) -> Instant:
        """Return when it is worth asking for another call."""
        return max(self._rooms[name].ask_at, now)

    def report(self, name: str, *, store: Store, now: Instant, give_back: bool = False) -> None:
        """Tell the fleet what was used, if there is anything to tell."""
        found = self._rooms[name]
        rows = store.upstreams
        for _ in range(TRIES):
            used = found.report(now, give_back=give_back)
            if not used:
                return
            after = decide_rate(rows.bucket(name), CallsReported(used), found.rate, now)
            if after is None or rows.save_bucket(after, now=now) is not None:
                found.told(used)
                return

    def _ask(self, name: str, store: Store, now: Instant) -> None:
        found = self._rooms[name]
        if found.is_waiting(now):
            return
        found.asked_at = now
        rows = store.upstreams
        fleet = self._fleet(now, store)
        for _ in range(TRIES):
            used = found.report(now)
            before = rows.bucket(name)
            after = decide_rate(before, SliceAsked(self._worker, fleet, used), found.rate, now)
            if after is not None and rows.save_bucket(after, now=now) is None:
                continue
            found.told(used)
            if after is not None and after.granted > before.granted:
                found.scarce = room(after, found.rate, now) < fleet
                found.add(after.slices[-1])
                self._in_use()
                return
            spread_us = int(self._chance.roll() * min(found.rate.interval_us // 4, SPREAD_US))
            found.ask_at = later(room_at(after or before, found.rate, now), spread_us)
            return
        found.ask_at = later(now, AGAIN_US)
