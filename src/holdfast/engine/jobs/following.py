"""What the handles of submitted jobs stand on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from holdfast.core.values.ids import JobId
from holdfast.engine.handles.endings import Endings
from holdfast.engine.jobs.changes import JobChanges
from holdfast.engine.jobs.jobs import Jobs
from holdfast.engine.threads import CallThreads
from holdfast.errors import JobFailed
from holdfast.store.contract import Store
from holdfast.views.disclosure import Disclosure
from holdfast.views.job import JobView

_T = TypeVar("_T")


class JobFollowing:
    """Reads, awaits and changes single jobs for their handles."""

    def __init__(
        self,
        store: Callable[[], Store],
        *,
        jobs: Jobs,
        changes: JobChanges,
        endings: Endings,
        threads: CallThreads,
        disclosure: Disclosure,
    ) -> None:
        self._store = store
        self._changes = changes
        self._threads = threads
        self._disclosure = disclosure
        self.read = jobs.get
        self.watch = endings.watch

    def failure_of(self, view: JobView) -> JobFailed:
        """Return the error to raise for a job that has failed."""
        error: dict[str, Any] = view.error or {}
        public = self._disclosure.public_error(view)
        letter = self._store().letters.get(JobId(view.id))
        return JobFailed(
            view.id,
            error_class=str(error.get("error_class") or "UNKNOWN"),
            message=str(error.get("message") or ""),
            code="UNKNOWN" if public is None else public.error_code,
            line=None if public is None else public.error_message,
            letter=None if letter is None else view.id,
        )

    def cancel(self, job_id: str, *, by: str, reason: str | None) -> JobView:
        """End a job that has not ended."""
        return self._changes.cancel(job_id, by=by, reason=reason)

    def retry(self, job_id: str, *, by: str, reason: str | None, from_start: bool) -> JobView:
        """Send a failed job back."""
        return self._changes.retry(job_id, by=by, reason=reason, from_start=from_start)

    async def in_thread(self, call: Callable[[], _T]) -> _T:
        """Run a call that waits for the database without blocking the loop."""
        return await self._threads.run(call)
