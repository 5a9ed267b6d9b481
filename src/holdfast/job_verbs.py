"""What people and programs do to single jobs, and to many that match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final
from uuid import UUID

from holdfast.asking import PAGE, asked, checked_limit
from holdfast.bulk import Chunk, settle_chunk
from holdfast.core.decision import Decision
from holdfast.core.document import DEFAULT_LIMITS, decode, encode
from holdfast.core.event import Answered, CancelRequested, Event, RetryRequested
from holdfast.core.ids import JobId
from holdfast.core.job import ACTIVE, Job, JobState
from holdfast.errors import InvalidValue, RetryRefused, TokenRefused, UnknownJob, WrongState
from holdfast.pipeline import Pipeline
from holdfast.runtime.callbacks import CallbackTokens, HandledBefore, was_handled, write_once
from holdfast.runtime.settle import Settled, Settler
from holdfast.store.contract import JobFilter
from holdfast.store_access import StoreAccess
from holdfast.submission import checked_text
from holdfast.submitter import BULK
from holdfast.view import AttemptLine, HistoryLine, JobView, attempts, history

MOST_COUNTED: Final = 10_000
"""How far matching jobs are counted at most: looking for more would read too much."""


class JobVerbs(StoreAccess):
    """Read, cancel, retry and answer jobs: the part of `Holdfast` that is about jobs there are."""

    callback_tokens: CallbackTokens
    _pipelines: dict[str, Pipeline]
    _settler: Settler

    def job(self, job_id: str, *, owner: str | None = None) -> JobView:
        """Read a job, or raise `UnknownJob`.

        With `owner`, here and in what follows, a job of somebody else's is as unknown as one that
        is not there.
        """
        return JobView(self._get(job_id, owner), self.clock.now())

    def jobs(
        self, wanted: JobFilter | None = None, *, before: str | None = None, limit: int = PAGE
    ) -> list[JobView]:
        """Return matching jobs, newest first; the last one's id is `before` of the next page."""
        page = self.store.find(
            wanted or JobFilter(),
            before=None if before is None else _checked_id(before),
            limit=checked_limit("jobs", limit),
        )
        now = self.clock.now()
        return [JobView(job, now) for job in page]

    def count(self, wanted: JobFilter | None = None, *, at_most: int = MOST_COUNTED) -> int:
        """Return how many jobs match; no more than `at_most` are counted."""
        if not 1 <= at_most <= MOST_COUNTED:
            raise InvalidValue(
                "count", field="at_most", value=at_most, limit=f"from 1 to {MOST_COUNTED}"
            )
        return self.store.count(wanted or JobFilter(), at_most=at_most)

    def history(self, job_id: str, *, owner: str | None = None) -> list[HistoryLine]:
        """Return all that happened to a job, oldest first."""
        job = self._get(job_id, owner)
        return history(job, self.store.ledger(job.id))

    def attempts(self, job_id: str, *, owner: str | None = None) -> list[AttemptLine]:
        """Return every attempt at a job's stages, oldest first, also the one under way."""
        job = self._get(job_id, owner)
        return attempts(job, self.store.ledger(job.id))

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
        return JobView(settled.job, self.clock.now())

    def retry(
        self,
        job_id: str,
        *,
        by: str,
        reason: str | None = None,
        from_start: bool = False,
        owner: str | None = None,
    ) -> JobView:
        """Send a failed job back to the stage that failed, or to the start, with a new budget.

        Raises `RetryRefused` when its pipeline says that this is no use.
        """
        event = RetryRequested(*asked("retry", by, reason), from_start)
        settled = self._settle(job_id, lambda _: event, owner=owner)
        if settled.ignored is not None:
            raise WrongState(job_id, state=settled.job.state, action="retry", allowed=("failed",))
        self.store.announce_due()
        return JobView(settled.job, self.clock.now())

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

        Those whose pipeline refuses it stay as they are.
        """
        event = RetryRequested(*asked("retry", by, reason), from_start)
        failed = frozenset({JobState.FAILED})
        chunk = self._settle_chunk(wanted, event, failed, before=before, limit=limit)
        self.store.announce_due()
        return chunk

    def answer(self, job_id: str, result: Any, *, stage: str | None = None) -> JobView:  # noqa: ANN401
        """Give a waiting stage its result. After the deadline it is kept as a late result.

        An answer that was given before changes nothing, so giving it twice is safe.
        """
        text = encode(result, what="answer", limits=DEFAULT_LIMITS)
        return self._answer(job_id, lambda job: Answered(stage or job.stage, text), stage=stage)

    def resume(
        self,
        token: str,
        result: Any,  # noqa: ANN401 - whatever JSON the answer is
        *,
        message_id: str | None = None,
    ) -> JobView:
        """Give the stage that a callback token was made for its result; see `answer`.

        With `message_id` the answer came as a message: its id is noted in the commit that holds
        what the answer changes, and a message of that id changes nothing from then on.
        Raises `TokenRefused` for a token that is forged, has expired, or belongs to a run of the
        job that is over.
        """
        store = self.store
        claim = self.callback_tokens.read(token)
        if claim is None:
            raise TokenRefused(reason="it was not issued for this database")
        if message_id is not None:
            checked_text("resume", field="message_id", text=message_id)
            if was_handled(store, message_id):
                return self.job(claim.job_id)
        if claim.expires_at is not None and self.clock.now() > claim.expires_at:
            raise TokenRefused(reason="it has expired")
        text = encode(result, what="answer", limits=DEFAULT_LIMITS)

        def make(job: Job) -> Event:
            if job.run != claim.run:
                raise TokenRefused(reason="the job has started over since it was issued")
            return Answered(claim.stage, text)

        write: Callable[[Decision], bool] | None = None
        if message_id is not None:
            write = partial(write_once, message_id=message_id, store=store, clock=self.clock)
        try:
            return self._answer(claim.job_id, make, stage=claim.stage, write=write)
        except HandledBefore:
            return self.job(claim.job_id)

    def _answer(
        self,
        job_id: str,
        make: Callable[[Job], Event],
        *,
        stage: str | None,
        write: Callable[[Decision], bool] | None = None,
    ) -> JobView:
        settled = self._settle(job_id, make, write=write)
        if settled.ignored is None:
            self.store.announce_due()
        elif settled.job.state is JobState.QUEUED and stage in (None, settled.job.stage):
            raise WrongState(job_id, state=settled.job.state, action="answer", allowed=("waiting",))
        return JobView(settled.job, self.clock.now())

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
    ) -> Settled:
        # Opens the store, whose schema may have to be brought up to date first.
        _ = self.store

        def allowed(job: Job) -> Event:
            event = make(job)
            refusal = self._refusal(job, event)
            if refusal is not None:
                raise RetryRefused(job.id, reason=refusal)
            return event

        return self._settler.settle(
            _checked_id(job_id), allowed, now=self.clock.now(), write=write, owner=owner
        )

    def _refusal(self, job: Job, event: Event) -> str | None:
        """Return why the job's pipeline does not allow what is asked for, None when it does."""
        if type(event) is not RetryRequested or job.state is not JobState.FAILED:
            return None
        pipeline = self._pipelines.get(job.pipeline)
        if pipeline is None or pipeline.retry_refusal is None:
            return None
        return pipeline.retry_refusal(decode(job.payload))

    def _settle_chunk(
        self,
        wanted: JobFilter,
        event: Event,
        states: frozenset[JobState],
        *,
        before: str | None,
        limit: int,
    ) -> Chunk:
        return settle_chunk(
            self.store,
            self._settler,
            wanted,
            event,
            states=states,
            allows=lambda job: self._refusal(job, event) is None,
            before=None if before is None else _checked_id(before),
            limit=limit,
            now=self.clock.now(),
        )


def _checked_id(job_id: str) -> JobId:
    """Return the id in its canonical form; what is no id names no job."""
    try:
        return JobId(str(UUID(job_id)))
    except (ValueError, AttributeError, TypeError):
        raise UnknownJob(str(job_id)) from None
