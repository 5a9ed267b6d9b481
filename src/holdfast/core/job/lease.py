"""A worker's right to run one attempt until an instant."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from holdfast.core.job.job import Job, JobState, WorkerId
from holdfast.core.values.instant import Instant, later

if TYPE_CHECKING:
    from holdfast.core.values.ids import JobId


class Lease(NamedTuple):
    """What a renewal and a fenced write name: the job, and which of its leases this is."""

    job_id: JobId
    token: int


def lease_of(job: Job) -> Lease:
    """Return the lease under which the job now runs, or last ran."""
    return Lease(job.id, job.token)


def holds(job: Job, lease: Lease) -> bool:
    """Return whether `job`, freshly read, still runs under `lease`."""
    return job.state is JobState.PROCESSING and job.token == lease.token


def claimed(job: Job, *, holder: WorkerId, lease_us: int, now: Instant) -> Job:
    """Return the job as a claim leaves it: the pure twin of the one transition made in SQL."""
    return job._replace(
        state=JobState.PROCESSING,
        attempt=job.attempt + 1,
        token=job.token + 1,
        revision=job.revision + 1,
        holder=holder,
        lease_until=later(now, lease_us),
        started_at=now if job.started_at is None else job.started_at,
        attempt_at=now,
        updated_at=now,
    )


def claimable(job: Job, *, now: Instant) -> bool:
    """Return whether a claim at `now` may take the job."""
    return (
        job.state is JobState.QUEUED
        and job.run_at <= now
        and (job.deadline_at is None or job.deadline_at > now)
    )
