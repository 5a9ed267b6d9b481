"""Runs jobs in the calling thread, by the very parts a worker is made of."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from holdfast.core.job.decision import Kind
from holdfast.core.job.job import ENDED, JobState, WorkerId
from holdfast.core.upstream.upstream import UpstreamState
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.engine.app import Holdfast
from holdfast.engine.handles.handle import JobHandle
from holdfast.errors import UsageError
from holdfast.runtime.attempts.attempt import Attempt, Fate, JobContext, Report
from holdfast.runtime.attempts.in_flight import InFlight
from holdfast.runtime.breakers.breakers import Breakers
from holdfast.runtime.deliveries.courier import Courier
from holdfast.runtime.deliveries.stage_deliveries import Notices
from holdfast.runtime.events.announce import Applied
from holdfast.runtime.events.decision_messages import DecisionMessages
from holdfast.runtime.events.settle import Settler
from holdfast.runtime.kernel.clock import Chance, Clock
from holdfast.runtime.kernel.plans import PlanCache
from holdfast.runtime.kernel.stage import LaneKind
from holdfast.runtime.maintenance.sweeper import Sweeper
from holdfast.runtime.worker.claimer import Claimer
from holdfast.runtime.worker.reporter import Reporter
from holdfast.testing.clock import ManualClock
from holdfast.testing.jump import jump, stages_of

HOLDER: Final = WorkerId("inline")
LEASE_US: Final = 86_400 * SECOND_US
MAX_TURNS: Final = 10_000
PROBE_S: Final = 10.0
"""How long a probe of an upstream is waited for, by real time."""


class Ran(NamedTuple):
    """One thing that happened to a job while it was run inline."""

    job_id: str
    pipeline: str
    stage: str
    attempt: int
    event: Kind
    state: JobState
    error_class: str | None
    at: Instant


def run_inline(
    app: Holdfast,
    *,
    until: JobHandle | str | Callable[[], bool] | None = None,
    advance: bool = False,
    most: int = MAX_TURNS,
) -> list[Ran]:
    """Run due jobs in this thread, one after another, and return what happened.

    It ends when nothing is due, or as soon as `until` is true: a job, by its handle or id, that
    has ended, or a function. With `advance` the app's `ManualClock` jumps to the next instant at
    which something happens by itself: a retry, a deadline, the end of a wait. Paused queues and
    pipelines the app does not have are left alone, as by any worker, and so are jobs whose upstream
    lets nothing through.

        app = Holdfast("sqlite:///:memory:", pipelines=[convert], clock=ManualClock())
        job = app.submit(convert, {"pdf": "report.pdf"})
        run_inline(app, until=job, advance=True)
        assert job.get().state == "complete"

    `async def` handlers run by `asyncio.run`, and stages for processes run here as well. A stage
    timeout counts when the app's clock passes it while the handler runs. `KeyboardInterrupt`
    hands the job back and then goes on to the caller.
    """
    if advance and not isinstance(app.clock, ManualClock):
        raise UsageError("advance=True needs Holdfast(clock=ManualClock())")
    crew = _Inline(app)
    happened: list[Ran] = []
    stop_watching = app.subscribe(lambda applied: happened.append(_ran(applied)))
    try:
        is_over = _condition(app, until)
        for _ in range(most):
            if is_over() or not (
                crew.turn() or (advance and jump(app, crew.upstreams(), crew.asks()))
            ):
                return happened
    finally:
        stop_watching()
    raise UsageError(
        f"after {most} turns jobs are still due; does a handler postpone itself for ever? "
        "Give until= or a higher most="
    )


def drain(app: Holdfast, *, most: int = MAX_TURNS) -> list[Ran]:
    """Run jobs until nothing is left that can happen by itself, and return what happened.

    The app needs a `ManualClock`, which jumps past every delay, wait and deadline. Records of
    failures are in the error log when this returns.
    """
    happened = run_inline(app, advance=True, most=most)
    app.flush_error_logs()
    return happened


class _Inline:
    """A worker without threads: claimer, reporter and sweeper take turns."""

    def __init__(self, app: Holdfast) -> None:
        store, clock = app.store, app.clock
        self._clock = clock
        plans = PlanCache(store)
        in_flight = InFlight()
        decisions = DecisionMessages(app.pipelines.get)
        settler = Settler(
            store, plans=plans, chance=app.chance, announcer=app.announcer, decisions=decisions
        )
        providers = app.dispatch.providers
        notices = None
        if len(providers):
            notices = Notices(store, providers=providers, settler=settler, chance=app.chance)
        self._breakers = Breakers(
            store,
            worker=HOLDER,
            stages=[*stages_of(app), *providers],
            chance=app.chance,
            signals=app.signals,
        )
        self._carried = 0
        self._courier = None if notices is None else self._make_courier(app, notices)
        self._reporter = Reporter(
            store,
            clock=clock,
            chance=app.chance,
            announcer=app.announcer,
            in_flight=in_flight,
            lease_us=LEASE_US,
            breakers=self._breakers,
            notices=notices,
            decisions=decisions,
        )
        self._lane = _InlineLane(clock=clock, report=self._reporter.report)
        handlers = {
            (stage.pipeline, stage.name): replace(stage, lane=LaneKind.THREAD)
            for stage in stages_of(app)
        }
        self._claimer = _InlineClaimer(
            store,
            holder=HOLDER,
            lanes={LaneKind.THREAD: self._lane},
            handlers=handlers,
            queues=_queues(app),
            plans=plans,
            in_flight=in_flight,
            chance=_NoChance(),
            lease_us=LEASE_US,
            poll_us=SECOND_US,
            healthy=lambda: True,
            breakers=self._breakers,
            callback_key=app.callback_tokens.key,
            secrets=app.job_secrets,
            begun=app.announcer.begun,
        )
        self._reporter.claimer = self._claimer
        self._sweeper = Sweeper(
            store,
            settler=settler,
            chance=_NoChance(),
            clock=clock,
            every_us=SECOND_US,
            deadlines_every_us=SECOND_US,
            lease_us=LEASE_US,
        )

    def turn(self) -> bool:
        """Sweep, carry deliveries, claim and run one attempt; False when nothing was done."""
        self._sweeper.sweep(self._clock.now())
        self._look_at_upstreams()
        carried = self._carry()
        if not self._lane.load():
            self._claimer.tick(self._clock.now())
        ran = self._lane.run_next()
        while self._reporter.pending():
            self._reporter.tick(self._clock.now())
        self._look_at_upstreams()
        self._lane.raise_interrupt()
        return ran or carried

    def upstreams(self) -> Mapping[str, UpstreamState]:
        """Return how the upstreams stand, by their names."""
        return {name: watch.state for name, watch in self._breakers.watches.items()}

    def asks(self) -> Mapping[str, Instant]:
        """Return when the rates of upstreams may have room again, by their names."""
        watches = self._breakers.watches.items()
        return {name: watch.room.ask_at for name, watch in watches if watch.room is not None}

    def _look_at_upstreams(self) -> None:
        """Read how they stand and write how calls have ended; a probe is waited for."""
        while True:
            self._breakers.wake.clear()
            self._breakers.tick(self._clock.now())
            if not self._is_probing() or not self._breakers.wake.wait(PROBE_S):
                return

    def _is_probing(self) -> bool:
        watches = self._breakers.watches.values()
        return any(watch.terms.probe is not None and watch.state.permits for watch in watches)

    def _make_courier(self, app: Holdfast, notices: Notices) -> Courier:
        return Courier(
            app.store,
            dispatch=app.dispatch,
            notices=notices,
            holder=HOLDER,
            clock=app.clock,
            chance=app.chance,
            poll_us=SECOND_US,
            breakers=self._breakers,
            start=self._run_errand,
        )

    def _run_errand(self, errand: Callable[[], None]) -> None:
        self._carried += 1
        errand()

    def _carry(self) -> bool:
        """Tell jobs, and carry out what deliveries are due; False when there were none."""
        if self._courier is None:
            return False
        before = self._carried
        self._courier.tick(self._clock.now())
        return self._carried > before


class _InlineClaimer(Claimer):
    """Claims in its turns only: ahead of them it would go by real time, which no test repeats."""

    def ended(self, attempt: Attempt) -> None:
        """Leave the place free until the next turn."""

    def freed(self, count: int, *, requeued: bool) -> None:
        """Leave the places free until the next turn."""


class _InlineLane:
    """Keeps attempts until it is to run one."""

    limit = 1

    def __init__(self, *, clock: Clock, report: Report) -> None:
        self._clock = clock
        self._report = report
        self._pending: deque[Attempt] = deque()
        self._interrupt: KeyboardInterrupt | None = None

    def load(self) -> int:
        return len(self._pending)

    def stuck(self) -> int:
        return 0

    def start(self, attempts: Sequence[Attempt]) -> None:
        self._pending.extend(attempts)

    def stop(self, attempt: Attempt, fate: Fate) -> None:
        attempt.fate = attempt.fate or fate

    def release_pending(self) -> None:
        while self._pending:
            attempt = self._pending.popleft()
            self.stop(attempt, Fate.SHUT_DOWN)
            self._end(attempt, None, asyncio.CancelledError())

    def close(self) -> int:
        return 0

    def run_next(self) -> bool:
        """Run the attempt at hand; False when there is none."""
        if not self._pending:
            return False
        attempt = self._pending.popleft()
        began_at = self._clock.now()
        attempt.begin(self._clock)
        value, error = None, None
        try:
            if attempt.refusal is None:
                value = attempt.bound.call(JobContext(attempt))
            if inspect.isawaitable(value):
                value = asyncio.run(_within_time(value, attempt))
        except BaseException as raised:  # noqa: BLE001 - also SystemExit ends only the attempt
            error = raised
            if isinstance(raised, KeyboardInterrupt):
                self._interrupt = raised
                self.stop(attempt, Fate.SHUT_DOWN)
        timeout_us = attempt.stage.timeout_us
        if timeout_us is not None and self._clock.now() - began_at > timeout_us:
            self.stop(attempt, Fate.TIMED_OUT)
        if attempt.fate is Fate.TIMED_OUT:
            value, error = None, error or TimeoutError("the attempt took longer than its timeout")
        self._end(attempt, value, error)
        return True

    def raise_interrupt(self) -> None:
        """Let a Ctrl-C go on, once its job has been handed back."""
        interrupt, self._interrupt = self._interrupt, None
        if interrupt is not None:
            raise interrupt

    def _end(self, attempt: Attempt, value: Any, error: BaseException | None) -> None:  # noqa: ANN401
        attempt.ended = True
        self._report(attempt, value, error)


class _NoChance(Chance):
    """Rolls nothing: stages are looked at in the order of their declaration."""

    def roll(self) -> float:
        return 0.0


async def _within_time(handled: Awaitable[Any], attempt: Attempt) -> Any:  # noqa: ANN401
    try:
        async with asyncio.timeout_at(attempt.ends_at_s):
            return await handled
    except TimeoutError:
        if attempt.ends_at_s is not None and asyncio.get_running_loop().time() > attempt.ends_at_s:
            attempt.fate = attempt.fate or Fate.TIMED_OUT
        raise


def _queues(app: Holdfast) -> list[str]:
    """Return every queue that may hold jobs of the app: a submission may name one of its own."""
    declared = {pipeline.queue for pipeline in app.pipelines.values()}
    return sorted(declared | {counts.queue for counts in app.queues()})


def _condition(
    app: Holdfast, until: JobHandle | str | Callable[[], bool] | None
) -> Callable[[], bool]:
    if until is None:
        return lambda: False
    if callable(until):
        return until
    job_id = until if isinstance(until, str) else until.id
    return lambda: app.job(job_id).state in ENDED


def _ran(applied: Applied) -> Ran:
    entry = applied.decision.entry
    return Ran(
        job_id=applied.job.id,
        pipeline=applied.job.pipeline,
        stage=entry.stage,
        attempt=entry.attempt,
        event=entry.kind,
        state=applied.decision.change.state,
        error_class=entry.error_class,
        at=entry.at,
    )
