"""Plans by digest: those of this process's code, and those of jobs made by other code."""

from __future__ import annotations

import threading
from typing import Final

from holdfast.core.job.job import Job, PlanDigest
from holdfast.core.job.plan import Plan
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.core.values.retention import PLAN_SAVED_AGAIN_S
from holdfast.store.contract import Store

SAVE_AGAIN_US: Final = int(PLAN_SAVED_AGAIN_S * SECOND_US)


class PlanCache:
    """Finds a job's plan in memory, else in the store. A plan never changes once stored."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._plans: dict[tuple[str, PlanDigest], Plan] = {}
        self._saved_at: dict[tuple[str, PlanDigest], Instant] = {}
        self._lock = threading.Lock()

    def save(self, plan: Plan, *, now: Instant, connection: object = None) -> None:
        """Store a plan, once a day; with `connection` in the caller's own transaction.

        That it is asked for again is noted too: a plan that nobody asks for is removed one day.
        """
        key = (plan.pipeline, plan.digest)
        saved_at = self._saved_at.get(key)
        if saved_at is not None and now - saved_at < SAVE_AGAIN_US:
            return
        if connection is not None:
            # Not noted as saved: the caller may still roll back.
            self._store.save_plan(plan, now=now, connection=connection)
            return
        with self._lock:
            self._store.save_plan(plan, now=now)
            self._plans[key] = plan
            self._saved_at[key] = now

    def of(self, job: Job) -> Plan | None:
        """Return the plan the job was made by, or None when nobody stored it."""
        key = (job.pipeline, job.plan)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._store.load_plan(job.pipeline, job.plan)
            if plan is not None:
                self._plans[key] = plan
        return plan
