"""Decide, apply, announce: for events that come from outside a running attempt."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

from holdfast.core.job.decision import Decision, Ignored, Kind
from holdfast.core.job.event import Event
from holdfast.core.job.job import Job
from holdfast.core.job.lifecycle import decide, evolve
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import Instant
from holdfast.errors import (
    HoldfastError,
    PipelineNeeded,
    StaleRevision,
    StoreUnavailable,
    UnavailableError,
    UnknownJob,
)
from holdfast.runtime.events.announce import Announcer, Applied
from holdfast.runtime.events.decision_messages import NONE_KNOWN, DecisionMessages
from holdfast.runtime.kernel.clock import Chance, sleep_s
from holdfast.runtime.kernel.plans import PlanCache
from holdfast.store.contract import Store

LOGGER: Final = logging.getLogger("holdfast.worker")
TRIES: Final = 8
LOCKED_WAIT_S: Final = 0.02


class Settled(NamedTuple):
    """What became of an event: the job after it, and why nothing changed when nothing did."""

    job: Job
    ignored: Ignored | None
    kind: Kind | None = None
    """What the history says has happened; None when nothing was written."""


class Settler:
    """Settles events against a store."""

    def __init__(
        self,
        store: Store,
        *,
        plans: PlanCache,
        chance: Chance,
        announcer: Announcer,
        decisions: DecisionMessages = NONE_KNOWN,
    ) -> None:
        self._store = store
        self._plans = plans
        self._chance = chance
        self._announcer = announcer
        self._decisions = decisions

    def settle_many(self, pairs: Iterable[tuple[Job, Event]], *, now: Instant) -> int:
        """Settle what can be settled in one write, and return how many jobs were changed.

        A job that moved on meanwhile is left to what moved it, and one that cannot be decided
        or stored never holds the others up. Jobs whose pipeline adds messages to decisions are left
        to processes that have its code.
        """
        decided: dict[JobId, Applied] = {}
        for job, event in pairs:
            decision = self._decide(job, event, now=now)
            if isinstance(decision, Decision):
                decided[job.id] = Applied(job, decision)
        return self._apply(decided) if decided else 0

    def _apply(self, decided: dict[JobId, Applied]) -> int:
        try:
            applied = self._store.apply([item.decision for item in decided.values()])
        except UnavailableError:
            raise
        except Exception:
            if len(decided) > 1:
                return sum(self._apply({job_id: item}) for job_id, item in decided.items())
            LOGGER.exception("the decision cannot be stored", extra={"job_id": next(iter(decided))})
            return 0
        self._announcer.announce(decided[job_id] for job_id in applied)
        return len(applied)

    def settle(
        self,
        job_id: JobId,
        make: Callable[[Job], Event],
        *,
        now: Instant,
        write: Callable[[Decision], bool] | None = None,
        owner: str | None = None,
        known: Job | None = None,
    ) -> Settled:
        """Read a job, decide and apply, again and again while others change it meanwhile.

        `write` applies a decision, with more in the same commit, and tells whether it still fits.
        With `owner` a job of another owner is as unknown as one that is not there. A job that is
        `known` is not read again, unless it has moved on since or nothing would follow.
        """
        write = write or self._write
        seen: Job | None = None
        for number in range(TRIES):
            fresh = known is None
            job, known = known or self._store.get([job_id], owner=owner).get(job_id), None
            if job is None:
                raise UnknownJob(job_id)
            if seen is not None and job.revision == seen.revision:
                # It has not moved, so another transaction holds the row.
                sleep_s(number * LOCKED_WAIT_S)
            seen = job
            plan = self._plans.of(job)
            if plan is None:
                raise AssertionError(f"the plan {job.plan} of job {job.id} is not stored")
            if self._decisions.lacks(plan):
                raise PipelineNeeded(job.pipeline, job_id=job.id)
            decision = decide(job, make(job), plan, now, self._chance.roll())
            if isinstance(decision, Ignored):
                if not fresh:
                    continue
                return Settled(job, decision)
            if plan.on_decision:
                decision = self._decisions.added(job, decision)
            if write(decision):
                self._announcer.announce([Applied(job, decision)])
                return Settled(evolve(job, decision), None, decision.entry.kind)
        raise self._never_at_rest(job_id, seen)

    def settle_together(
        self,
        pairs: Iterable[tuple[Job, Event]],
        *,
        now: Instant,
        write: Callable[[Sequence[Decision]], Collection[JobId]],
    ) -> dict[JobId, Settled]:
        """Settle events of different jobs, as those were read, in one write; return what became so.

        What is not among it has to be settled by itself: its job has moved on, or nothing follows
        from its event, or it cannot be decided here. `write` returns whose decisions were applied.
        """
        decided: dict[JobId, Applied] = {}
        for job, event in pairs:
            decision = self._decide(job, event, now=now)
            if isinstance(decision, Decision):
                decided[job.id] = Applied(job, decision)
        if not decided:
            return {}
        applied = write([item.decision for item in decided.values()])
        self._announcer.announce([decided[job_id] for job_id in applied])
        return {
            job_id: Settled(evolve(job, decision), None, decision.entry.kind)
            for job_id in applied
            for job, decision in [decided[job_id]]
        }

    def lacks(self, job: Job) -> bool:
        """Return whether deciding about a job takes the code of a pipeline that is not here."""
        plan = self._plans.of(job)
        return plan is not None and self._decisions.lacks(plan)

    def _write(self, decision: Decision) -> bool:
        return bool(self._store.apply([decision]))

    def _never_at_rest(self, job_id: JobId, seen: Job | None) -> HoldfastError:
        job = self._store.get([job_id]).get(job_id)
        if job is None or seen is None:
            return UnknownJob(job_id)
        if job.revision == seen.revision:
            return StoreUnavailable(
                self._store.url, reason=f"another transaction has locked job {job_id}"
            )
        return StaleRevision(job_id, expected=seen.revision, found=job.revision)

    def _decide(self, job: Job, event: Event, *, now: Instant) -> Decision | Ignored | None:
        try:
            plan = self._plans.of(job)
            if plan is None:
                LOGGER.error(
                    "the job's plan is not stored; left alone",
                    extra={"job_id": job.id, "pipeline": job.pipeline, "plan": job.plan},
                )
                return None
            if self._decisions.lacks(plan):
                return None
            decision = decide(job, event, plan, now, self._chance.roll())
            if plan.on_decision and isinstance(decision, Decision):
                return self._decisions.added(job, decision)
            return decision
        except UnavailableError:
            raise
        except Exception:
            LOGGER.exception("the job cannot be decided; left alone", extra={"job_id": job.id})
            return None
