"""The one place that says how many calls of an upstream with a rate may begin, and when.

A worker leases a *slice*: so many calls, to be begun before an instant. `decide_rate` takes the
bucket as it was read, an event, the rate and the instant, and returns the bucket after it, or None
when nothing changes. Like `decide` it reads no clock and nothing outside.

What is promised is about the calls, not about the slices: within any span at most `burst` calls
begin, and one more for each interval of it. A call of a slice may begin at any instant at which the
slice is valid, so each slice is counted as used now for what may be granted, and as used at its end
for what becomes free again, until the worker has reported when its calls did begin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias, assert_never

from holdfast.core.upstream.rate_policy import Rate
from holdfast.core.values.instant import SECOND_US, Instant, later

SLICE_US: Final = SECOND_US // 4
"""A slice holds what the fleet may call in this time, divided by its workers."""
VALID_US: Final = SECOND_US
"""For how long the calls of a slice may begin."""
APART_US: Final = 10_000
"""How far the workers' readings of the store's clock may be apart."""
AGAIN_US: Final = 20_000
"""How soon it is worth asking again while slices of others are out."""
SHORT_US: Final = SECOND_US
"""How often it is noted that a worker found no room."""


class Slice(NamedTuple):
    """Calls that one worker may begin before an instant."""

    number: int
    worker: str
    calls: int
    until: Instant
    used: int = 0
    """How many of them have begun, as far as the worker has reported."""

    @property
    def left(self) -> int:
        """How many may still begin, as far as is known."""
        return self.calls - self.used


class Used(NamedTuple):
    """What a worker reports of a slice; said again it changes nothing."""

    number: int
    used: int
    """How many of its calls have begun so far."""
    last_at: Instant
    """When the latest of them began."""
    closed: bool = False
    """Whether no other will: the rest goes back."""


class Bucket(NamedTuple):
    """What the store keeps of an upstream's rate. All workers of the fleet see the same."""

    name: str
    revision: int = 0
    full_at: Instant = Instant(0)
    """When there is room for a whole burst, if no other call begins; slices that are out are not
    in it."""
    slices: tuple[Slice, ...] = ()
    granted: int = 0
    """Slices given out so far, by which they are numbered."""
    begun: int = 0
    """Calls that have begun so far, as reported."""
    lapsed: int = 0
    """Calls that were given out and never reported: they may have begun."""
    short_at: Instant | None = None
    """When a worker last found no room, by about a second."""
    calls: int = 0
    per_us: int = 0
    burst: int = 0
    """The rate by which it was last decided, for those who do not declare it."""

    @property
    def rate(self) -> Rate | None:
        """The rate by which it was last decided."""
        if not self.calls:
            return None
        return Rate(self.calls, per=self.per_us / SECOND_US, burst=self.burst)

    def to_document(self) -> dict[str, Any]:
        """Return the form that is stored; the name and the revision stand beside it."""
        document = self._asdict()
        del document["name"], document["revision"]
        return document

    @classmethod
    def from_document(cls, name: str, revision: int, document: Mapping[str, Any]) -> Bucket:
        """Read the form that is stored; what a newer holdfast added is left aside."""
        known = {key: value for key, value in document.items() if key in cls._fields}
        slices = tuple(Slice(*each[:5]) for each in known.pop("slices", ()))
        return cls(**{**known, "name": name, "revision": revision, "slices": slices})


@dataclass(frozen=True, slots=True)
class SliceAsked:
    """A worker would make calls. `fleet` is how many workers are alive."""

    worker: str
    fleet: int = 1
    used: tuple[Used, ...] = ()


@dataclass(frozen=True, slots=True)
class CallsReported:
    """A worker says what became of its slices."""

    used: tuple[Used, ...]


RateEvent: TypeAlias = SliceAsked | CallsReported


def decide_rate(bucket: Bucket, event: RateEvent, rate: Rate, now: Instant) -> Bucket | None:
    """Return the bucket after `event` at `now`, or None when it changes nothing."""
    settled = _settled(bucket, rate, now)
    known = _reported(settled, event.used, rate, now)
    match event:
        case SliceAsked():
            after = _grant(known, event, rate, now)
        case CallsReported():
            after = known
        case _:
            assert_never(event)
    if after == settled:
        # What has lapsed will be found so by its next reader.
        return None
    per_us = round(rate.per * SECOND_US)
    return after._replace(calls=rate.calls, per_us=per_us, burst=rate.at_once)


def room(bucket: Bucket, rate: Rate, now: Instant) -> int:
    """Return how many calls may be given out at `now`, besides those that are."""
    known = _settled(bucket, rate, now)
    ahead_us = max(known.full_at - now, 0)
    return max(rate.at_once - _out(known) - -(-ahead_us // rate.interval_us), 0)


def room_at(bucket: Bucket, rate: Rate, now: Instant) -> Instant:
    """Return when it is worth asking for a call: `now` while there is room."""
    known = _settled(bucket, rate, now)
    missing = _out(known) + 1 - rate.at_once
    if missing > 0:
        # The workers that have them report them soon, or they lapse.
        lapses_at = min(_lapses_at(each) for each in known.slices)
        return min(lapses_at, later(now, AGAIN_US))
    return max(now, Instant(known.full_at + missing * rate.interval_us))


def _settled(bucket: Bucket, rate: Rate, now: Instant) -> Bucket:
    """Return the bucket with the slices that have lapsed counted as used at their end."""
    # Neither lies further ahead, unless the clock was set back or the rate was raised.
    full_at = min(bucket.full_at, later(now, rate.at_once * rate.interval_us + 2 * APART_US))
    longest = later(now, VALID_US + APART_US)
    out: list[Slice] = []
    lapsed = bucket.lapsed
    for each in sorted(bucket.slices, key=lambda each: each.until):
        if _lapses_at(each) > now:
            out.append(each._replace(until=min(each.until, longest)))
            continue
        full_at = _after_calls(full_at, each.left, _lapses_at(each), rate)
        lapsed += each.left
    return bucket._replace(full_at=full_at, slices=tuple(out), lapsed=lapsed)


def _reported(bucket: Bucket, used: Iterable[Used], rate: Rate, now: Instant) -> Bucket:
    """Return the bucket with calls counted as begun when a worker says that they did."""
    reports = {each.number: each for each in used}
    full_at, begun = bucket.full_at, bucket.begun
    out: list[Slice] = []
    for each in bucket.slices:
        report = reports.get(each.number)
        if report is None:
            out.append(each)
            continue
        new = min(report.used, each.calls) - each.used
        if new > 0:
            last_at = later(min(report.last_at, now), APART_US)
            full_at = _after_calls(full_at, new, last_at, rate)
            begun += new
        if not report.closed:
            out.append(each._replace(used=each.used + max(new, 0)))
    return bucket._replace(full_at=full_at, slices=tuple(out), begun=begun)


def _grant(bucket: Bucket, event: SliceAsked, rate: Rate, now: Instant) -> Bucket:
    """Give out a slice, as large as is fair and as there is room for."""
    free = room(bucket, rate, now)
    if free <= 0:
        if bucket.short_at is not None and 0 <= now - bucket.short_at < SHORT_US:
            return bucket
        return bucket._replace(short_at=now)
    fleet = max(event.fleet, 1)
    # Half of a burst for all of them: the other half becomes free while it is used.
    fair = min(SLICE_US // (rate.interval_us * fleet), rate.at_once // (2 * fleet))
    given = Slice(bucket.granted + 1, event.worker, min(max(fair, 1), free), later(now, VALID_US))
    return bucket._replace(slices=(*bucket.slices, given), granted=given.number)


def _after_calls(full_at: Instant, calls: int, at: Instant, rate: Rate) -> Instant:
    """Return when there is room for a whole burst again after calls that began at an instant."""
    return later(max(full_at, at), calls * rate.interval_us) if calls else full_at


def _lapses_at(each: Slice) -> Instant:
    return later(each.until, APART_US)


def _out(bucket: Bucket) -> int:
    return sum(each.left for each in bucket.slices)
