"""A worker taken apart: its services tick when a test says so, by a clock that stands still."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from holdfast import Holdfast, Pipeline, Retry
from holdfast.core.job.job import WorkerId
from holdfast.core.values.instant import SECOND_US
from holdfast.errors import StoreUnavailable
from holdfast.runtime.attempts.attempt import Attempt, Fate, JobContext, Report
from holdfast.runtime.attempts.in_flight import InFlight
from holdfast.runtime.breakers.breakers import Breakers
from holdfast.runtime.events.settle import Settler
from holdfast.runtime.kernel.clock import Chance
from holdfast.runtime.kernel.plans import PlanCache
from holdfast.runtime.kernel.stage import LaneKind
from holdfast.runtime.maintenance.sweeper import Sweeper
from holdfast.runtime.worker.claimer import Claimer
from holdfast.runtime.worker.keeper import Keeper
from holdfast.runtime.worker.reporter import Reporter
from holdfast.store.contract import WorkerRow
from holdfast.testing import ManualClock, Script

LEASE_US = 30 * SECOND_US
STEADY = Retry(attempts=3, base=10, factor=1, jitter="none")


class FaultyStore:
    """A real store whose calls can be lost on the way there or on the way back."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._refused: dict[str, tuple[Callable[..., bool], Exception]] = {}
        self._skipped: dict[str, object] = {}
        self._lost_replies: set[str] = set()
        self._first: dict[str, Callable[[], object]] = {}
        self._then: dict[str, Callable[[], object]] = {}
        self.calls: list[str] = []

    def refuse(self, method: str, error: Exception | None = None) -> None:
        """Fail the method, until it is restored, before it does anything."""
        refusal = error or StoreUnavailable("test://", reason="refused")
        self.refuse_if(method, lambda *_, **__: True, refusal)

    def refuse_if(self, method: str, applies: Callable[..., bool], error: Exception) -> None:
        """Fail the method whenever what it is given meets a condition."""
        self._refused[method] = (applies, error)

    def lose_reply(self, method: str) -> None:
        """Let the next call of the method take effect and fail all the same."""
        self._lost_replies.add(method)

    def do_first(self, method: str, action: Callable[[], object]) -> None:
        """Let something else happen right before the next call of the method."""
        self._first[method] = action

    def do_after(self, method: str, action: Callable[[], object]) -> None:
        """Let something else happen right after the next call of the method."""
        self._then[method] = action

    def skip(self, method: str, answer: object) -> None:
        """Let the method, until it is restored, do nothing and answer this."""
        self._skipped[method] = answer

    def restore(self) -> None:
        self._refused.clear()
        self._skipped.clear()

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._store, name)
        if not callable(real):
            return real

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(name)
            applies, error = self._refused.get(name, (lambda *_, **__: False, ValueError()))
            if applies(*args, **kwargs):
                raise error
            if name in self._skipped:
                return self._skipped[name]
            self._first.pop(name, lambda: None)()
            answer = real(*args, **kwargs)
            self._then.pop(name, lambda: None)()
            if name in self._lost_replies:
                self._lost_replies.discard(name)
                raise StoreUnavailable("test://", reason="the reply was lost")
            return answer

        return call


class HandLane:
    """Holds attempts until the test runs or stops them."""

    def __init__(self, *, limit: int, clock: ManualClock, report: Report) -> None:
        self.limit = limit
        self.waiting: deque[Attempt] = deque()
        self.stopped: list[tuple[Attempt, Fate]] = []
        self._clock = clock
        self._report = report

    def load(self) -> int:
        return len(self.waiting)

    def stuck(self) -> int:
        return 0

    def start(self, attempts: Sequence[Attempt]) -> None:
        self.waiting.extend(attempts)

    def stop(self, attempt: Attempt, fate: Fate) -> None:
        attempt.fate = attempt.fate or fate
        self.stopped.append((attempt, fate))

    def release_pending(self) -> None:
        raise AssertionError("a crew is never drained: its attempts run when a test says so")

    def close(self) -> int:
        return 0

    def run(self, count: int | None = None) -> None:
        """Run handlers of waiting attempts, all of them unless told how many."""
        for _ in range(len(self.waiting) if count is None else count):
            attempt = self.waiting.popleft()
            attempt.begin(self._clock)
            value, error = None, None
            try:
                if attempt.refusal is None:
                    value = attempt.bound.call(JobContext(attempt))
            except BaseException as raised:  # noqa: BLE001 - as lanes do
                error = raised
            attempt.ended = True
            self._report(attempt, value, error)


class Crew:
    """Claimer, reporter, keeper and sweeper of one worker that has no threads."""

    def __init__(
        self,
        app: Holdfast,
        *,
        name: str = "w1",
        limit: int = 5,
        seed: int = 1,
        stages: Sequence[str] | None = None,
        queues: Sequence[str] = ("default",),
    ) -> None:
        clock = app.clock
        assert isinstance(clock, ManualClock)
        self.app, self.clock, self.id = app, clock, WorkerId(name)
        self.store = FaultyStore(app.store)
        self.in_flight = InFlight()
        self.chance = Chance(seed)
        self.is_healthy = True
        known = [
            replace(stage, lane=LaneKind.THREAD)
            for pipeline in app.pipelines.values()
            for stage in pipeline.bound().stages
            if stages is None or stage.name in stages
        ]
        self.breakers = Breakers(
            self.store,
            worker=self.id,
            stages=known,
            chance=self.chance,
            signals=app.signals,
        )
        self.reporter = Reporter(
            self.store,
            clock=clock,
            chance=self.chance,
            announcer=app.announcer,
            in_flight=self.in_flight,
            lease_us=LEASE_US,
            breakers=self.breakers,
        )
        self.lane = HandLane(limit=limit, clock=clock, report=self.reporter.report)
        self.claimer = Claimer(
            self.store,
            holder=self.id,
            lanes={LaneKind.THREAD: self.lane},
            handlers={(stage.pipeline, stage.name): stage for stage in known},
            queues=queues,
            plans=PlanCache(self.store),
            in_flight=self.in_flight,
            chance=self.chance,
            lease_us=LEASE_US,
            poll_us=SECOND_US,
            healthy=lambda: self.is_healthy,
            breakers=self.breakers,
            callback_key=app.callback_tokens.key,
        )
        self.reporter.claimer = self.claimer
        self.told_to_end: list[str] = []
        self.keeper = Keeper(
            self.store,
            holder=self.id,
            in_flight=self.in_flight,
            clock=clock,
            lease_us=LEASE_US,
            stop_attempt=self.lane.stop,
            describe=self._describe,
            told_to_end=lambda: self.told_to_end.append(self.id),
        )
        settler = Settler(
            self.store, plans=PlanCache(self.store), chance=self.chance, announcer=app.announcer
        )
        self.sweeper = Sweeper(
            self.store,
            settler=settler,
            chance=self.chance,
            clock=clock,
            every_us=SECOND_US,
            deadlines_every_us=SECOND_US,
            lease_us=LEASE_US,
            knows=lambda route: self.claimer.runs(route.pipeline, route.stage, now=clock.now()),
        )

    def claim(self) -> int:
        """Tick the claimer once; return for how long it wants to sleep, in microseconds."""
        now = self.clock.now()
        return self.claimer.tick(now) - now

    def report(self) -> int:
        """Tick the reporter once; return for how long it wants to sleep, in microseconds."""
        now = self.clock.now()
        return self.reporter.tick(now) - now

    def sweep(self) -> None:
        self.sweeper.sweep(self.clock.now())

    def renew(self) -> int:
        now = self.clock.now()
        return self.keeper.tick(now) - now

    def work(self) -> None:
        """Claim, run and report once."""
        self.claim()
        self.lane.run()
        self.report()

    def _describe(self, now: Any) -> WorkerRow:
        return WorkerRow(
            id=self.id,
            host="here",
            pid=1,
            started_at=now,
            seen_at=now,
            queues="[]",
            concurrency=self.lane.limit,
            state="running",
        )


def pipeline_of(*scripts: Script, name: str = "p", **options: Any) -> Pipeline:
    """A pipeline with stages `one`, `two`, … that play the scripts."""
    pipeline = Pipeline(name, **{"retry": STEADY, **options})
    for stage, script in zip(("one", "two", "three"), scripts, strict=False):
        pipeline.stage(name=stage)(script.handler)
    return pipeline
