"""Jobs, plans and short ways to move them, for tests of a store."""

import itertools
import os
from collections.abc import Sequence
from typing import Any

from holdfast.core.dead_letter.lifecycle import letter_after
from holdfast.core.job.decision import Decision
from holdfast.core.job.event import Event
from holdfast.core.job.job import MAX_URGENT, Job, JobState, WorkerId
from holdfast.core.job.lifecycle import decide, evolve
from holdfast.core.job.plan import Plan, Route, StagePlan
from holdfast.core.values.failure import Category, Failure
from holdfast.core.values.ids import IdSequence, JobId
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.core.values.retry import Retry
from holdfast.store.contract import ExistingJob, NewJob, Store
from holdfast.store.dead_letter_writes import concerns_letter
from holdfast.store.tables.audit import AuditEntry

NOW = Instant(1_700_000_000 * SECOND_US)
LEASE_US = 60 * SECOND_US
WORKER = WorkerId("worker-1")
RETRY = Retry(attempts=3, base=10.0, factor=1.0, cap=10.0, jitter="none")
RETRY_DELAY_US = 10 * SECOND_US
PLAN = Plan("letters", (StagePlan("draft", RETRY), StagePlan("send", RETRY)))
DRAFT = Route("default", "letters", "draft")
SEND = Route("default", "letters", "send")
ROUTES = (DRAFT, SEND)
PASSING_FAILURE = Failure(
    error_class="NETWORK", category=Category.TRANSIENT, retryable=True, message="try again"
)
LASTING_FAILURE = Failure(
    error_class="INVALID", category=Category.PERMANENT, retryable=False, message="never"
)

_ids = IdSequence()
_chances = itertools.count(os.getpid() << 32)  # processes that share a database never collide


def after(seconds: float) -> Instant:
    """Return the instant that many seconds after `NOW`."""
    return Instant(NOW + int(seconds * SECOND_US))


def next_id() -> JobId:
    """An id of `NOW`, above all that were made before it."""
    return _ids.next(now=NOW, chance=next(_chances))


def new_job(**changes: Any) -> NewJob:
    """A job of `PLAN` that is due at `NOW`."""
    job = NewJob(
        id=next_id(),
        pipeline=PLAN.pipeline,
        plan=PLAN.digest,
        queue="default",
        priority=1,
        owner="",
        key=None,
        version=1,
        rerun_of=None,
        payload='{"to":"you"}',
        fingerprint=None,
        trace=None,
        created_at=NOW,
        stage=PLAN.first.name,
        run_at=NOW,
        deadline_at=None,
    )
    return job._replace(**changes)


def submitted(store: Store, count: int = 1, **changes: Any) -> list[JobId]:
    """Return the ids of that many new jobs, stored in this order."""
    jobs = [new_job(**changes) for _ in range(count)]
    assert store.insert(jobs) == [None] * count
    return [job.id for job in jobs]


def claim(
    store: Store,
    *,
    limit: int = 10,
    now: Instant = NOW,
    holder: WorkerId = WORKER,
    routes: Sequence[Route] = ROUTES,
    lease_us: int = LEASE_US,
    first: int = MAX_URGENT,
) -> list[Job]:
    """A claim of what is usual in these tests."""
    return store.claim(routes, limit=limit, holder=holder, lease_us=lease_us, now=now, first=first)


def started(store: Store, *, now: Instant = NOW, **changes: Any) -> Job:
    """A job that was submitted and is leased to `WORKER`."""
    submitted(store, **changes)
    (job,) = claim(store, limit=1, now=now)
    return job


def decided(job: Job, event: Event, *, now: Instant = NOW, roll: float = 0.5) -> Decision:
    """What follows from an event that the job answers to."""
    decision = decide(job, event, PLAN, now, roll)
    assert isinstance(decision, Decision)
    return decision


def a_twin(
    job_id: str,
    version: int,
    fingerprint: str | None,
    state: JobState,
    *,
    finished_at: Instant | None = None,
) -> ExistingJob:
    """What is reported of a job of these samples that has the key of another."""
    return ExistingJob(JobId(job_id), version, fingerprint, state, NOW, finished_at)


def after_event(store: Store, job: Job, event: Event, *, now: Instant = NOW) -> Job:
    """Return the job once the store has applied what follows from the event."""
    return after_decision(store, job, decided(job, event, now=now))


def after_decision(store: Store, job: Job, decision: Decision) -> Job:
    """Return the job once the store has applied a decision, and made of its letter what follows."""
    if not concerns_letter(decision):
        assert store.apply([decision]) == {job.id}
        return evolve(job, decision)
    before, past = store.letters.get(job.id), [line.entry for line in store.ledger(job.id)]
    assert store.apply([decision]) == {job.id}
    assert store.letters.get(job.id) == letter_after(before, job, decision, past)
    return evolve(job, decision)


def read(store: Store, job_id: JobId) -> Job:
    """Return the job as the store has it."""
    return store.get([job_id])[job_id]


def entries(store: Store, **which: Any) -> list[AuditEntry]:
    """Return the latest entries of the record as they were written, without their ids."""
    return [entry._replace(id=None) for entry in store.audit.latest(**which)]
