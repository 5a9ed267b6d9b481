"""Jobs there are: find them, and read what happened to them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final
from uuid import UUID

from holdfast.core.job.job import DEFAULT_OWNER, Job, JobState
from holdfast.core.job.plan import Route
from holdfast.core.values.document import decode
from holdfast.core.values.ids import JobId, is_marked
from holdfast.engine.arguments import PAGE, checked_limit
from holdfast.engine.jobs.waits import Waits
from holdfast.errors import InvalidValue, UnknownJob
from holdfast.runtime.events.presentation import PresentationOf
from holdfast.runtime.kernel.clock import Clock
from holdfast.store.contract import JobFilter, Store
from holdfast.views.delivery import history_of
from holdfast.views.job import AttemptLine, HistoryLine, JobView, attempts, history, removed_job

MAX_COUNTED: Final = 10_000
"""How far matching jobs are counted at most: looking for more would read too much."""


class Jobs:
    """The jobs of a store. Called, it finds some: `app.jobs(wanted)`."""

    def __init__(
        self,
        store: Callable[[], Store],
        *,
        clock: Clock,
        waits: Waits,
        shown_as: PresentationOf,
    ) -> None:
        self._store = store
        self._clock = clock
        self._waits = waits
        self._shown_as = shown_as

    def get(self, job_id: str, *, owner: str | None = None) -> JobView:
        """Read a job, or raise `UnknownJob`.

        With `owner`, here and in what follows, a job of another owner is as unknown as one that
        is not there.
        """
        return self.view(self.read(job_id, owner))

    def read_many(self, job_ids: Iterable[str], *, owner: str | None = None) -> dict[str, JobView]:
        """Read several jobs at once, and return those that are there by their ids."""
        found = self._store().get([checked_job_id(each) for each in job_ids], owner=owner)
        return {view.id: view for view in self.views(list(found.values()))}

    def __call__(
        self, wanted: JobFilter | None = None, *, before: str | None = None, limit: int = PAGE
    ) -> list[JobView]:
        """Return matching jobs, newest first; the last one's id is `before` of the next page."""
        page = self._store().find(
            wanted or JobFilter(),
            before=None if before is None else checked_job_id(before),
            limit=checked_limit("jobs", limit),
        )
        return self.views(page)

    def held(
        self, wanted: JobFilter | None = None, *, before: str | None = None, limit: int = PAGE
    ) -> list[JobView]:
        """Return matching jobs that their upstream holds, newest first, labelled so.

        Pages go on as those of `jobs`.
        """
        matching = wanted or JobFilter()
        most = checked_limit("jobs", limit)
        if matching.states and JobState.QUEUED not in matching.states:
            return []
        start = None if before is None else checked_job_id(before)
        walks = [
            self._queued_of(matching, route, start)
            for route in self._waits.held_routes()
            if all(
                wish in (None, name) for wish, name in zip(_route_of(matching), route, strict=True)
            )
        ]
        newest = heapq.merge(*walks, key=lambda view: view.id, reverse=True)
        return list(islice(newest, most))

    def _queued_of(
        self, wanted: JobFilter, route: Route, before: JobId | None
    ) -> Iterator[JobView]:
        """Yield the held jobs of a route, newest first, a page at a time."""
        narrow = wanted._replace(
            states=(JobState.QUEUED,),
            queue=route.queue,
            pipeline=route.pipeline,
            stage=route.stage,
        )
        while True:
            page = self._store().find(narrow, before=before, limit=PAGE)
            yield from (
                view for view in self._waits.labelled(self.views(page)) if view.label == "held"
            )
            if len(page) < PAGE:
                return
            before = page[-1].id

    def was_made_for(self, job_id: str, *, owner: str) -> bool:
        """Return whether an id was given to a job of this owner, also when the job is gone.

        It is read from the id, which bears a mark of its owner, and asks nothing of the store.
        """
        try:
            return is_marked(checked_job_id(job_id), owner)
        except UnknownJob:
            return False

    def of_key(self, pipeline: str, key: str, *, owner: str = DEFAULT_OWNER) -> list[JobView]:
        """Return every job of a key, the lowest version first, also those that were removed.

        Of one that was removed there is what its key keeps: id, state, version and times, with
        `removed_at`, and in `memo` what its pipeline remembers.
        """
        twins = self._store().twins(owner=owner, pipeline=pipeline, key=key)
        stored = self._store().get([twin.job_id for twin in twins if twin.removed_at is None])
        now = self._clock.now()
        return [
            JobView(stored[twin.job_id], now)
            if twin.job_id in stored
            else removed_job(twin, pipeline=pipeline, owner=owner, key=key, read_at=now)
            for twin in twins
        ]

    def count(self, wanted: JobFilter | None = None, *, at_most: int = MAX_COUNTED) -> int:
        """Return how many jobs match; no more than `at_most` are counted."""
        if not 1 <= at_most <= MAX_COUNTED:
            raise InvalidValue(
                "count", field="at_most", value=at_most, limit=f"from 1 to {MAX_COUNTED}"
            )
        return self._store().count(wanted or JobFilter(), at_most=at_most)

    def history(self, job_id: str, *, owner: str | None = None) -> list[HistoryLine]:
        """Return all that happened to a job, oldest first.

        Also when its upstream held it and when it went on, and what happened after its end: that a
        delivery had to be sent again.
        """
        job = self.read(job_id, owner)
        told = history(job, self._store().ledger(job.id), self._shown_as(job.pipeline))
        lines = self._waits.with_holds(job, told)
        if job.state is not JobState.COMPLETE:
            return lines
        sent = self._store().deliveries.of_job(job.id)
        log = self._store().deliveries.attempts([delivery.id for delivery in sent])
        return sorted([*lines, *history_of(sent, log)], key=lambda line: line.at)

    def attempts(self, job_id: str, *, owner: str | None = None) -> list[AttemptLine]:
        """Return every attempt at a job's stages, oldest first, also the one under way."""
        job = self.read(job_id, owner)
        return attempts(job, self._store().ledger(job.id), self._shown_as(job.pipeline))

    def results(self, job_id: str, *, owner: str | None = None) -> dict[str, Any]:
        """Return what the finished stages of a job's current run returned, the last one's too."""
        view = self.get(job_id, owner=owner)
        return self.results_of([view])[view.id]

    def results_of(self, views: Sequence[JobView]) -> dict[str, dict[str, Any]]:
        """Return the same, by id, of jobs that were read already, in one look for all of them."""
        found: dict[str, dict[str, Any]] = {view.id: {} for view in views}
        for checkpoint in (
            self._store().checkpoints([view.job.id for view in views]) if views else ()
        ):
            found[checkpoint.job_id][checkpoint.stage] = decode(checkpoint.result)
        for view in views:
            if view.state is JobState.COMPLETE:
                found[view.id][view.job.stage] = view.result
        return found

    def view(self, job: Job) -> JobView:
        """Return a job as people read it."""
        return self.views([job])[0]

    def views(self, jobs: Sequence[Job]) -> list[JobView]:
        """Return jobs as people read them, with when each was sent back."""
        again = [job.id for job in jobs if job.retries]
        sent_back = self._store().sent_back_at(again) if again else {}
        now = self._clock.now()
        return [JobView(job, now, sent_back.get(job.id)) for job in jobs]

    def read(self, job_id: str, owner: str | None = None) -> Job:
        """Read the row of a job, or raise `UnknownJob`."""
        checked = checked_job_id(job_id)
        job = self._store().get([checked], owner=owner).get(checked)
        if job is None:
            raise UnknownJob(job_id)
        return job


def _route_of(wanted: JobFilter) -> tuple[str | None, str | None, str | None]:
    return wanted.queue, wanted.pipeline, wanted.stage


def checked_job_id(job_id: str) -> JobId:
    """Return the id in its canonical form; what is no id names no job."""
    try:
        return JobId(str(UUID(job_id)))
    except (ValueError, AttributeError, TypeError):
        raise UnknownJob(str(job_id)) from None
