"""Reads upstreams, and what operators do to their breakers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from holdfast.core.upstream.breaker import (
    ForceAsked,
    ProbeAsked,
    ResetAsked,
    decide_breaker,
)
from holdfast.core.upstream.rate import Bucket
from holdfast.core.upstream.upstream import Gate, UpstreamState
from holdfast.core.values.instant import Instant
from holdfast.engine.arguments import asked
from holdfast.errors import ConflictError, UnknownUpstream
from holdfast.pipeline.declaration import Pipeline
from holdfast.runtime.deliveries.dispatch import Dispatch
from holdfast.runtime.events.signals import GateMoved, Signal
from holdfast.runtime.kernel.clock import Clock
from holdfast.runtime.kernel.stage import UpstreamTerms
from holdfast.store.contract import Store
from holdfast.store.tables.audit import AuditEntry
from holdfast.views.upstream import CallingStage, RateView, UpstreamView

SUBJECT: Final = "upstream"
"""What the audit log calls upstreams."""
TRIES: Final = 16
"""A worker writes what it sees of an unwell upstream a few times a second."""
LATEST: Final = 20

Declared = Callable[[], Mapping[str, UpstreamTerms]]


class UpstreamReport(NamedTuple):
    """An upstream and what was recently done to it, newest first."""

    view: UpstreamView
    actions: list[AuditEntry]


class Upstreams:
    """The upstreams of a store."""

    def __init__(
        self,
        store: Callable[[], Store],
        *,
        clock: Clock,
        declared: Declared,
        moved: Signal[GateMoved],
    ) -> None:
        self._store = store
        self._clock = clock
        self._declared = declared
        self._moved = moved

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
        """Return an upstream with its audit log, or raise `UnknownUpstream`."""
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
            entry = AuditEntry(now, by, action, SUBJECT, name, reason, detail=detail)
            written = rows.save(decided, now=now, audit=[entry])
            if written is not None:
                self._moved.tell(GateMoved(before, written))
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


def declared_upstreams(
    pipelines: Mapping[str, Pipeline], dispatch: Dispatch
) -> dict[str, UpstreamTerms]:
    """Return the upstreams that pipelines and providers call, by name."""
    return {
        terms.name: terms for pipeline in pipelines.values() for terms in pipeline.upstreams
    } | {
        bound.upstream.name: bound.upstream
        for bound in dispatch.providers
        if bound.upstream is not None
    }
