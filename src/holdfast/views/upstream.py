"""How upstreams stood when they were read: their breakers and their rates."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from holdfast.core.upstream.breaker import (
    Admission,
    admission,
)
from holdfast.core.upstream.breaker_policy import MAX_SECONDS, Breaker
from holdfast.core.upstream.rate import SHORT_US, Bucket, room, room_at
from holdfast.core.upstream.rate_policy import Rate
from holdfast.core.upstream.upstream import Gate, UpstreamState
from holdfast.core.values.instant import SECOND_US, Instant, to_rfc3339

_UNKNOWN: Final = Breaker(release=MAX_SECONDS)
"""What is certain under this policy is certain under every other."""


class RateView:
    """How much of a rate was left when it was read."""

    def __init__(self, rate: Rate, bucket: Bucket, read_at: Instant) -> None:
        self.rate, self.bucket, self.read_at = rate, bucket, read_at

    @property
    def room(self) -> int:
        """How many calls could be given to a worker."""
        return room(self.bucket, self.rate, self.read_at)

    @property
    def out(self) -> int:
        """How many calls workers may begin by what they were given."""
        return sum(each.left for each in self.bucket.slices if each.until > self.read_at)

    @property
    def room_at(self) -> Instant | None:
        """When there is room for another call; None while there is."""
        free_at = room_at(self.bucket, self.rate, self.read_at)
        return free_at if free_at > self.read_at else None

    @property
    def begun(self) -> int:
        """How many calls have begun, or may have, since the rate was first used."""
        return self.bucket.begun + self.bucket.lapsed

    @property
    def is_short(self) -> bool:
        """Whether jobs wait for room: a worker that had some found none recently."""
        short_at = self.bucket.short_at
        if short_at is None:
            return False
        # Workers ask again when there is room for a call.
        return self.read_at - short_at <= 2 * SHORT_US + self.rate.interval_us

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values, instants as texts in UTC."""
        return {
            "calls": self.rate.calls,
            "per_seconds": self.rate.per,
            "burst": self.rate.at_once,
            "room": self.room,
            "room_at": _text(self.room_at),
            "out": self.out,
            "begun": self.begun,
            "short": self.is_short,
        }


class UpstreamView:
    """How an upstream stood when it was read.

    `breaker` is the policy of this process's own declaration, None when it declares none. `rate`
    is as this process declares it, or as workers used it last; None where there is none.
    """

    def __init__(
        self,
        state: UpstreamState,
        breaker: Breaker | None,
        read_at: Instant,
        *,
        rate: RateView | None = None,
    ) -> None:
        self.state, self.breaker, self.read_at = state, breaker, read_at
        self.rate = rate
        self._admission = admission(state, breaker or _UNKNOWN, read_at)

    def __repr__(self) -> str:
        return f"UpstreamView({self.name!r}, {self.gate.value})"

    @property
    def name(self) -> str:
        """What it is called."""
        return self.state.name

    @property
    def gate(self) -> Gate:
        """How its breaker stands: as an operator holds it, or by itself."""
        return self.state.forced or self.state.gate

    @property
    def admission(self) -> Admission:
        """What is let through."""
        return self._admission

    @property
    def since(self) -> Instant | None:
        """When the gate last moved; None when it never has."""
        return self.state.since or None

    @property
    def until(self) -> Instant | None:
        """When the next call may be made: once a cooldown and a pause it asked for are over."""
        return self._admission.until

    @property
    def paused_until(self) -> Instant | None:
        """Until when the upstream asked to be left alone, if that is yet to come."""
        paused = self.state.paused_until
        return paused if paused is not None and paused > self.read_at else None

    @property
    def reason(self) -> str | None:
        """Why nothing, or not everything, is let through; None while all is."""
        state = self.state
        if state.forced is not None:
            why = f": {state.forced_reason}" if state.forced_reason else ""
            return f"{state.forced_by} holds it {state.forced.value}{why}"
        return state.reason

    @property
    def cooldown_s(self) -> float | None:
        """How long the cooldown is, or would be now; None where this process has no policy."""
        if self.breaker is None:
            return None
        return self.breaker.cooldown_us(self.state.reopenings) / SECOND_US

    @property
    def share(self) -> float | None:
        """How much is let through, from 0 to 1; None where only a worker's policy tells."""
        share = self._admission.share
        return share if self.breaker is not None or share in {0.0, 1.0} else None

    @property
    def open_s(self) -> float:
        """For how many seconds it was open in all, until it was read."""
        return self.state.open_time_us(self.read_at) / SECOND_US

    @property
    def trials(self) -> int:
        """How many trial calls are under way."""
        return sum(permit.until > self.read_at for permit in self.state.permits)

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values, instants as texts in UTC."""
        state = self.state
        return {
            "upstream": self.name,
            "breaker": self.gate.value,
            "admits": self._admission.admits.value,
            "share": self.share,
            "since": _text(self.since),
            "until": _text(self.until),
            "paused_until": _text(self.paused_until),
            "reason": self.reason,
            "failures": [call.to_document() for call in reversed(state.failures)],
            "forced_by": state.forced_by,
            "forced_reason": state.forced_reason,
            "generation": state.generation,
            "reopenings": state.reopenings,
            "trials": self.trials,
            "successes": state.successes,
            "recently_fine": sum(sample.fine for sample in state.samples),
            "recently_failed": sum(sample.failed for sample in state.samples),
            "open_seconds": self.open_s,
            "rate": None if self.rate is None else self.rate.to_document(),
        }


class CallingStage(NamedTuple):
    """A stage that calls an upstream, and how many jobs are due there."""

    pipeline: str
    stage: str
    due: int


def _text(instant: Instant | None) -> str | None:
    return None if instant is None else to_rfc3339(instant)
