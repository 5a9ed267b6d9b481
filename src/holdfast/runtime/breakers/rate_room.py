"""The calls of an upstream with a rate that one worker may begin: the slices that it has leased."""

from __future__ import annotations

import threading
from typing import Final

from holdfast.core.upstream.rate import Slice, Used
from holdfast.core.upstream.rate_policy import Rate
from holdfast.core.values.instant import Instant

RETURN_US: Final = 300_000
"""How long before its end what nobody needs of a slice goes back; workers report more often."""


class _Leased:
    """A slice in use."""

    __slots__ = ("closed", "free", "last_at", "number", "reserved", "told", "until", "used")

    def __init__(self, given: Slice) -> None:
        self.number = given.number
        self.until = given.until
        self.free = given.calls
        self.reserved = 0
        """Calls of jobs that are being claimed, or wait in a lane."""
        self.used = 0
        self.told = 0
        """How many of those used the store knows of."""
        self.last_at = Instant(0)
        self.closed = False


class RateRoom:
    """Counts calls against slices, for the lanes, the claimer and the sender of deliveries.

    What is reserved belongs to nobody in particular, and ends with its slice: a job that is never
    begun keeps nothing from others for longer than that.
    """

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self.ask_at = Instant(0)
        """Before that nothing is to be had."""
        self.asked_at = Instant(0)
        self.scarce = False
        """Whether, when the latest slice was given out, there was little left for others."""
        self._lock = threading.Lock()
        self._slices: list[_Leased] = []

    def is_waiting(self, now: Instant) -> bool:
        """Return whether no call is at hand, and none is to be had yet."""
        # A clock that was set back makes the last look one of the future, and ends the wait.
        return self.asked_at <= now < self.ask_at and not self.free(now)

    def add(self, given: Slice) -> None:
        """Use a slice that this worker was given."""
        with self._lock:
            self._slices.append(_Leased(given))

    def free(self, now: Instant) -> int:
        """Return how many calls may begin that nothing was reserved for."""
        with self._lock:
            return sum(each.free for each in self._valid(now))

    def reserve(self, wanted: int, now: Instant) -> int:
        """Keep up to `wanted` calls for jobs that are about to be claimed; return how many."""
        with self._lock:
            missing = wanted
            for each in self._valid(now):
                taken = min(each.free, missing)
                each.free -= taken
                each.reserved += taken
                missing -= taken
            return wanted - missing

    def release(self, unneeded: int) -> None:
        """Let go of calls that were reserved for jobs which were not there."""
        with self._lock:
            for each in self._slices:
                freed = min(each.reserved, unneeded)
                each.reserved -= freed
                each.free += freed
                unneeded -= freed

    def take(self, now: Instant) -> bool:
        """Let a call begin; False when none may."""
        with self._lock:
            for each in self._valid(now):
                if each.reserved:
                    each.reserved -= 1
                elif each.free:
                    each.free -= 1
                else:
                    continue
                each.used += 1
                each.last_at = max(each.last_at, now)
                return True
        return False

    def report(self, now: Instant, *, give_back: bool = False) -> tuple[Used, ...]:
        """Return what the store should know of the slices; none of it is news once `told`.

        With `give_back` what is not needed goes back at once, and otherwise before it lapses.
        """
        with self._lock:
            for each in self._slices:
                ends = give_back or now >= each.until - RETURN_US
                if now >= each.until or (not each.reserved and (ends or not each.free)):
                    # From here on no call of it can begin, whatever becomes of the report.
                    each.closed = True
            return tuple(
                Used(each.number, each.used, each.last_at, each.closed)
                for each in self._slices
                if each.closed or each.used != each.told
            )

    def told(self, reports: tuple[Used, ...]) -> None:
        """Note that the store knows what was reported."""
        used = {each.number: each for each in reports}
        with self._lock:
            for each in self._slices:
                if each.number in used:
                    each.told = used[each.number].used
            self._slices = [
                each
                for each in self._slices
                if not (each.closed and each.number in used and used[each.number].closed)
            ]

    @property
    def in_use(self) -> bool:
        """Whether there is a slice whose end the store does not know."""
        return bool(self._slices)

    def _valid(self, now: Instant) -> list[_Leased]:
        return [each for each in self._slices if not each.closed and each.until > now]
