"""Upstreams as people see them, and what operators do to their breakers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from holdfast.asking import asked
from holdfast.core.upstream.breaker import (
    Admission,
    ForceAsked,
    ProbeAsked,
    ResetAsked,
    admission,
    decide_breaker,
)
from holdfast.core.upstream.breaker_policy import MOST_SECONDS, Breaker
from holdfast.core.upstream.rate import SHORT_US, Bucket, room, room_at
from holdfast.core.upstream.rate_policy import Rate
from holdfast.core.upstream.upstream import Gate, UpstreamState
from holdfast.core.values.instant import SECOND_US, Instant, to_rfc3339
from holdfast.errors import ConflictError, UnknownUpstream
from holdfast.runtime.events import signals
from holdfast.runtime.kernel.clock import Clock
from holdfast.runtime.kernel.stage import UpstreamTerms
from holdfast.store.contract import Store
from holdfast.store.tables.audit import AuditEntry

SUBJECT: Final = "upstream"
"""What the record calls upstreams."""
TRIES: Final = 16
"""A worker writes what it sees of an unwell upstream a few times a second."""
LATEST: Final = 20
_UNKNOWN: Final = Breaker(release=MOST_SECONDS)
"""What is certain under this policy is certain under every other."""

Declared = Callable[[], Mapping[str, UpstreamTerms]]


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
        """Whether jobs wait for room: a worker that had some found none of late."""
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


class UpstreamReport(NamedTuple):
    """An upstream and what was done to it of late, newest first."""

    view: UpstreamView
    actions: list[AuditEntry]


class Upstreams:
    """The upstreams of a store."""

    def __init__(self, store: Callable[[], Store], *, clock: Clock, declared: Declared) -> None:
        self._store = store
        self._clock = clock
        self._declared = declared

    def list(self) -> list[UpstreamView]:
        """Return every upstream that stages call or that anything is known about, by name."""
        declared, rows = self._declared(), self._store().upstreams
        states = {state.name: state for state in rows.all()}
        names = {*states, *rows.called(), *declared}
        buckets, now = rows.buckets(), self._clock.now()
        return [
            _view(states.get(name) or UpstreamState(name), declared.get(name), buckets, now)
            for name in sorted(names)
        ]

    def known(self) -> dict[str, UpstreamView]:
        """Return the upstreams that anything is known about, by name: of any other all is well."""
        declared, rows = self._declared(), self._store().upstreams
        states, buckets, now = rows.all(), rows.buckets(), self._clock.now()
        return {
            state.name: _view(state, declared.get(state.name), buckets, now) for state in states
        }

    def callers(self) -> dict[tuple[str, str], str]:
        """Return the upstreams that stages of stored plans call, by pipeline and stage."""
        return self._store().upstreams.callers()

    def due(self, name: str) -> Sequence[CallingStage]:
        """Return the stages with due jobs that would call an upstream, the most jobs first."""
        store = self._store()
        calls, counts = store.upstreams.callers(), Counter[tuple[str, str]]()
        for route, due, _ in store.routes(now=self._clock.now()):
            if calls.get((route.pipeline, route.stage)) == name:
                counts[route.pipeline, route.stage] += due
        return [CallingStage(*route, due) for route, due in counts.most_common()]

    def show(self, name: str) -> UpstreamReport:
        """Return an upstream with the record of it, or raise `UnknownUpstream`."""
        view = self._view(self._known(name))
        actions = self._store().audit.latest(subject_kind=SUBJECT, subject=name, limit=LATEST)
        return UpstreamReport(view, actions)

    def force_open(self, name: str, *, by: str, reason: str | None = None) -> UpstreamView:
        """Keep the breaker open, whatever calls say, until it is forced closed or reset."""
        who, why = asked("force open", by, reason)
        return self._move(name, ForceAsked(Gate.OPEN, who, why), "forced open", who, why)

    def force_closed(self, name: str, *, by: str, reason: str | None = None) -> UpstreamView:
        """Keep the breaker closed, whatever calls say, until it is forced open or reset."""
        who, why = asked("force closed", by, reason)
        return self._move(name, ForceAsked(Gate.CLOSED, who, why), "forced closed", who, why)

    def reset(self, name: str, *, by: str, reason: str | None = None) -> UpstreamView:
        """Let go of the breaker and forget everything: it is closed, and moves by itself again."""
        who, why = asked("reset", by, reason)
        return self._move(name, ResetAsked(), "reset", who, why)

    def probe(self, name: str, *, by: str, reason: str | None = None) -> UpstreamView:
        """Have the next trial made now: ends a cooldown, and a pause that the upstream asked for.

        Where neither is under way it raises `ConflictError`, and nothing changes.
        """
        who, why = asked("probe", by, reason)
        return self._move(name, ProbeAsked(), "probed", who, why)

    def _move(
        self,
        name: str,
        event: ForceAsked | ResetAsked | ProbeAsked,
        action: str,
        by: str,
        reason: str | None,
    ) -> UpstreamView:
        before = self._known(name)
        rows = self._store().upstreams
        for _ in range(TRIES):
            now = self._clock.now()
            decided = decide_breaker(before, event, None, now)
            if decided is None and isinstance(event, ProbeAsked):
                gate = "held" if before.forced is not None else before.gate.value
                raise ConflictError(
                    f"upstream {name} is {gate.replace('_', '-')} and waits for nothing that could "
                    "be cut short; look at it again"
                )
            decided = decided or before
            detail = {"from": (before.forced or before.gate).value, "generation": before.generation}
            entry = AuditEntry(now, by, action, SUBJECT, name, reason, detail)
            written = rows.save(decided, now=now, audit=[entry])
            if written is not None:
                signals.GATES.tell(signals.GateMoved(before, written))
                return self._view(written)
            before = rows.get(name)
        raise ConflictError(
            f"upstream {name} was changed by others {TRIES} times meanwhile; try again"
        )

    def _known(self, name: str) -> UpstreamState:
        """Return the upstream; a mistyped name must not become a new one."""
        rows, declared = self._store().upstreams, self._declared()
        state = rows.get(name)
        if not state.revision and name not in declared:
            called = rows.called()
            if name not in called:
                known = {*called, *declared, *(each.name for each in rows.all())}
                raise UnknownUpstream(name, known=known)
        return state

    def _view(self, state: UpstreamState) -> UpstreamView:
        buckets = self._store().upstreams.buckets()
        return _view(state, self._declared().get(state.name), buckets, self._clock.now())


def _view(
    state: UpstreamState, terms: UpstreamTerms | None, buckets: Mapping[str, Bucket], now: Instant
) -> UpstreamView:
    bucket = buckets.get(state.name) or Bucket(state.name)
    rate = bucket.rate if terms is None else terms.rate
    breaker = None if terms is None else terms.breaker
    shown = None if rate is None else RateView(rate, bucket, now)
    return UpstreamView(state, breaker, now, rate=shown)


def _text(instant: Instant | None) -> str | None:
    return None if instant is None else to_rfc3339(instant)
