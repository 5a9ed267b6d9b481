"""What people and programs do to single jobs, and to many that match."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from holdfast.bulk import Chunk, settle_chunk
from holdfast.core.document import DEFAULT_LIMITS, decode, encode
from holdfast.core.event import Answered, CancelRequested, Event, RetryRequested
from holdfast.core.failure import MAX_MESSAGE_LENGTH
from holdfast.core.ids import JobId
from holdfast.core.job import ACTIVE, Job, JobState
from holdfast.errors import InvalidValue, TokenRefused, UnknownJob, WrongState
from holdfast.runtime.callbacks import CallbackTokens
from holdfast.runtime.clock import Clock
from holdfast.runtime.settle import Settled, Settler
from holdfast.secrecy import safe_text
from holdfast.store.contract import JobFilter, Store
from holdfast.submission import checked_text
from holdfast.submitter import BULK
from holdfast.view import HistoryLine, JobView, history

PAGE: Final = 100
LONGEST_PAGE: Final = 10_000


class JobVerbs:
    """Read, cancel, retry and answer jobs: the part of `Holdfast` that is about jobs there are."""

    clock: Clock
    callback_tokens: CallbackTokens
    _settler: Settler

    @property
    def store(self) -> Store:
        """The store, ready to be used."""
        raise NotImplementedError

    def job(self, job_id: str) -> JobView:
        """Read a job, or raise `UnknownJob`."""
        return JobView(self._get(job_id), self.clock.now())

    def jobs(
        self, wanted: JobFilter | None = None, *, before: str | None = None, limit: int = PAGE
    ) -> list[JobView]:
        """Return matching jobs, newest first; the last one's id is `before` of the next page."""
        if not 1 <= limit <= LONGEST_PAGE:
            raise InvalidValue(
                "jobs", field="limit", value=limit, limit=f"from 1 to {LONGEST_PAGE}"
            )
        page = self.store.find(
            wanted or JobFilter(),
            before=None if before is None else _checked_id(before),
            limit=limit,
        )
        now = self.clock.now()
        return [JobView(job, now) for job in page]

    def history(self, job_id: str) -> list[HistoryLine]:
        """Return all that happened to a job, oldest first."""
        job = self._get(job_id)
        return history(job, self.store.ledger(job.id))

    def results(self, job_id: str) -> dict[str, Any]:
        """Return what the finished stages of a job's current run returned, the last one's too."""
        view = self.job(job_id)
        found = {
            checkpoint.stage: decode(checkpoint.result)
            for checkpoint in self.store.checkpoints([view.job.id])
        }
        if view.state is JobState.COMPLETE:
            found[view.job.stage] = view.result
        return found

    def cancel(self, job_id: str, *, by: str, reason: str | None = None) -> JobView:
        """End a job that has not ended; a handler that runs is stopped, and its result refused."""
        event = CancelRequested(*asked("cancel", by, reason))
        settled = self._settle(job_id, lambda _: event)
        if settled.ignored is not None and settled.job.state is not JobState.CANCELLED:
            raise WrongState(
                job_id,
                state=settled.job.state,
                action="cancel",
                allowed=("queued", "processing", "waiting"),
            )
        return JobView(settled.job, self.clock.now())

    def retry(
        self, job_id: str, *, by: str, reason: str | None = None, from_start: bool = False
    ) -> JobView:
        """Send a failed job back to the stage that failed, or to the start, with a new budget."""
        event = RetryRequested(*asked("retry", by, reason), from_start)
        settled = self._settle(job_id, lambda _: event)
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
        """Send up to `limit` matching jobs back that have failed, newest first."""
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
        settled = self._settle(job_id, lambda job: Answered(stage or job.stage, text))
        if settled.ignored is None:
            self.store.announce_due()
        elif settled.job.state is JobState.QUEUED and stage in (None, settled.job.stage):
            raise WrongState(job_id, state=settled.job.state, action="answer", allowed=("waiting",))
        return JobView(settled.job, self.clock.now())

    def resume(self, token: str, result: Any) -> JobView:  # noqa: ANN401
        """Give the stage that a callback token was made for its result; see `answer`.

        Raises `TokenRefused` for a token that is forged, has expired, or belongs to a run of the
        job that is over.
        """
        _ = self.store
        claim = self.callback_tokens.read(token)
        if claim is None:
            raise TokenRefused(reason="it was not issued for this database")
        if claim.expires_at is not None and self.clock.now() > claim.expires_at:
            raise TokenRefused(reason="it has expired")
        job = self._get(claim.job_id)
        if job.run != claim.run:
            raise TokenRefused(reason="the job has started over since it was issued")
        if job.stage != claim.stage:
            return JobView(job, self.clock.now())
        return self.answer(claim.job_id, result, stage=claim.stage)

    def _get(self, job_id: str) -> Job:
        checked = _checked_id(job_id)
        job = self.store.get([checked]).get(checked)
        if job is None:
            raise UnknownJob(job_id)
        return job

    def _settle(self, job_id: str, make: Callable[[Job], Event]) -> Settled:
        # Opens the store, whose schema may have to be brought up to date first.
        _ = self.store
        return self._settler.settle(_checked_id(job_id), make, now=self.clock.now())

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
            before=None if before is None else _checked_id(before),
            limit=limit,
            now=self.clock.now(),
        )


def asked(action: str, by: str, reason: str | None) -> tuple[str, str | None]:
    """Return who asked and why, as both databases can hold it."""
    who = checked_text(action, field="by", text=by)
    return who, None if reason is None else safe_text(reason, MAX_MESSAGE_LENGTH)


def _checked_id(job_id: str) -> JobId:
    """Return the id in its canonical form; what is no id names no job."""
    try:
        return JobId(str(UUID(job_id)))
    except (ValueError, AttributeError, TypeError):
        raise UnknownJob(str(job_id)) from None
