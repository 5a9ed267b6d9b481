"""Where time and chance enter. Everything else takes them as arguments."""

from __future__ import annotations

import array
import os
import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from holdfast.core.values.instant import Instant
from holdfast.errors import UnavailableError

JUMP_US: Final = 1_000_000
"""A store's clock that is off by more than this since it was last read was set, not slewed."""
_READINGS: Final = 3
_POOL: Final = 256


class Clock(Protocol):
    """Tells the store's time."""

    def now(self) -> Instant:
        """Return the instant by which leases, due times and deadlines are judged."""
        ...

    def instant_of(self, reading_s: float) -> Instant:
        """Return the store's time at which `monotonic_s` returned that.

        Taking a reading never waits for the store; this may.
        """
        ...

    def learn(self) -> None:
        """Compare with the store's own time, and follow it."""
        ...

    def steady_for(self, span_us: int) -> bool:
        """Return whether the store's time has not jumped during the last `span_us`."""
        ...


class StoreClock:
    """The store's time, without asking it: monotonic time plus an offset learnt from it.

    This machine's wall clock plays no part, so it may be wrong or jump. The offset is taken from
    the reading with the shortest round trip. It is learnt anew by a call of `learn`, and with
    `learn_every_us` also by asking the time after that long.
    """

    def __init__(
        self,
        read_store: Callable[[], Instant],
        *,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        learn_every_us: int | None = None,
    ) -> None:
        self._read_store = read_store
        self._monotonic_ns = monotonic_ns
        self._learn_every_us = learn_every_us
        self._learn_again_at_us: int | None = None
        self._offset_us: int | None = None
        self._jumped_at_us: int | None = None

    def now(self) -> Instant:
        """Return the store's time as last learnt."""
        now_us = self._monotonic_ns() // 1000
        if self._offset_us is None:
            self.learn()
        elif self._learn_again_at_us is not None and now_us >= self._learn_again_at_us:
            self._learn_again(now_us)
        else:
            return Instant(now_us + self._offset_us)
        return Instant(self._monotonic_ns() // 1000 + (self._offset_us or 0))

    def instant_of(self, reading_s: float) -> Instant:
        """Return the store's time, as last learnt, at a reading of monotonic time."""
        if self._offset_us is None:
            self.learn()
        return Instant(int(reading_s * 1_000_000) + (self._offset_us or 0))

    def learn(self) -> None:
        """Read the store's time a few times and keep the most certain answer."""
        best_trip_us, best_offset_us = None, 0
        for _ in range(_READINGS):
            before_us = self._monotonic_ns() // 1000
            read = self._read_store()
            trip_us = self._monotonic_ns() // 1000 - before_us
            if best_trip_us is None or trip_us < best_trip_us:
                best_trip_us, best_offset_us = trip_us, read - before_us - trip_us // 2
        if self._offset_us is not None and abs(best_offset_us - self._offset_us) > JUMP_US:
            self._jumped_at_us = self._monotonic_ns() // 1000
        self._offset_us = best_offset_us
        if self._learn_every_us is not None:
            self._learn_again_at_us = self._monotonic_ns() // 1000 + self._learn_every_us

    def reading(self, read_store: Callable[[], Instant]) -> StoreClock:
        """Return a clock that reads the store another way, and is learnt by `learn` alone."""
        return StoreClock(read_store, monotonic_ns=self._monotonic_ns)

    def _learn_again(self, now_us: int) -> None:
        self._learn_again_at_us = now_us + (self._learn_every_us or 0)
        with suppress(UnavailableError):
            # The old offset is good enough until the store answers again.
            self.learn()

    def steady_for(self, span_us: int) -> bool:
        """Return whether what was learnt has agreed with monotonic time for `span_us`."""
        jumped_at_us = self._jumped_at_us
        return jumped_at_us is None or self._monotonic_ns() // 1000 - jumped_at_us >= span_us


def process_time() -> Callable[[], Instant]:
    """Return a clock of this process alone: what its wall clock said once, then monotonic time."""
    offset_us = wall_clock() - time.monotonic_ns() // 1000
    monotonic_ns = time.monotonic_ns

    def now() -> Instant:
        return monotonic_ns() // 1000 + offset_us  # type: ignore[return-value] # NewType costs

    return now


class Chance:
    """The source of jitter and of job ids; a seed makes it repeatable."""

    def __init__(self, seed: int | None = None) -> None:
        self._rolls = random.Random(seed)
        self._seeded = seed is not None
        self._pool: list[int] = []
        os.register_at_fork(after_in_child=self._pool.clear)

    def roll(self) -> float:
        """Return a float in [0, 1)."""
        return self._rolls.random()

    def bits(self, count: int) -> int:
        """Return up to 64 random bits, not to be guessed from outside unless seeded."""
        if self._seeded:
            return self._rolls.getrandbits(count)
        try:
            word = self._pool.pop()
        except IndexError:
            # The system's randomness comes in blocks: a call for each id would cost more than
            # the id itself.
            self._pool.extend(array.array("Q", os.urandom(8 * _POOL)))
            word = self._pool.pop()
        return word >> (64 - count)


def wall_clock() -> Instant:
    """Return what this machine's clock says; it judges nothing, but it can be compared."""
    return Instant(time.time_ns() // 1000)


def monotonic_s() -> float:
    """Return this process's monotonic time, for durations."""
    return time.monotonic()


def sleep_s(seconds: float) -> None:
    """Block this thread."""
    time.sleep(seconds)
