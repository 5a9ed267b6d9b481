"""What people and programs do to single jobs, and to many that match."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final
from uuid import UUID

from holdfast.core.job.access import RetryBy
from holdfast.core.job.decision import Decision, Kind
from holdfast.core.job.event import CancelRequested, Event, ResultRemoved, RetryRequested
from holdfast.core.job.job import ACTIVE, DEFAULT_OWNER, Job, JobState
from holdfast.core.job.plan import Route
from holdfast.core.values.document import decode
from holdfast.core.values.ids import JobId, is_marked
from holdfast.engine.arguments import PAGE, asked, checked_limit
from holdfast.engine.jobs.access import JobAccess, Obstacle
from holdfast.engine.jobs.bulk import Chunk, settle_chunk
from holdfast.engine.jobs.waits import Waits
from holdfast.engine.store_access import StoreAccess
from holdfast.engine.submit.submitter import BULK
from holdfast.errors import InvalidValue, StaleRevision, UnknownJob, WrongState
from holdfast.runtime.events.presentation import PresentationOf
from holdfast.runtime.events.settle import Settled, Settler
from holdfast.store.contract import JobFilter
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.dead_letters import SUBJECT
from holdfast.views.delivery import history_of
from holdfast.views.job import AttemptLine, HistoryLine, JobView, attempts, history, removed_job
from holdfast.views.waiting import Waiting

MAX_COUNTED: Final = 10_000
"""How far matching jobs are counted at most: looking for more would read too much."""


class JobVerbs(StoreAccess):
    """Read, cancel and retry jobs: the part of `Holdfast` that is about jobs there are."""

    access: JobAccess
    waits: Waits
    _shown_as: PresentationOf
    _settler: Settler

    def job(self, job_id: str, *, owner: str | None = None) -> JobView:
        """Read a job, or raise `UnknownJob`.

        With `owner`, here and in what follows, a job of somebody else's is as unknown as one that
        is not there.
        """
        return self._view(self._get(job_id, owner))

    def read_jobs(self, job_ids: Iterable[str], *, owner: str | None = None) -> dict[str, JobView]:
        """Read several jobs at once, and return those that are there by their ids."""
        found = self.store.get([_checked_id(each) for each in job_ids], owner=owner)
        return {view.id: view for view in self._views(list(found.values()))}

    def jobs(
        self, wanted: JobFilter | None = None, *, before: str | None = None, limit: int = PAGE
    ) -> list[JobView]:
        """Return matching jobs, newest first; the last one's id is `before` of the next page."""
        page = self.store.find(
            wanted or JobFilter(),
            before=None if before is None else _checked_id(before),
            limit=checked_limit("jobs", limit),
        )
        return self._views(page)

    def held_jobs(
        self, wanted: JobFilter | None = None, *, before: str | None = None, limit: int = PAGE
    ) -> list[JobView]:
        """Return matching jobs that their upstream holds, newest first, labelled so.

        Pages go on as those of `jobs`.
        """
        matching = wanted or JobFilter()
        most = checked_limit("jobs", limit)
        if matching.states and JobState.QUEUED not in matching.states:
            return []
        start = None if before is None else _checked_id(before)
        walks = [
            self._queued_of(matching, route, start)
            for route in self.waits.held_routes()
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
            page = self.store.find(narrow, before=before, limit=PAGE)
            yield from (view for view in self.labelled(self._views(page)) if view.label == "held")
            if len(page) < PAGE:
                return
            before = page[-1].id

    def was_made_for(self, job_id: str, *, owner: str) -> bool:
        """Return whether an id was given to a job of this owner, also when the job is gone.

        It is read from the id, which bears a mark of its owner, and asks nothing of the store.
        """
        try:
            return is_marked(_checked_id(job_id), owner)
        except UnknownJob:
            return False

    def note_result_removed(
        self, job_id: str, *, by: str, reason: str | None = None, owner: str | None = None
    ) -> bool:
        """Enter into the history of a complete job that what it made is not kept any more.

        False when that is there already, or the job is not complete.
        """
        event = ResultRemoved(*asked("note_result_removed", by, reason))

        def once(job: Job) -> Event:
            if any(line.entry.kind is Kind.RESULT_REMOVED for line in self.store.ledger(job.id)):
                raise _NotedBefore
            return event

        try:
            return self._settle(job_id, once, owner=owner).ignored is None
        except _NotedBefore:
            return False

    def of_key(self, pipeline: str, key: str, *, owner: str = DEFAULT_OWNER) -> list[JobView]:
        """Return every job of a key, the lowest version first, also those that were removed.

        Of one that was removed there is what its key keeps: id, state, version and times, with
        `removed_at`, and in `memo` what its pipeline remembers.
        """
        twins = self.store.twins(owner=owner, pipeline=pipeline, key=key)
        stored = self.store.get([twin.job_id for twin in twins if twin.removed_at is None])
        now = self.clock.now()
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
        return self.store.count(wanted or JobFilter(), at_most=at_most)

    def waiting(self, view: JobView, *, history: Sequence[HistoryLine] = ()) -> list[Waiting]:
        """Return what a job waits for, what decides first; empty for one that runs or has ended.

        With its `history` the sentence of a retry says of which failure.
        """
        return self.waits.of(view, history)

    def labelled(self, views: Sequence[JobView]) -> list[JobView]:
        """Return jobs that were read already, with those labelled `held` that an upstream holds."""
        return self.waits.labelled(views)

    def history(self, job_id: str, *, owner: str | None = None) -> list[HistoryLine]:
        """Return all that happened to a job, oldest first.

        Also when its upstream held it and when it went on, and what happened after its end: that a
        delivery had to be sent again.
        """
        job = self._get(job_id, owner)
        told = history(job, self.store.ledger(job.id), self._shown_as(job.pipeline))
        lines = self.waits.with_holds(job, told)
        if job.state is not JobState.COMPLETE:
            return lines
        sent = self.store.deliveries.of_job(job.id)
        log = self.store.deliveries.attempts([delivery.id for delivery in sent])
        return sorted([*lines, *history_of(sent, log)], key=lambda line: line.at)

    def attempts(self, job_id: str, *, owner: str | None = None) -> list[AttemptLine]:
        """Return every attempt at a job's stages, oldest first, also the one under way."""
        job = self._get(job_id, owner)
        return attempts(job, self.store.ledger(job.id), self._shown_as(job.pipeline))

    def results(self, job_id: str, *, owner: str | None = None) -> dict[str, Any]:
        """Return what the finished stages of a job's current run returned, the last one's too."""
        view = self.job(job_id, owner=owner)
        return self.results_of([view])[view.id]

    def results_of(self, views: Sequence[JobView]) -> dict[str, dict[str, Any]]:
        """Return the same, by id, of jobs that were read already, in one look for all of them."""
        found: dict[str, dict[str, Any]] = {view.id: {} for view in views}
        for checkpoint in self.store.checkpoints([view.job.id for view in views]) if views else ():
            found[checkpoint.job_id][checkpoint.stage] = decode(checkpoint.result)
        for view in views:
            if view.state is JobState.COMPLETE:
                found[view.id][view.job.stage] = view.result
        return found

    def cancel(
        self, job_id: str, *, by: str, reason: str | None = None, owner: str | None = None
    ) -> JobView:
        """End a job that has not ended; a handler that runs is stopped, and its result refused."""
        event = CancelRequested(*asked("cancel", by, reason))
        settled = self._settle(job_id, lambda _: event, owner=owner)
        if settled.ignored is not None and settled.job.state is not JobState.CANCELLED:
            raise WrongState(
                job_id,
                state=settled.job.state,
                action="cancel",
                allowed=("queued", "processing", "waiting"),
            )
        return self._view(settled.job)

    def retry(
        self,
        job_id: str,
        *,
        by: str,
        reason: str | None = None,
        from_start: bool = False,
        owner: str | None = None,
        operator: bool = False,
    ) -> JobView:
        """Send a failed job back to the stage that failed, or to the start, with a new budget.

        A call that names no owner asks as an operator; with `operator` also one that does. Raises
        `RetryNotAllowed` where its pipeline has failed jobs sent back another way, `RetryRefused`
        when it says that this is no use.
        """
        event = RetryRequested(*asked("retry", by, reason), from_start)
        asker = _asker(owner, operator=operator)
        settled = self._settle(job_id, lambda _: event, owner=owner, asker=asker)
        if settled.ignored is not None:
            raise WrongState(job_id, state=settled.job.state, action="retry", allowed=("failed",))
        self.store.announce_due()
        return JobView(settled.job, self.clock.now(), settled.job.updated_at)

    def correct_payload(
        self, job_id: str, payload: object, *, by: str, reason: str | None = None
    ) -> JobView:
        """Give a failed job another payload, for its next replay or retry.

        It is checked as at submission. What stages before had returned stays as it is.
        """
        who, why = asked("correct_payload", by, reason)
        job = self._get(job_id, None)
        letter = self.store.letters.get(job.id)
        if job.state is not JobState.FAILED or letter is None:
            raise WrongState(job_id, state=job.state, action="correct", allowed=("failed",))
        check = self.access.open_pipeline(job.pipeline).payload_check
        text = check.encode(check.document(payload))
        audit = AuditEntry(self.clock.now(), who, "corrected", SUBJECT, job.id, why)
        if self.store.letters.correct(letter, text, job_revision=job.revision, audit=audit) is None:
            raise StaleRevision(job.id, expected=job.revision, found=None)
        return self._view(job._replace(payload=text))

    def retry_obstacle(
        self, view: JobView, *, owner: str | None = None, operator: bool = False
    ) -> Obstacle | None:
        """Return what `retry` would raise for a failed job; None where it would not, or else."""
        if view.state is not JobState.FAILED:
            return None
        return self.access.retry_obstacle(view.job, _asker(owner, operator=operator))

    def cancel_many(
        self,
        wanted: JobFilter,
        *,
        by: str,
        reason: str | None = None,
        before: str | None = None,
        limit: int = BULK,
    ) -> Chunk:
        """End up to `limit` matching jobs that have not ended, newest first."""
        event = CancelRequested(*asked("cancel", by, reason))
        return self._settle_chunk(wanted, event, ACTIVE, before=before, limit=limit)

    def retry_many(
        self,
        wanted: JobFilter,
        *,
        by: str,
        reason: str | None = None,
        from_start: bool = False,
        before: str | None = None,
        limit: int = BULK,
    ) -> Chunk:
        """Send up to `limit` matching jobs back that have failed, newest first.

        Those that their pipeline refuses stay as they are, counted by the reason. Raises
        `RetryNotAllowed` where the filter names a pipeline none of whose jobs may be.
        """
        event = RetryRequested(*asked("retry", by, reason), from_start)
        if wanted.pipeline is not None:
            self.access.check_retry(wanted.pipeline, RetryBy.OPERATOR)
        failed = frozenset({JobState.FAILED})
        chunk = self._settle_chunk(wanted, event, failed, before=before, limit=limit)
        self.store.announce_due()
        return chunk

    def _view(self, job: Job) -> JobView:
        return self._views([job])[0]

    def _views(self, jobs: Sequence[Job]) -> list[JobView]:
        again = [job.id for job in jobs if job.retries]
        sent_back = self.store.sent_back_at(again) if again else {}
        now = self.clock.now()
        return [JobView(job, now, sent_back.get(job.id)) for job in jobs]

    def _get(self, job_id: str, owner: str | None) -> Job:
        checked = _checked_id(job_id)
        job = self.store.get([checked], owner=owner).get(checked)
        if job is None:
            raise UnknownJob(job_id)
        return job

    def _settle(
        self,
        job_id: str,
        make: Callable[[Job], Event],
        *,
        write: Callable[[Decision], bool] | None = None,
        owner: str | None = None,
        asker: RetryBy = RetryBy.OPERATOR,
        known: Job | None = None,
    ) -> Settled:
        # Opens the store, whose schema may have to be brought up to date first.
        _ = self.store

        def allowed(job: Job) -> Event:
            event = make(job)
            if _is_retry(job, event):
                obstacle = self.access.retry_obstacle(job, asker)
                if obstacle is not None:
                    raise obstacle
            return event

        return self._settler.settle(
            _checked_id(job_id),
            allowed,
            now=self.clock.now(),
            write=write,
            owner=owner,
            known=known,
        )

    def _settle_replay(self, job_id: str, make: Callable[[Job], Event]) -> Settled:
        """Settle what the workflow of dead letters allows, which has its evidence by then."""
        return self._settle(job_id, make, asker=RetryBy.WORKFLOW)

    def _settle_chunk(
        self,
        wanted: JobFilter,
        event: Event,
        states: frozenset[JobState],
        *,
        before: str | None,
        limit: int,
    ) -> Chunk:
        obstacle_of = self.access.retry_obstacles(RetryBy.OPERATOR)
        return settle_chunk(
            self.store,
            self._settler,
            wanted,
            event,
            states=states,
            obstacle=lambda job: obstacle_of(job) if _is_retry(job, event) else None,
            before=None if before is None else _checked_id(before),
            limit=limit,
            now=self.clock.now(),
        )


def _route_of(wanted: JobFilter) -> tuple[str | None, str | None, str | None]:
    return wanted.queue, wanted.pipeline, wanted.stage


def _is_retry(job: Job, event: Event) -> bool:
    return type(event) is RetryRequested and job.state is JobState.FAILED


def _asker(owner: str | None, *, operator: bool) -> RetryBy:
    return RetryBy.OPERATOR if operator or owner is None else RetryBy.OWNER


class _NotedBefore(Exception):
    """That the result was removed is in the job's history."""


def _checked_id(job_id: str) -> JobId:
    """Return the id in its canonical form; what is no id names no job."""
    try:
        return JobId(str(UUID(job_id)))
    except (ValueError, AttributeError, TypeError):
        raise UnknownJob(str(job_id)) from None
