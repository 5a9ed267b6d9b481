"""Workers that share a rate, as a model: each has a clock of its own, and any may be lost."""

from typing import NamedTuple

from holdfast.core.upstream.rate import (
    APART_US,
    VALID_US,
    Bucket,
    CallsReported,
    RateEvent,
    SliceAsked,
    decide_rate,
)
from holdfast.core.upstream.rate_policy import Rate
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.runtime.breakers.rate_room import RateRoom

START = Instant(1_800_000_000 * SECOND_US)


class Caller:
    """A worker with a clock that is off, and the slices it was given."""

    def __init__(self, name: str, rate: Rate, offset_us: int) -> None:
        self.name, self.rate, self.offset_us = name, rate, offset_us
        self.room = RateRoom(rate)

    def now(self, at: Instant) -> Instant:
        return Instant(at + self.offset_us)


class Step(NamedTuple):
    """A turn: time passes, then a worker does something, `calls` times."""

    span_us: int
    worker: int
    deed: str
    calls: int


class Fleet:
    """Any number of workers, one bucket, and the instants at which calls began by true time."""

    def __init__(self, rate: Rate, offsets_us: list[int]) -> None:
        assert max(offsets_us) - min(offsets_us) <= APART_US
        self.rate, self.at, self.bucket = rate, START, Bucket("gateway")
        self.callers = [Caller(f"w{n}", rate, offset) for n, offset in enumerate(offsets_us)]
        self.begun: list[Instant] = []

    def meet(self, step: Step) -> None:
        self.at = Instant(self.at + step.span_us)
        caller = self.callers[step.worker % len(self.callers)]
        now = caller.now(self.at)
        match step.deed:
            case "ask":
                self.ask(caller, now)
            case "lost ask":
                # The answer does not come: a slice may be out of which its worker knows nothing.
                self._decide(
                    SliceAsked(caller.name, len(self.callers), caller.room.report(now)), now
                )
            case "call":
                self.call(caller, now, step.calls)
            case "report":
                used = caller.room.report(now, give_back=step.calls > 1)
                self._decide(CallsReported(used), now)
                caller.room.told(used)
            case "lost report":
                self._decide(CallsReported(caller.room.report(now)), now)
            case "crash":
                caller.room = RateRoom(self.rate)
            case "late":
                # All that can be called at the last moment, and nobody learns of it.
                self.ask(caller, now)
                self.at = Instant(self.at + VALID_US - 1)
                self.call(caller, caller.now(self.at), 1_000)
                caller.room = RateRoom(self.rate)
            case "hurry":
                self.ask(caller, now)
                self.call(caller, now, step.calls)
                self.ask(caller, now)

    def ask(self, caller: Caller, now: Instant) -> bool:
        used = caller.room.report(now)
        granted = self.bucket.granted
        self._decide(SliceAsked(caller.name, len(self.callers), used), now)
        caller.room.told(used)
        if self.bucket.granted == granted:
            return False
        caller.room.add(self.bucket.slices[-1])
        return True

    def call(self, caller: Caller, now: Instant, calls: int) -> int:
        taken = 0
        while taken < calls and caller.room.take(now):
            self.begun.append(self.at)
            taken += 1
        return taken

    def excess(self) -> float:
        """Return by how much the promise was broken in the worst span; at most 0 when kept."""
        interval_us, worst, full_at = self.rate.interval_us, float("-inf"), 0
        for begin in self.begun:
            full_at = max(full_at, begin) + interval_us
            worst = max(worst, (full_at - begin) / interval_us - self.rate.at_once)
        return worst

    def most_in_a_period(self) -> int:
        """Return how many calls the fullest period holds."""
        per_us = round(self.rate.per * SECOND_US)
        return max(
            (sum(0 <= other - begin <= per_us for other in self.begun) for begin in self.begun),
            default=0,
        )

    def _decide(self, event: RateEvent, now: Instant) -> None:
        after = decide_rate(self.bucket, event, self.rate, now)
        if after is not None:
            document = after.to_document()
            self.bucket = Bucket.from_document("gateway", after.revision + 1, document)
