"""Turns ended attempts into applied decisions, many per commit."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from holdfast.core.decision import Decision, Ignored
from holdfast.core.event import Done, Event, Failed
from holdfast.core.failure import BUG, RESULT_INVALID
from holdfast.core.instant import FAR_FUTURE, Instant, later
from holdfast.core.job import Job, JobState
from holdfast.core.lease import holds
from holdfast.core.lifecycle import decide, evolve
from holdfast.errors import UnavailableError
from holdfast.runtime import failpoint
from holdfast.runtime.announce import Announcer, Applied
from holdfast.runtime.attempt import Attempt
from holdfast.runtime.claimer import Leased
from holdfast.runtime.clock import Chance, Clock, sleep_s
from holdfast.runtime.in_flight import InFlight
from holdfast.runtime.outcome import event_of
from holdfast.runtime.plans import PlanCache
from holdfast.store.contract import Store

LOGGER: Final = logging.getLogger("holdfast.worker")
BATCH: Final = 500
AGAIN_US: Final = 20_000
LINGER_S: Final = 0.002
LINGER_FROM: Final = 16
"""While attempts end this many at a time, it pays to wait a moment for more of them."""


class Outcome(NamedTuple):
    """An attempt that ended, as the event it amounts to, and when."""

    attempt: Attempt
    event: Event
    at: Instant


class Crew(Protocol):
    """Who goes on with a job after its stage, and is told of places that became free."""

    def runs(self, pipeline: str, stage: str) -> bool:
        """Tell whether a stage can be run here."""
        ...

    def start(self, leased: Iterable[Leased]) -> None:
        """Run leased jobs."""
        ...

    def freed(self, count: int, *, requeued: bool) -> None:
        """Take note of attempts that ended."""
        ...


class Reporter:
    """Collects outcomes from the lanes; one thread decides, applies and announces them.

    A decision whose job has moved on is decided again when the lease is still held, kept as a
    late result when the job has ended, and dropped otherwise.
    """

    name = "reporter"

    def __init__(
        self,
        store: Store,
        *,
        plans: PlanCache,
        clock: Clock,
        chance: Chance,
        announcer: Announcer,
        in_flight: InFlight,
        lease_us: int,
        crew: Crew,
    ) -> None:
        self.wake = threading.Event()
        self.draining = False
        self.stale = 0
        self._store = store
        self._plans = plans
        self._clock = clock
        self._chance = chance
        self._announcer = announcer
        self._in_flight = in_flight
        self._lease_us = lease_us
        self._crew = crew
        self._outcomes: deque[Outcome] = deque()
        self._batch: list[Outcome] = []
        self._idle = True
        self._requeued = False

    def report(self, attempt: Attempt, value: Any, error: BaseException | None) -> None:  # noqa: ANN401
        """Take an ended attempt over from a lane; called from any thread."""
        now = self._clock.now()
        try:
            event = event_of(attempt, value, error, now=now)
        except Exception:
            LOGGER.exception("the outcome cannot be read", extra={"job_id": attempt.job.id})
            event = Failed(BUG)
        if event is None:
            self._drop(attempt, "its lease was lost")
            self._crew.freed(1, requeued=False)
            return
        self._outcomes.append(Outcome(attempt, event, now))
        if self._idle:
            self.wake.set()

    def pending(self) -> int:
        """Return how many outcomes are not applied yet."""
        return len(self._outcomes) + len(self._batch)

    def tick(self, now: Instant) -> Instant:
        """Apply the outcomes at hand; what cannot be applied now is kept for the next turn."""
        self._idle = False
        if len(self._batch) < BATCH:
            self._collect()
        if not self._batch:
            self._idle = True
            return now if self._outcomes else FAR_FUTURE
        lingered = len(self._batch) >= LINGER_FROM
        if lingered and len(self._batch) < min(BATCH, len(self._in_flight)):
            sleep_s(LINGER_S)
            self._collect()
        batch = self._batch
        self._requeued = False
        try:
            again = self._settle(batch)
        except Exception:
            # What was settled before the failure is not settled again: its next stage may run.
            self._batch = [item for item in batch if self._in_flight.holds(item.attempt)]
            raise
        self._batch = again
        self._crew.freed(len(batch) - len(again), requeued=self._requeued)
        # What is decided again may be locked by somebody: that is not waited for in a tight loop.
        return later(now, AGAIN_US) if len(again) == len(batch) else now

    def _collect(self) -> None:
        outcomes = self._outcomes
        for _ in range(min(len(outcomes), BATCH - len(self._batch))):
            self._batch.append(outcomes.popleft())

    def _settle(self, batch: Sequence[Outcome]) -> list[Outcome]:
        """Decide and apply; return the outcomes to be decided again."""
        decided: list[tuple[Outcome, Applied]] = []
        for outcome in batch:
            decision = self._decide(outcome)
            if isinstance(decision, Decision):
                decided.append((outcome, Applied(outcome.attempt.job, decision)))
            else:
                self._drop(outcome.attempt, decision.why)
        if not decided:
            return []
        failpoint.reach("apply.before")
        try:
            applied = self._store.apply([item.decision for _, item in decided])
        except UnavailableError:
            raise
        except Exception as error:  # noqa: BLE001 - one row that cannot be stored spares the others
            return self._apply_one_by_one(decided, error)
        failpoint.reach("apply.after")
        if len(applied) == len(decided):
            self._finish(decided)
            return []
        self._finish([pair for pair in decided if pair[1].job.id in applied])
        return self._reread([pair for pair in decided if pair[1].job.id not in applied])

    def _decide(self, outcome: Outcome) -> Decision | Ignored:
        attempt, event, at = outcome
        job = attempt.job
        plan = self._plans.of(job)
        if plan is None:
            return Ignored(job.id, job.state, type(event).__name__, "its plan is not stored")
        if type(event) is Done and not self.draining:
            following = plan.after(job.stage)
            if following is not None and self._crew.runs(job.pipeline, following.name):
                event = Done(event.result, later(at, self._lease_us))
        return decide(job, event, plan, at, self._chance.roll())

    def _finish(self, decided: Sequence[tuple[Outcome, Applied]]) -> None:
        """Let go of applied attempts, or go on to their next stage, then announce."""
        in_flight = self._in_flight
        going_on: list[Leased] = []
        for outcome, item in decided:
            state = item.decision.change.state
            if state is not JobState.PROCESSING:
                in_flight.remove(outcome.attempt)
                self._requeued = self._requeued or state is JobState.QUEUED
                continue
            job = evolve(item.job, item.decision)
            plan = self._plans.of(job)
            if plan is None:
                raise AssertionError("a decision was made by this very plan")
            checkpoints = {
                **outcome.attempt.checkpoints,
                item.decision.entry.stage: item.decision.checkpoint or "null",
            }
            going_on.append(Leased(job, plan, checkpoints))
        if going_on:
            self._crew.start(going_on)
        self._announcer.announce(item for _, item in decided)

    def _reread(self, stale: Sequence[tuple[Outcome, Applied]]) -> list[Outcome]:
        fresh = self._store.get([item.job.id for _, item in stale])
        again: list[Outcome] = []
        ours: list[tuple[Outcome, Applied]] = []
        for outcome, item in stale:
            attempt, job = outcome.attempt, fresh.get(item.job.id)
            if job is None:
                self._drop(attempt, "the job is gone")
            elif job == evolve(item.job, item.decision):
                ours.append((outcome, item))
            elif holds(job, attempt.lease) or _came_late(job, attempt, outcome.event):
                attempt.job = job
                again.append(outcome)
            else:
                self._drop(attempt, "another worker has the job, or it has ended")
        if ours:
            # The reply to an earlier apply was lost, the write was not.
            self._finish(ours)
        return again

    def _apply_one_by_one(
        self, decided: Sequence[tuple[Outcome, Applied]], error: Exception
    ) -> list[Outcome]:
        if len(decided) > 1:
            return [again for pair in decided for again in self._settle([pair[0]])]
        outcome, item = decided[0]
        LOGGER.error(
            "the outcome cannot be stored",
            exc_info=error,
            extra={"job_id": item.job.id, "stage": item.job.stage},
        )
        if isinstance(outcome.event, Failed) and outcome.event.failure is RESULT_INVALID:
            self._drop(outcome.attempt, "not even its failure can be stored")
            return []
        return [outcome._replace(event=Failed(RESULT_INVALID))]

    def _drop(self, attempt: Attempt, why: str) -> None:
        self._in_flight.remove(attempt)
        self.stale += 1
        LOGGER.warning(
            "outcome dropped: %s",
            why,
            extra={
                "event": "dropped",
                "job_id": attempt.job.id,
                "stage": attempt.job.stage,
                "attempt": attempt.job.attempt,
            },
        )


def _came_late(job: Job, attempt: Attempt, event: Event) -> bool:
    """Tell whether the job ended, by deadline or cancel, while this very attempt ran."""
    ended = job.state is JobState.FAILED or job.state is JobState.CANCELLED
    return ended and job.token == attempt.lease.token and isinstance(event, Done)
