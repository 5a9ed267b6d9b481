"""A few due jobs in a table, kept at the same number while claims are timed on them."""

import itertools
import time
from collections.abc import Sequence

from bench.process import Failed
from holdfast.core.job.event import Done
from holdfast.core.job.job import PRIORITIES, Job, WorkerId
from holdfast.core.job.lifecycle import decide
from holdfast.core.job.plan import Plan, Route, StagePlan
from holdfast.core.values.ids import IdSequence
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.core.values.retry import Retry
from holdfast.runtime.kernel.clock import Chance, StoreClock
from holdfast.store.contract import NewJob, Store

QUEUE = "default"
PLAN = Plan("letters", (StagePlan("send", Retry()),))
OTHER_PLAN = Plan("invoices", (StagePlan("draft", Retry()), StagePlan("send", Retry())))
ROUTES = [
    Route(QUEUE, plan.pipeline, stage.name) for plan in (PLAN, OTHER_PLAN) for stage in plan.stages
]
"""A worker's usual handful; the live jobs are of the first."""
BACKLOG = 1_000
"""Due jobs besides those about to be claimed, so that every claim finds what it asks for."""
LEASE_US = 30 * SECOND_US
WORKER = WorkerId("machine-1234-0badcafe")


class LiveTable:
    """The jobs of one store that are worked on while the rest of the table lies still."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._claimer = store.reserve("claimer")  # as a worker has it
        self._clock = StoreClock(store.read_clock)
        self._ids = IdSequence()
        self._chance = Chance()
        self._turn = itertools.count()
        store.save_plan(PLAN, now=self._clock.now())
        self.submit(BACKLOG)

    def claim_ns(self, limit: int) -> int:
        """How long one claim took; its jobs are finished and replaced by as many new ones."""
        self.submit(limit)
        now = self._clock.now()
        started_ns = time.perf_counter_ns()
        jobs = self._claimer.claim(ROUTES, limit=limit, holder=WORKER, lease_us=LEASE_US, now=now)
        took_ns = time.perf_counter_ns() - started_ns
        if len(jobs) != limit:
            raise Failed(f"a claim of {limit} jobs returned {len(jobs)}")
        self._finish(jobs)
        return took_ns

    def close(self) -> None:
        """Give back what claims were made through."""
        self._claimer.close()

    def submit(self, count: int) -> None:
        now = self._clock.now()
        self._store.insert([self._new_job(now) for _ in range(count)])

    def _finish(self, jobs: Sequence[Job]) -> None:
        now = self._clock.now()
        done = Done('{"sent":true}')
        decisions = [decide(job, done, PLAN, now, self._chance.roll()) for job in jobs]
        if len(self._store.apply(decisions)) != len(jobs):
            raise Failed("some completions were refused")

    def _new_job(self, now: Instant) -> NewJob:
        n = next(self._turn)
        return NewJob(
            id=self._ids.next(now=now, chance=self._chance.bits(62)),
            pipeline=PLAN.pipeline,
            plan=PLAN.digest,
            queue=QUEUE,
            # As in the history: most are of the usual priority, some of each other.
            priority=PRIORITIES[n % 4] if n % 8 < 4 else 1,
            owner="",
            key=None,
            version=1,
            rerun_of=None,
            payload=f'{{"n":{n},"to":"somebody@example.org"}}',
            fingerprint=None,
            trace=None,
            created_at=now,
            stage=PLAN.first.name,
            run_at=now,
            deadline_at=None,
        )
