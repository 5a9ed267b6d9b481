"""What people and programs do to single jobs, and to many that match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from holdfast.core.job.access import RetryBy
from holdfast.core.job.decision import Decision, Kind
from holdfast.core.job.event import CancelRequested, Event, ResultRemoved, RetryRequested
from holdfast.core.job.job import ACTIVE, Job, JobState
from holdfast.core.values.ids import JobId
from holdfast.engine.arguments import asked
from holdfast.engine.jobs.access import JobAccess, Obstacle
from holdfast.engine.jobs.jobs import Jobs, checked_job_id
from holdfast.errors import StaleRevision, WrongState
from holdfast.runtime.events.settle import Settled, Settler
from holdfast.runtime.kernel.clock import Clock
from holdfast.store.contract import JobFilter, Store
from holdfast.store.tables.audit import AuditEntry
from holdfast.store.tables.dead_letters import SUBJECT
from holdfast.views.job import JobView

CHUNK: Final = 500
_NEEDS_PIPELINE: Final = (
    "the code of its pipeline {} says what is published with every decision, and is not known to "
    "this process; do it where the pipeline runs"
)


class Chunk(NamedTuple):
    """A part of a bulk action: the jobs that matched, those it changed, and where to go on."""

    matched: int
    changed: int
    before: JobId | None
    """What to pass as `before` for the next part; None after the last."""
    refused: Mapping[str, int] = MappingProxyType({})
    """How many were left alone because their pipeline says so, by the reason."""


class JobChanges:
    """Cancels, sends back and corrects jobs."""

    def __init__(
        self,
        store: Callable[[], Store],
        *,
        clock: Clock,
        jobs: Jobs,
        access: JobAccess,
        settler: Settler,
    ) -> None:
        self._store = store
        self._clock = clock
        self._jobs = jobs
        self._access = access
        self._settler = settler

    def cancel(
        self, job_id: str, *, by: str, reason: str | None = None, owner: str | None = None
    ) -> JobView:
        """End a job that has not ended; a handler that runs is stopped, and its result refused."""
        event = CancelRequested(*asked("cancel", by, reason))
        settled = self.settle(job_id, lambda _: event, owner=owner)
        if settled.ignored is not None and settled.job.state is not JobState.CANCELLED:
            raise WrongState(
                job_id,
                state=settled.job.state,
                action="cancel",
                allowed=("queued", "processing", "waiting"),
            )
        return self._jobs.view(settled.job)

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
        settled = self.settle(job_id, lambda _: event, owner=owner, asker=asker)
        if settled.ignored is not None:
            raise WrongState(job_id, state=settled.job.state, action="retry", allowed=("failed",))
        self._store().announce_due()
        return JobView(settled.job, self._clock.now(), settled.job.updated_at)

    def correct_payload(
        self, job_id: str, payload: object, *, by: str, reason: str | None = None
    ) -> JobView:
        """Give a failed job another payload, for its next replay or retry.

        It is checked as at submission. What stages before had returned stays as it is.
        """
        who, why = asked("correct_payload", by, reason)
        job = self._jobs.read(job_id, None)
        letter = self._store().letters.get(job.id)
        if job.state is not JobState.FAILED or letter is None:
            raise WrongState(job_id, state=job.state, action="correct", allowed=("failed",))
        check = self._access.open_pipeline(job.pipeline).payload_check
        text = check.encode(check.document(payload))
        audit = AuditEntry(self._clock.now(), who, "corrected", SUBJECT, job.id, why)
        if (
            self._store().letters.correct(letter, text, job_revision=job.revision, audit=audit)
            is None
        ):
            raise StaleRevision(job.id, expected=job.revision, found=None)
        return self._jobs.view(job._replace(payload=text))

    def retry_obstacle(
        self, view: JobView, *, owner: str | None = None, operator: bool = False
    ) -> Obstacle | None:
        """Return what `retry` would raise for a failed job; None where it would not, or else."""
        if view.state is not JobState.FAILED:
            return None
        return self._access.retry_obstacle(view.job, _asker(owner, operator=operator))

    def cancel_many(
        self,
        wanted: JobFilter,
        *,
        by: str,
        reason: str | None = None,
        before: str | None = None,
        limit: int = CHUNK,
    ) -> Chunk:
        """End up to `limit` matching jobs that have not ended, newest first."""
        event = CancelRequested(*asked("cancel", by, reason))
        return self._chunk(wanted, event, ACTIVE, before=before, limit=limit)

    def retry_many(
        self,
        wanted: JobFilter,
        *,
        by: str,
        reason: str | None = None,
        from_start: bool = False,
        before: str | None = None,
        limit: int = CHUNK,
    ) -> Chunk:
        """Send up to `limit` matching jobs back that have failed, newest first.

        Those that their pipeline refuses stay as they are, counted by the reason. Raises
        `RetryNotAllowed` where the filter names a pipeline none of whose jobs may be.
        """
        event = RetryRequested(*asked("retry", by, reason), from_start)
        if wanted.pipeline is not None:
            self._access.check_retry(wanted.pipeline, RetryBy.OPERATOR)
        failed = frozenset({JobState.FAILED})
        chunk = self._chunk(wanted, event, failed, before=before, limit=limit)
        self._store().announce_due()
        return chunk

    def note_result_removed(
        self, job_id: str, *, by: str, reason: str | None = None, owner: str | None = None
    ) -> bool:
        """Enter into the history of a complete job that what it made is not kept any more.

        False when that is there already, or the job is not complete.
        """
        event = ResultRemoved(*asked("note_result_removed", by, reason))

        def once(job: Job) -> Event:
            if any(line.entry.kind is Kind.RESULT_REMOVED for line in self._store().ledger(job.id)):
                raise _NotedBefore
            return event

        try:
            return self.settle(job_id, once, owner=owner).ignored is None
        except _NotedBefore:
            return False

    def settle(
        self,
        job_id: str,
        make: Callable[[Job], Event],
        *,
        write: Callable[[Decision], bool] | None = None,
        owner: str | None = None,
        asker: RetryBy = RetryBy.OPERATOR,
        known: Job | None = None,
    ) -> Settled:
        """Decide what `make` says of a job, as it is when that is written, and write it."""
        # Opened first: its schema may have to be brought up to date.
        self._store()

        def allowed(job: Job) -> Event:
            event = make(job)
            if _is_retry(job, event):
                obstacle = self._access.retry_obstacle(job, asker)
                if obstacle is not None:
                    raise obstacle
            return event

        return self._settler.settle(
            checked_job_id(job_id),
            allowed,
            now=self._clock.now(),
            write=write,
            owner=owner,
            known=known,
        )

    def settle_replay(self, job_id: str, make: Callable[[Job], Event]) -> Settled:
        """Settle what the workflow of dead letters allows, which has its evidence by then."""
        return self.settle(job_id, make, asker=RetryBy.WORKFLOW)

    def _chunk(
        self,
        wanted: JobFilter,
        event: Event,
        states: frozenset[JobState],
        *,
        before: str | None,
        limit: int,
    ) -> Chunk:
        """Settle `event` for up to `limit` matching jobs in `states`, newest first.

        Jobs that moved on meanwhile and are still in `states` are settled one by one; those that
        may not be sent back stay as they are.
        """
        start = None if before is None else checked_job_id(before)
        chosen = tuple(state for state in wanted.states or JobState if state in states)
        if not chosen:
            return Chunk(0, 0, None)
        store, now = self._store(), self._clock.now()
        page = store.find(wanted._replace(states=chosen), before=start, limit=limit)
        allowed, refused = self._allowed(page, event)
        changed = self._settler.settle_many(((job, event) for job in allowed), now=now)
        if changed < len(allowed):
            seen = {job.id: job.revision for job in allowed}
            for job in store.get(seen).values():
                if job.state in states and job.revision != seen[job.id]:
                    settled = self._settler.settle(job.id, lambda _: event, now=now)
                    changed += settled.ignored is None
        return Chunk(len(page), changed, page[-1].id if len(page) == limit else None, refused)

    def _allowed(self, page: Sequence[Job], event: Event) -> tuple[list[Job], Counter[str]]:
        """Return the jobs of a page that the event may be applied to, and why not the others."""
        obstacle_of = self._access.retry_obstacles(RetryBy.OPERATOR)
        refused: Counter[str] = Counter()
        allowed: list[Job] = []
        for job in page:
            found = obstacle_of(job) if _is_retry(job, event) else None
            if found is not None:
                refused[found.reason] += 1
            elif self._settler.lacks(job):
                refused[_NEEDS_PIPELINE.format(repr(job.pipeline))] += 1
            else:
                allowed.append(job)
        return allowed, refused


def _is_retry(job: Job, event: Event) -> bool:
    return type(event) is RetryRequested and job.state is JobState.FAILED


def _asker(owner: str | None, *, operator: bool) -> RetryBy:
    return RetryBy.OPERATOR if operator or owner is None else RetryBy.OWNER


class _NotedBefore(Exception):
    """That the result was removed is in the job's history."""
