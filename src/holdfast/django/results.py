"""Jobs as Django's results of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.utils import timezone

from holdfast.core.job.job import JobState
from holdfast.core.values.instant import Instant, to_datetime
from holdfast.django.interface import TaskError, TaskResult, TaskResultStatus, task_enqueued
from holdfast.views.job import AttemptLine, JobView

STATUSES: Final[Mapping[JobState, Any]] = {
    JobState.QUEUED: TaskResultStatus.READY,
    JobState.PROCESSING: TaskResultStatus.RUNNING,
    JobState.WAITING: TaskResultStatus.RUNNING,
    JobState.COMPLETE: TaskResultStatus.SUCCESSFUL,
    JobState.FAILED: TaskResultStatus.FAILED,
    JobState.CANCELLED: TaskResultStatus.FAILED,
}
_NO_EXCEPTION: Final[Mapping[JobState, str]] = {
    JobState.FAILED: "holdfast.errors.JobFailed",
    JobState.CANCELLED: "holdfast.errors.JobCancelled",
}
"""What stands for the exception where the task raised none: it was timed out, or cancelled."""


def queued(
    task: Any,  # noqa: ANN401 - Django's
    job_id: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    sender: type,
) -> Any:  # noqa: ANN401 - Django's
    """Return the result of a task that was enqueued just now, and send Django's signal of it."""
    result = TaskResult(
        task=task,
        id=job_id,
        status=TaskResultStatus.READY,
        enqueued_at=timezone.now(),
        started_at=None,
        finished_at=None,
        last_attempted_at=None,
        args=list(args),
        kwargs=dict(kwargs),
        backend=task.backend,
        errors=[],
        worker_ids=[],
    )
    task_enqueued.send(sender, task_result=result)
    return result


def result_of(task: Any, view: JobView, attempts: Sequence[AttemptLine]) -> Any:  # noqa: ANN401
    """Return a job as the result of its task."""
    job = view.job
    waits_for_its_time = job.started_at is None and job.run_at > job.created_at
    result = TaskResult(
        task=replace(
            task,
            queue_name=job.queue,
            run_after=_moment(job.run_at) if waits_for_its_time else None,
        ),
        id=view.id,
        status=STATUSES[view.state],
        enqueued_at=_moment(job.created_at),
        started_at=_moment(job.started_at),
        finished_at=_moment(job.finished_at),
        last_attempted_at=_moment(job.attempt_at),
        args=view.payload["args"],
        kwargs=view.payload["kwargs"],
        backend=task.backend,
        errors=_errors(view),
        worker_ids=[attempt.worker for attempt in attempts],
    )
    if view.state is JobState.COMPLETE:
        object.__setattr__(result, "_return_value", view.result)  # as Django's own backends do
    return result


def _errors(view: JobView) -> list[Any]:
    """Return why a task failed: the exception of its last attempt, hidden as everywhere."""
    if view.state not in _NO_EXCEPTION:
        return []
    error = view.error or {}
    kind = error.get("exception_type") or _NO_EXCEPTION[view.state]
    path = kind if "." in kind else f"builtins.{kind}"
    said = f"{error.get('error_class', view.state.upper())}: {error.get('message', '')}"
    return [TaskError(exception_class_path=path, traceback=error.get("stack") or said)]


def aware(moment: datetime | None) -> datetime | None:
    """Return a time with its zone, which is the project's where it has none."""
    return moment if moment is None or timezone.is_aware(moment) else timezone.make_aware(moment)


def _moment(instant: Instant | None) -> datetime | None:
    """Return a time as the project has it: with a zone, or in its own zone without one."""
    if instant is None:
        return None
    moment = to_datetime(instant)
    return moment if settings.USE_TZ else timezone.make_naive(moment)
