"""Keeps a worker's view of its upstreams and the fleet's view of them in step."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from holdfast.core.job.job import WorkerId
from holdfast.core.upstream.breaker import (
    Admits,
    BreakerEvent,
    Observed,
    PermitsAsked,
    TrialEnded,
    admission,
    decide_breaker,
)
from holdfast.core.upstream.upstream import Gate, UpstreamState
from holdfast.core.values.instant import FAR_FUTURE, SECOND_US, Instant, later, to_rfc3339
from holdfast.errors import UnavailableError, UsageError
from holdfast.runtime.breakers.probe import Probing
from holdfast.runtime.breakers.rates import Rates
from holdfast.runtime.breakers.transitions import LOGGER, WORDS, log_move
from holdfast.runtime.breakers.watch import Permit, Watch
from holdfast.runtime.events.signals import Signals
from holdfast.runtime.kernel.clock import Chance
from holdfast.runtime.kernel.stage import BoundStage, UpstreamTerms
from holdfast.store.contract import Store
from holdfast.store.tables.audit import ENGINE, AuditEntry

TRIES: Final = 16
QUIET_US: Final = SECOND_US
"""How often upstreams are read while all is well."""
BUSY_US: Final = 200_000
"""How often they are read and written while something is wrong."""
SPARE_US: Final = 100_000
"""How long what failed since the last news waits to be shared with the rest: an upstream that fails
every call would otherwise have its row written by every worker for each of them."""
OLD_US: Final = 5 * SECOND_US // 2
"""What was read longer ago was not read in its turn: the store was away meanwhile."""
UNBOUNDED: Final = 1_000_000
"""As many attempts as the lanes take."""
ANNOUNCED_US: Final = 2 * SECOND_US
FLEET_US: Final = 5 * SECOND_US
ALIVE_US: Final = 60 * SECOND_US


class Move(NamedTuple):
    """An upstream before and after a decision that was written."""

    before: UpstreamState
    after: UpstreamState


class Allowance(NamedTuple):
    """How many jobs a worker may claim of an upstream that does not let everything through."""

    limit: int
    """Attempts that may be in flight at a time; 0 keeps jobs in their queue."""
    by_permit: bool = False
    """Whether each of them needs a permit."""
    and_the_rest: bool = False
    """Whether the others are claimed as well, to learn that nothing is let through."""
    rated: bool = False
    """Whether each of them needs a call of the upstream's rate."""


class CallsUpstream(Protocol):
    """A stage or a provider, by the upstream that it calls."""

    @property
    def upstream(self) -> UpstreamTerms | None:
        """The upstream, if there is one."""
        ...


class Breakers:
    """Reads the fleet's upstreams, tells it what this worker has seen, and says what it may claim.

    A worker that cannot reach the store goes by what it last read, for a while.
    """

    name = "breakers"

    def __init__(
        self,
        store: Store,
        *,
        worker: WorkerId,
        stages: Iterable[CallsUpstream],
        chance: Chance,
        changed: Callable[[], None] = lambda: None,
        signals: Signals | None = None,
    ) -> None:
        signals = signals or Signals()
        self.wake = threading.Event()
        self.watches: Mapping[str, Watch] = {
            terms.name: Watch(terms, chance=chance, calls=signals.calls)
            for terms in terms_of(stages)
        }
        self._store = store
        self._worker = worker
        self._chance = chance
        self._changed = changed
        self._gates = signals.gates
        self.rates = Rates(
            {name: watch.room for name, watch in self.watches.items() if watch.room is not None},
            worker=worker,
            fleet=self._count_fleet,
            chance=chance,
            in_use=self._slice_is_out,
        )
        self._is_quiet = True
        self._fleet = 1
        self._fleet_at = Instant(0)
        self._told_at = Instant(0)
        self._probes = {
            name: Probing(watch.terms.probe, over=self.wake.set)
            for name, watch in self.watches.items()
            if watch.terms.probe is not None
        }

    def watch_of(self, bound: BoundStage) -> Watch | None:
        """Return the watch over the upstream that a stage calls."""
        return None if bound.upstream is None else self.watches[bound.upstream.name]

    def standing(self, name: str) -> str:
        """Return how the breaker of an upstream stands, as far as this worker knows."""
        state = self.watches[name].state
        return (state.forced or state.gate).value

    def heed(self, now: Instant) -> None:
        """Look soon, because there is something to tell."""
        if not 0 <= now - self._told_at < SPARE_US:
            self.wake.set()

    def tick(self, now: Instant) -> Instant:
        """Read all upstreams, then write what was seen of those that something is wrong with."""
        if not self.watches:
            return FAR_FUTURE
        news = any(watch.has_news() for watch in self.watches.values())
        if news:
            # First of all: what fails meanwhile is news to the next turn, and not a turn at once.
            self._told_at = now
        self.refresh(now)
        for watch in self.watches.values():
            self._report(watch, now)
            self._probe(watch, now)
        if news:
            return later(now, SPARE_US)
        self._is_quiet = not any(self._is_busy(watch, now) for watch in self.watches.values())
        spread = 0.75 + self._chance.roll() / 2
        return later(now, int((QUIET_US if self._is_quiet else BUSY_US) * spread))

    def catch_up(self, now: Instant, *, store: Store) -> None:
        """Read the upstreams by `store` if that is overdue: nothing may be claimed before."""
        if any(now - watch.read_at > OLD_US for watch in self.watches.values()):
            self.refresh(now, store=store)

    def refresh(self, now: Instant, *, store: Store | None = None) -> None:
        """Read every upstream of this worker."""
        known = {state.name: state for state in (store or self._store).upstreams.all()}
        moved = [
            watch.learn(known.get(name, UpstreamState(name)), now=now)
            for name, watch in self.watches.items()
        ]
        if any(moved):
            self._changed()

    def allowances(self, now: Instant, *, places: int) -> dict[str, Allowance]:
        """Return what may be claimed of upstreams that do not let everything through."""
        found: dict[str, Allowance] = {}
        for name, watch in self.watches.items():
            allowance = self._allowance(watch, now, places)
            if allowance is not None:
                found[name] = allowance
        return found

    def announced(self, now: Instant, *, places: int) -> dict[str, Allowance]:
        """Return how many jobs other workers may be sent to claim.

        Of an upstream with a rate it is what they may call soon: sent more jobs, they would
        wait with them.
        """
        found = self.allowances(now, places=places)
        for name, allowance in found.items():
            terms = self.watches[name].terms
            if terms.rate is not None and allowance.limit == UNBOUNDED:
                soon = terms.rate.at_once + ANNOUNCED_US // terms.rate.interval_us
                found[name] = allowance._replace(limit=soon)
        return found

    def ask_permits(self, name: str, wanted: int, *, store: Store, now: Instant) -> list[Permit]:
        """Reserve up to `wanted` trial calls for this worker; nobody else gets the same."""
        watch = self.watches[name]
        move = self._move(watch, PermitsAsked(self._worker, wanted), now, store=store)
        if move is None:
            return []
        after = move.after
        older = move.before.permits if move.before.generation == after.generation else ()
        known = {permit.number for permit in older}
        return [
            Permit(after.generation, permit.number, permit.until)
            for permit in after.permits
            if permit.worker == self._worker and permit.number not in known
        ]

    def give_back(self, name: str, permits: Iterable[Permit]) -> None:
        """Return permits that no call was made with."""
        for permit in permits:
            self.watches[name].return_permit(permit)
            self.wake.set()

    def admits_all(self, bound: BoundStage, now: Instant) -> bool:
        """Return whether a stage's upstream lets everything through, as far as is known here."""
        watch = self.watch_of(bound)
        if watch is None:
            return True
        terms = watch.terms
        return terms.concurrency is None and terms.rate is None and not watch.restricted(now)

    def _allowance(self, watch: Watch, now: Instant, places: int) -> Allowance | None:
        held, rated = watch.held(now), watch.room is not None
        if self._may_try(watch, now) and watch.terms.probe is None:
            return Allowance(places, by_permit=True, and_the_rest=not held, rated=rated)
        if held:
            return Allowance(0)
        most = watch.terms.concurrency
        share = admission(watch.state, watch.terms.breaker, now).share
        if share == 0.0:
            # They are claimed to learn so, and nothing is called.
            return None if most is None else Allowance(most)
        if share == 1.0:
            if most is None and not rated:
                return None
            return Allowance(UNBOUNDED if most is None else most, rated=rated)
        released = max(math.ceil(share * places), 1)
        return Allowance(released if most is None else min(released, most), rated=rated)

    @staticmethod
    def _may_try(watch: Watch, now: Instant) -> bool:
        return admission(watch.state, watch.terms.breaker, now).admits is Admits.TRIALS

    def _is_busy(self, watch: Watch, now: Instant) -> bool:
        state = watch.state
        return (
            bool(state.samples)
            or (watch.room is not None and watch.room.in_use)
            or state.gate is not Gate.CLOSED
            or admission(state, watch.terms.breaker, now).share < 1.0
        )

    def _report(self, watch: Watch, now: Instant) -> None:
        """Write what this worker has seen; nothing at all while all is well."""
        self._report_rate_limit(watch, now)
        if watch.room is not None:
            self.rates.report(watch.terms.name, store=self._store, now=now)
        self._end_trials(watch, watch.take_trials(), now)
        if not watch.state.samples and not watch.has_failures():
            watch.put_aside(now)
            return
        observed = Observed(
            self._worker,
            watch.state.generation,
            watch.take_runs(),
            self._count_fleet(now, self._store),
            watch.take_earlier(),
            watch.take_failures(),
        )
        self._move(watch, observed, now)

    def _report_rate_limit(self, watch: Watch, now: Instant) -> None:
        limited = watch.take_rate_limit()
        if limited is None:
            return
        try:
            self._move(watch, limited, now)
        except UnavailableError:
            watch.pause(limited.until)
            raise

    def _end_trials(self, watch: Watch, trials: Sequence[TrialEnded], now: Instant) -> None:
        for number, trial in enumerate(trials):
            try:
                self._move(watch, trial, now)
            except UnavailableError:
                # The permits would only run out, and meanwhile nobody could try.
                watch.trials.extend(trials[number:])
                raise

    def _probe(self, watch: Watch, now: Instant) -> None:
        """Ask the upstream itself how it is, once its cooldown is over."""
        probing = self._probes.get(watch.terms.name)
        if probing is None:
            return
        ended = probing.take(now)
        if ended is not None:
            self._end_trials(watch, [ended], now)
        if probing.idle and self._may_try(watch, now) and self._has_room(watch, now):
            permits = self.ask_permits(watch.terms.name, 1, store=self._store, now=now)
            if permits and (watch.room is None or watch.room.take(now)):
                probing.start(permits[0])
            else:
                self.give_back(watch.terms.name, permits)
                if watch.room is not None:
                    watch.room.release(1)

    def _has_room(self, watch: Watch, now: Instant) -> bool:
        """Return whether a rate has room for a probe, which is a call as any other."""
        if watch.room is None:
            return True
        return self.rates.reserve(watch.terms.name, 1, store=self._store, now=now) > 0

    def _move(
        self, watch: Watch, event: BreakerEvent, now: Instant, *, store: Store | None = None
    ) -> Move | None:
        """Decide and write, again and again while others change the upstream meanwhile."""
        rows = (store or self._store).upstreams
        before = watch.state
        for _ in range(TRIES):
            after = decide_breaker(before, event, watch.terms.breaker, now)
            if after is None:
                return None
            written = rows.save(after, now=now, audit=_audit(before, after, now))
            if written is not None:
                if watch.learn(written, now=now):
                    log_move(before, written, self._gates)
                    self._changed()
                return Move(before, written)
            before = rows.get(watch.terms.name)
        LOGGER.warning(
            "upstream %s changes too fast to be written", watch.terms.name, extra={"event": "busy"}
        )
        return None

    def _slice_is_out(self) -> None:
        """Look more often, so that others soon know what is used of a slice."""
        if self._is_quiet:
            self._is_quiet = False
            self.wake.set()

    def _count_fleet(self, now: Instant, store: Store) -> int:
        if now - self._fleet_at >= FLEET_US:
            workers = store.workers()
            alive = [row for row in workers if now - row.seen_at < ALIVE_US]
            self._fleet = max(sum(row.state != "stopped" for row in alive), 1)
            self._fleet_at = now
        return self._fleet


def terms_of(stages: Iterable[CallsUpstream]) -> list[UpstreamTerms]:
    """Return the terms of every upstream that is called; two sets for one name are refused."""
    found: dict[str, UpstreamTerms] = {}
    for stage in stages:
        terms = stage.upstream
        if terms is not None and found.setdefault(terms.name, terms) != terms:
            raise UsageError(
                f"upstream {terms.name!r} is declared twice, in different ways; "
                "declare it once and give it to every stage that calls it"
            )
    return list(found.values())


def _audit(before: UpstreamState, after: UpstreamState, now: Instant) -> list[AuditEntry]:
    if before.gate is after.gate:
        return []
    until = None if after.open_until is None else to_rfc3339(after.open_until)
    detail: dict[str, Any] = {"generation": after.generation, "open_until": until}
    if after.gate is Gate.OPEN and after.failures:
        detail["failures"] = [call.to_document() for call in after.failures]
    reason = after.reason if after.gate is Gate.OPEN else None
    return [
        AuditEntry(now, ENGINE, WORDS[after.gate], "upstream", after.name, reason, detail=detail)
    ]
