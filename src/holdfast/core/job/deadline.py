"""The instant after which a job has failed by timeout, and the time an attempt has left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.values.instant import Instant, later

if TYPE_CHECKING:
    from holdfast.core.job.job import Job


def passed(job: Job, now: Instant) -> bool:
    """Return whether the job's time is up at `now`; an answer at the very deadline is in time."""
    return job.deadline_at is not None and now > job.deadline_at


def renewed(job: Job, now: Instant) -> Instant | None:
    """Return the deadline of a job sent back at `now`: no less time than it was first given."""
    if job.deadline_at is None:
        return None
    return later(now, max(job.deadline_at - job.created_at, 0))


def attempt_ends_at(job: Job, *, timeout_us: int | None, now: Instant) -> Instant | None:
    """Return when an attempt begun at `now` must end: its timeout or the job's deadline."""
    if timeout_us is None:
        return job.deadline_at
    ends_at = later(now, timeout_us)
    return ends_at if job.deadline_at is None else min(ends_at, job.deadline_at)
