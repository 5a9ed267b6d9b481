"""Due jobs for workers that are handed theirs: which may be, and leases of just those."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.core.job.job import PRIORITIES, Job, WorkerId
from holdfast.core.job.plan import Route
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import Instant, later
from holdfast.store.rows import claimed_jobs
from holdfast.store.statements.sql import Sql


class DueJob(NamedTuple):
    """A job that may be claimed, and the revision at which it was seen so."""

    id: JobId
    route: Route
    revision: int


class DueRows:
    """Reads due jobs without taking them, and takes due jobs by their ids."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    def waiting(self, routes: Sequence[Route], *, limit: int, now: Instant) -> list[DueJob]:
        """Return up to `limit` due jobs of each route and priority, and lease none.

        The most urgent come first, then routes in the order given, then the longest due. Queues
        that are paused and jobs past their deadline are passed over, as `claim` does.
        """
        if not routes:
            return []
        lanes = [
            {**route._asdict(), "priority": priority, "route": number}
            for priority in PRIORITIES
            for number, route in enumerate(routes)
        ]
        values = {"lanes": json.dumps(lanes), "limit": limit, "now": now}
        return [
            DueJob(JobId(job_id), routes[number], revision)
            for job_id, number, revision in self._sql.rows("due_waiting", values)
        ]

    def claim(
        self,
        job_ids: Sequence[JobId],
        *,
        route: Route,
        holder: WorkerId,
        lease_us: int,
        now: Instant,
    ) -> list[Job]:
        """Lease those of the given jobs that are due on that route; the others are left alone.

        What is passed over is what `claim` passes over. No two claims return the same lease; one
        whose reply was lost and that is made again returns nothing, and `held_by` the jobs.
        """
        if not job_ids:
            return []
        lease_until = later(now, lease_us)
        values = {
            "ids": json.dumps(list(job_ids)),
            **route._asdict(),
            "holder": holder,
            "lease_until": lease_until,
            "now": now,
        }
        rows = self._sql.written("due_claim", values)
        return claimed_jobs(rows, holder=holder, lease_until=lease_until, now=now)

    def first_due_at(
        self, job_ids: Sequence[JobId], *, route: Route, now: Instant
    ) -> Instant | None:
        """Return when the first of the given jobs that wait on that route will be due."""
        values = {"ids": json.dumps(list(job_ids)), **route._asdict(), "now": now}
        ((run_at,),) = self._sql.rows("due_first", values)
        return None if run_at is None else Instant(run_at)
