"""Whether a job may be made or sent back: the rules of its pipeline, the same at every door.

A pipeline that this process declares says so itself. Of any other the rules that were stored with
its newest plan hold, and what takes its code is refused unless that can be found elsewhere.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

from holdfast.core.job.access import OPEN, Access, RetryBy, SubmitBy
from holdfast.core.job.job import Job
from holdfast.core.values.document import decode
from holdfast.errors import PipelineClosed, RetryNotAllowed, RetryRefused, UnknownPipeline
from holdfast.pipeline.declaration import Pipeline
from holdfast.runtime.events.presentation import PLAIN, Presentation
from holdfast.store.contract import Store

LOGGER: Final = logging.getLogger("holdfast.engine")

_REASONS: Final = {
    RetryBy.OPERATOR: "failed jobs of pipeline {} are sent back by operators alone",
    RetryBy.WORKFLOW: "failed jobs of pipeline {} are sent back by operators as dead letters, with "
    "the remedy on record",
}
_HOW_ONE: Final = {
    RetryBy.OPERATOR: "ask one",
    RetryBy.WORKFLOW: "its dead letter says what comes next",
}
_HOW_MANY: Final = {
    RetryBy.OPERATOR: "ask one",
    RetryBy.WORKFLOW: "their dead letters say what comes next",
}
_NEVER_RAN: Final = (
    "it was turned away before any of it was run, so that there is nothing to send back; submit it "
    "anew"
)
_HAS_TO_BE_CORRECTED: Final = (
    "what was sent has to be corrected first, and would fail again as it is; submit it anew"
)
_UNKNOWN_HERE: Final = (
    "its pipeline {pipeline} looks at a failed job before it is sent back, and this process does "
    "not know that pipeline; do it where the pipeline runs, such as in its console"
)


Obstacle: TypeAlias = RetryRefused | RetryNotAllowed
"""Why a failed job may not be sent back."""


class Elsewhere(NamedTuple):
    """A pipeline that the application of this process does not have."""

    pipeline: Pipeline | None
    note: str = ""
    """Where it was found, or why it could not be."""


class JobAccess:
    """Who may make jobs and send failed ones back, by pipeline."""

    def __init__(self, store: Callable[[], Store], pipelines: Mapping[str, Pipeline]) -> None:
        self._store = store
        self._pipelines = pipelines
        self.elsewhere: Callable[[str], Elsewhere] = lambda _name: Elsewhere(None)
        """Where else to look for the code of a pipeline."""

    def find_pipeline(self, name: str) -> Pipeline | None:
        """Return the pipeline of this process, or one that is found elsewhere; None without."""
        return self._pipelines.get(name) or self.elsewhere(name).pipeline

    def presentation_of(self, pipeline: str) -> Presentation:
        """Return how the jobs of a pipeline appear; plainly where it is not known here."""
        found = self.find_pipeline(pipeline)
        return PLAIN if found is None else found.presentation

    def open_pipeline(self, name: str) -> Pipeline:
        """Return the pipeline, for what submits to every pipeline alike.

        Raises `PipelineClosed` where its own system alone may, and `UnknownPipeline`.
        """
        access = self._access(name)
        if access.submit_by is SubmitBy.SYSTEM:
            raise PipelineClosed(name, submit_at=access.submit_at)
        found = self._pipelines.get(name)
        if found is None:
            raise UnknownPipeline(name, known=self._pipelines)
        return found

    def check_retry(self, pipeline: str, asker: RetryBy) -> None:
        """Raise `RetryNotAllowed` where no failed job of the pipeline may be sent back that way."""
        access = self._access(pipeline)
        if not access.lets_retry(asker):
            raise _not_allowed(pipeline, access, None)

    def retry_obstacle(self, job: Job, asker: RetryBy) -> Obstacle | None:
        """Return why a failed job may not be sent back that way, None where it may."""
        return self.retry_obstacles(asker)(job)

    def retry_obstacles(self, asker: RetryBy) -> Callable[[Job], Obstacle | None]:
        """Return the same as a function of jobs, which reads the rules of each pipeline once."""
        access_of = functools.cache(self._access)
        return lambda job: self._retry_obstacle(job, access_of(job.pipeline), asker)

    def _retry_obstacle(self, job: Job, access: Access, asker: RetryBy) -> Obstacle | None:
        if not access.lets_retry(asker):
            if access.retry_by is RetryBy.WORKFLOW and self._store().letters.get(job.id) is None:
                return RetryRefused(job.id, reason=_NEVER_RAN)
            return _not_allowed(job.pipeline, access, job.id)
        if asker is RetryBy.OWNER and is_senders_mistake(job):
            return RetryRefused(job.id, reason=_HAS_TO_BE_CORRECTED)
        if not access.refuses_retries:
            return None
        return self._refusal(job)

    def _access(self, name: str) -> Access:
        known = self._pipelines.get(name)
        if known is not None:
            return known.access
        plan = self._store().newest_plan(name)
        return OPEN if plan is None else plan.access

    def _refusal(self, job: Job) -> RetryRefused | None:
        """Return why the pipeline's own code would not have the job sent back."""
        pipeline, note = self._pipelines.get(job.pipeline), ""
        if pipeline is None:
            pipeline, note = self.elsewhere(job.pipeline)
        if pipeline is None:
            unknown = _noted(_UNKNOWN_HERE.format(pipeline=repr(job.pipeline)), note)
            return RetryRefused(job.id, reason=unknown, needs_pipeline=job.pipeline)
        if pipeline.retry_refusal is None:
            return None
        try:
            reason = pipeline.retry_refusal(decode(job.payload))
        except Exception as error:
            # Whether it is any use is not known; what it lacks may be out of reach for a moment.
            LOGGER.exception("pipeline %s cannot say whether a retry is any use", job.pipeline)
            reason = (
                f"its pipeline cannot say whether that is any use ({type(error).__name__}); "
                "try again later"
            )
        return None if reason is None else RetryRefused(job.id, reason=_noted(reason, note))


def is_senders_mistake(job: Job) -> bool:
    """Return whether a job has failed by a mistake of its sender."""
    error = None if job.error is None else decode(job.error)
    return isinstance(error, dict) and error.get("user_error") is True


def _not_allowed(pipeline: str, access: Access, job_id: str | None) -> RetryNotAllowed:
    by = access.retry_by
    return RetryNotAllowed(
        pipeline,
        retry_by=by,
        reason=_REASONS[by].format(repr(pipeline)),
        how=_HOW_MANY[by] if job_id is None else _HOW_ONE[by],
        job_id=job_id,
    )


def _noted(reason: str, note: str) -> str:
    return f"{reason} ({note})" if note else reason
