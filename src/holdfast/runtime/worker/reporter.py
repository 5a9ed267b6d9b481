"""Turns ended attempts into applied decisions, many per commit."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias

from holdfast.classify import classify
from holdfast.core.job.decision import Decision, Ignored
from holdfast.core.job.event import Done, Event, Failed, Suspended
from holdfast.core.job.job import Job, JobState
from holdfast.core.job.lease import holds
from holdfast.core.job.lifecycle import decide, evolve
from holdfast.core.job.repeats import depends_on_repeats, failed_alike
from holdfast.core.values.failure import BUG, RESULT_INVALID
from holdfast.core.values.instant import FAR_FUTURE, Instant, later
from holdfast.errors import UnavailableError
from holdfast.runtime.attempts.attempt import Attempt
from holdfast.runtime.attempts.in_flight import InFlight
from holdfast.runtime.attempts.outcome import event_of, event_of_value
from holdfast.runtime.breakers.breakers import Breakers
from holdfast.runtime.deliveries.stage_deliveries import NO_PROVIDERS, Notices
from holdfast.runtime.events.announce import Announcer, Applied
from holdfast.runtime.events.decision_messages import NONE_KNOWN, DecisionMessages
from holdfast.runtime.kernel import failpoint
from holdfast.runtime.kernel.clock import Chance, Clock, sleep_s
from holdfast.runtime.worker.claimer import Claimer, Leased
from holdfast.store.contract import Store

LOGGER: Final = logging.getLogger("holdfast.worker")
BATCH: Final = 500
AGAIN_US: Final = 20_000
LINGER_S: Final = 0.002
LINGER_FROM: Final = 16
"""While attempts end this many at a time, or as many others are under way, it pays to wait a moment
for more of them: a commit for each costs several times what it costs for all together."""
MOMENTS: Final = 3
"""For how many moments at most it is waited until so many have come."""


class Outcome:
    """An attempt that ended, as the event it amounts to, and when."""

    __slots__ = ("at", "attempt", "event", "tried")

    def __init__(self, attempt: Attempt, event: Event, at: Instant) -> None:
        self.attempt = attempt
        self.event = event
        self.at = at
        self.tried: Decision | None = None
        """What was decided, while its write is in doubt: it is tried again as it is."""


_Decided: TypeAlias = tuple[Outcome, Applied]


class Reporter:
    """Collects outcomes from the lanes; one thread decides, applies and announces them.

    A decision whose job has moved on is decided again when the lease is still held, kept as a
    late result when the job has ended, and dropped otherwise.
    """

    name = "reporter"
    claimer: Claimer
    """Runs the next stages, and hears of places that became free. It is made after the reporter,
    of lanes that report to it, and set before anything runs."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        chance: Chance,
        announcer: Announcer,
        in_flight: InFlight,
        lease_us: int,
        breakers: Breakers,
        notices: Notices | None = None,
        decisions: DecisionMessages = NONE_KNOWN,
    ) -> None:
        self.wake = threading.Event()
        self.draining = False
        self.stale = 0
        self.outcomes: deque[Outcome] = deque()
        """What has ended and is yet to be decided; the overflow reporter takes of the same."""
        self._overflow: Reporter | None = None
        self._store = store
        self._clock = clock
        self._chance = chance
        self._announcer = announcer
        self._in_flight = in_flight
        self._lease_us = lease_us
        self._breakers = breakers
        self._notices = notices
        self._decisions = decisions
        self._late: deque[Outcome] = deque()
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
        watch = attempt.watch
        if watch is not None:
            # Looked at before the call is noted: one that opens the breaker is not given back.
            failed = event if type(event) is Failed else None
            shut = failed is not None and watch.opened_under(attempt.ticket, failed.failure)
            if watch.leave(attempt.ticket, event, now, job_id=attempt.job.id):
                self._breakers.heed(now)
            if failed is not None and shut:
                event = replace(failed, shut_by=watch.terms.name)
        if event is None:
            self._drop(attempt, "its lease was lost")
            self.claimer.freed(1, requeued=False)
            return
        self.outcomes.append(Outcome(attempt, event, now))
        if self._idle:
            self.call()
        elif self._overflow is not None and len(self.outcomes) >= BATCH:
            self._overflow.call()
        self.claimer.ended(attempt)

    def report_late(self, attempt: Attempt, value: Any) -> None:  # noqa: ANN401
        """Take what a handler returned after its attempt was given up.

        It is kept as a late result when the job ended while the attempt ran, and as nothing else.
        """
        now = self._clock.now()
        self._late.append(Outcome(attempt, event_of_value(attempt, value, now=now), now))
        self.wake.set()

    def overflow_to(self, overflow: Reporter) -> None:
        """Have another, who is called when a whole batch waits while this one is busy."""
        overflow.outcomes = self.outcomes
        self._overflow = overflow

    def call(self) -> None:
        """Wake it where it has nothing to do."""
        if self._idle:
            self._idle = False  # one of those that end meanwhile is enough to wake it
            self.wake.set()

    def at_hand(self) -> int:
        """Return how many outcomes this one has taken and not applied yet."""
        return len(self._batch)

    def pending(self) -> int:
        """Return how many outcomes are not applied yet."""
        overflowed = 0 if self._overflow is None else self._overflow.at_hand()
        return len(self.outcomes) + len(self._batch) + overflowed

    def tick(self, now: Instant) -> Instant:
        """Apply the outcomes at hand; what cannot be applied now is kept for the next turn."""
        self._idle = False
        if len(self._batch) < BATCH:
            self._collect()
        if not self._batch:
            late = self._keep_late_results()
            self._idle = True
            if self.outcomes:
                return now
            return later(now, AGAIN_US) if late else FAR_FUTURE
        self._gather()
        count = len(self._batch)
        self._requeued = False
        try:
            self._settle(self._batch)
        finally:
            self.claimer.freed(count - len(self._batch), requeued=self._requeued)
        # What is decided again may be locked by another: that is not waited for in a tight loop.
        return later(now, AGAIN_US) if len(self._batch) == count else now

    def _gather(self) -> None:
        """Wait a moment for more, and again while only few have come."""
        for _ in range(MOMENTS):
            if not self._may_get_more():
                return
            sleep_s(LINGER_S)
            self._collect()
            if len(self._batch) >= LINGER_FROM:
                return

    def _may_get_more(self) -> bool:
        """Return whether more attempts are likely to end in a moment."""
        at_hand = len(self._batch)
        others = len(self._in_flight) - at_hand
        if at_hand >= BATCH or self.draining:
            return False
        return others >= LINGER_FROM or (others > 0 and at_hand >= LINGER_FROM)

    def _collect(self) -> None:
        outcomes = self.outcomes
        with suppress(IndexError):  # the overflow reporter takes of the same
            for _ in range(min(len(outcomes), BATCH - len(self._batch))):
                self._batch.append(outcomes.popleft())

    def _settle(self, outcomes: Sequence[Outcome]) -> None:
        """Decide and apply; what has to be decided again stays in the batch."""
        decided = self._decide_all(outcomes)
        if not decided:
            return
        failpoint.reach("apply.before")
        try:
            applied = self._store.apply([item.decision for _, item in decided])
        except UnavailableError:
            raise
        except Exception as error:  # noqa: BLE001 - one row that cannot be stored spares the others
            self._apply_one_by_one(decided, error)
            return
        failpoint.reach("apply.after")
        if len(applied) == len(decided):
            self._finish(decided)
            return
        self._finish([item for item in decided if item[1].job.id in applied])
        self._reread([item for item in decided if item[1].job.id not in applied])

    def _decide_all(self, outcomes: Sequence[Outcome]) -> list[_Decided]:
        decided: list[_Decided] = []
        dropped: list[Outcome] = []
        for outcome in outcomes:
            decision = outcome.tried or self._decide(outcome)
            if isinstance(decision, Decision):
                outcome.tried = decision
                decided.append((outcome, Applied(outcome.attempt.job, decision)))
            else:
                dropped.append(outcome)
                self._drop(outcome.attempt, decision.why)
        if dropped:
            self._leave_batch(dropped)
        return decided

    def _decide(self, outcome: Outcome) -> Decision | Ignored:
        attempt, event, at = outcome.attempt, outcome.event, outcome.at
        job, plan = attempt.job, attempt.plan
        if type(event) is Suspended and event.asked is not None:
            # Once: deliveries that are there must be seen again as they stand, not made again.
            event = outcome.event = self._ask(job, event, at)
        if type(event) is Failed and event.alike is None:
            stage = plan.stage(job.stage)
            if stage is not None and depends_on_repeats(job, event.failure, stage.retry):
                event = outcome.event = self._with_past(job, event)
        if type(event) is Done and not self.draining:
            following = plan.after(job.stage)
            if following is not None and self.claimer.runs(job.pipeline, following.name, now=at):
                lease_until = later(at, self._lease_us)
                event = Done(event.result, lease_until, event.messages, event.http_status)
        decision = decide(job, event, plan, at, self._chance.roll())
        if plan.on_decision and isinstance(decision, Decision):
            return self._decisions.added(job, decision)
        return decision

    def _ask(self, job: Job, event: Suspended, at: Instant) -> Event:
        if self._notices is None:
            return Failed(NO_PROVIDERS)
        try:
            return self._notices.ask(job, event, now=at)
        except UnavailableError:
            raise
        except Exception as error:
            LOGGER.exception("the deliveries cannot be made", extra={"job_id": job.id})
            return Failed(classify(error, (), now=at))

    def _with_past(self, job: Job, event: Failed) -> Failed:
        """Look up how often the stage failed like this before; rare, so it may cost a question."""
        try:
            past = [item.entry for item in self._store.ledger(job.id)]
        except UnavailableError:
            raise
        except Exception:
            LOGGER.exception("the history cannot be read", extra={"job_id": job.id})
            return event
        return replace(event, alike=failed_alike(event.failure, past))

    def _leave_batch(self, outcomes: Sequence[Outcome]) -> None:
        if len(outcomes) == len(self._batch):
            # All of it, mostly: only what is in the batch is ever decided.
            self._batch = []
            return
        gone = set(outcomes)
        self._batch = [outcome for outcome in self._batch if outcome not in gone]

    def _finish(self, decided: Sequence[_Decided]) -> None:
        """Let go of applied attempts, announce them, and go on to their next stages."""
        # First of all: whatever fails from here on must not apply or start anything twice.
        self._leave_batch([outcome for outcome, _ in decided])
        in_flight = self._in_flight
        going_on: list[Leased] = []
        for outcome, (job, decision) in decided:
            attempt, state = outcome.attempt, decision.change.state
            if state is not JobState.PROCESSING:
                in_flight.remove(attempt)
                self._requeued = self._requeued or state is JobState.QUEUED
                continue
            checkpoints = {
                **attempt.checkpoints,
                decision.entry.stage: decision.checkpoint or "null",
            }
            going_on.append(Leased(evolve(job, decision), attempt.plan, checkpoints))
        try:
            # Before the next stages begin, whose ends the overflow reporter may announce.
            self._announcer.announce(item for _, item in decided)
        finally:
            if going_on:
                self.claimer.start(going_on)

    def _reread(self, stale: Sequence[_Decided]) -> None:
        fresh = self._store.get([item.job.id for _, item in stale])
        ours: list[_Decided] = []
        dropped: list[Outcome] = []
        for item in stale:
            outcome, (seen, decision) = item
            attempt, job = outcome.attempt, fresh.get(seen.id)
            if job is not None and job == evolve(seen, decision):
                ours.append(item)
            elif job is not None and (
                holds(job, attempt.lease) or _came_late(job, attempt, outcome.event)
            ):
                attempt.job = job
                outcome.tried = None
            else:
                dropped.append(outcome)
                self._drop(attempt, "another worker has the job, or it has ended")
        self._leave_batch(dropped)
        if ours:
            # The reply to an earlier apply was lost, the write was not.
            self._finish(ours)

    def _keep_late_results(self) -> bool:
        """Keep what came late; True when another has locked a job and it has to be tried again."""
        while self._late:
            outcome = self._late[0]
            attempt, event = outcome.attempt, outcome.event
            job = self._store.get([attempt.job.id]).get(attempt.job.id)
            tried = outcome.tried
            if job is not None and tried is not None and job == evolve(attempt.job, tried):
                # The reply to an earlier apply was lost, the write was not.
                self._announcer.announce([Applied(attempt.job, tried)])
            elif job is not None and _came_late(job, attempt, event):
                decision = decide(job, event, attempt.plan, outcome.at, self._chance.roll())
                if isinstance(decision, Decision):
                    if attempt.plan.on_decision:
                        decision = self._decisions.added(job, decision)
                    attempt.job, outcome.tried = job, decision
                    failpoint.reach("apply.before")
                    applied = self._store.apply([decision])
                    failpoint.reach("apply.after")
                    if not applied:
                        return True
                    self._announcer.announce([Applied(job, decision)])
            self._late.popleft()
        return False

    def _apply_one_by_one(self, decided: Sequence[_Decided], error: Exception) -> None:
        if len(decided) > 1:
            for outcome, _ in decided:
                self._settle([outcome])
            return
        outcome, (job, _) = decided[0]
        LOGGER.error(
            "the outcome cannot be stored",
            exc_info=error,
            extra={"job_id": job.id, "stage": job.stage},
        )
        if isinstance(outcome.event, Failed) and outcome.event.failure is RESULT_INVALID:
            self._leave_batch([outcome])
            self._drop(outcome.attempt, "not even its failure can be stored")
            return
        outcome.event = Failed(RESULT_INVALID)
        outcome.tried = None

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
    """Return whether the job ended, by deadline or cancel, while this very attempt ran."""
    ended = job.state is JobState.FAILED or job.state is JobState.CANCELLED
    return ended and job.token == attempt.lease.token and isinstance(event, Done)
