"""Plans by digest: those of this process's code, and those of jobs made by other code."""

from __future__ import annotations

import threading

from holdfast.core.instant import Instant
from holdfast.core.job import Job, PlanDigest
from holdfast.core.plan import Plan
from holdfast.store.contract import Store


class PlanCache:
    """Finds a job's plan in memory, else in the store. A plan never changes once stored."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._plans: dict[tuple[str, PlanDigest], Plan] = {}
        self._saved: set[tuple[str, PlanDigest]] = set()
        self._lock = threading.Lock()

    def save(self, plan: Plan, *, now: Instant, connection: object = None) -> None:
        """Store a plan, once per process; with `connection` in the caller's own transaction."""
        key = (plan.pipeline, plan.digest)
        if key in self._saved:
            return
        if connection is not None:
            # Not noted as saved: the caller may still roll back.
            self._store.save_plan(plan, now=now, connection=connection)
            return
        with self._lock:
            self._store.save_plan(plan, now=now)
            self._plans[key] = plan
            self._saved.add(key)

    def of(self, job: Job) -> Plan | None:
        """Return the plan the job was made by, or None when nobody stored it."""
        key = (job.pipeline, job.plan)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._store.load_plan(job.pipeline, job.plan)
            if plan is not None:
                self._plans[key] = plan
        return plan
