"""The backend that makes jobs of Django's tasks: a task is a pipeline of one stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.core.values.retry import Retry
from holdfast.django.applications import (
    Source,
    application_of,
    declare,
    is_declared,
    task_of,
)
from holdfast.django.databases import is_in_transaction
from holdfast.django.interface import BaseTaskBackend, InvalidTask, TaskResultDoesNotExist
from holdfast.django.interface import Task as BaseTask
from holdfast.django.names import pipeline_name, priority_of
from holdfast.django.results import aware, queued, result_of
from holdfast.django.running import handler_of
from holdfast.errors import InvalidValue, UnknownJob
from holdfast.pipeline.declaration import Pipeline
from holdfast.pipeline.names import Span
from holdfast.pipeline.upstream import Upstream


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(BaseTask):  # type: ignore[misc]
    """A task, and how holdfast runs it: `@task(retry=Retry(attempts=5), timeout=30)`."""

    retry: Retry | None = None
    timeout: Span | None = None
    calls: Upstream | None = None


class Backend(BaseTaskBackend):  # type: ignore[misc]
    """A task backend whose tasks are jobs of holdfast's.

    `OPTIONS` may name the `database` of the settings that jobs are in, "default" without it, or an
    `app`: the dotted name of a `Holdfast` of one's own. A task that is enqueued while a transaction
    is open on that database is part of it.
    """

    task_class = Task
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        super().__init__(alias, params)
        self.source = Source.of(self.options)

    def validate_task(self, task: Any) -> None:  # noqa: ANN401 - Django's
        """Raise Django's `InvalidTask` unless this can be run; its first use declares the task."""
        super().validate_task(task)
        name = pipeline_name(task.module_path)
        if is_declared(self.source, name):
            return
        try:
            pipeline = Pipeline(name, queue=task.queue_name, retry=getattr(task, "retry", None))
            pipeline.stage(
                name=name,
                calls=getattr(task, "calls", None),
                timeout=getattr(task, "timeout", None),
            )(handler_of(task, read=self.get_result))
        except InvalidValue as error:
            raise InvalidTask(str(error)) from error
        declare(self.source, task, pipeline)

    def enqueue(
        self,
        task: Any,  # noqa: ANN401 - Django's
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> Any:  # noqa: ANN401 - Django's
        """Make a job, in the transaction that is open on the jobs' database if there is one."""
        self.validate_task(task)
        database = self.source.database
        own = database is not None and is_in_transaction(database)
        handle = application_of(self.source).submit(
            pipeline_name(task.module_path),
            {"args": list(args), "kwargs": dict(kwargs)},
            queue=task.queue_name,
            priority=priority_of(task.priority),
            run_at=aware(task.run_after),
            connection=database if own else None,
        )
        return queued(task, handle.id, args, kwargs, sender=type(self))

    def get_result(self, result_id: str) -> Any:  # noqa: ANN401 - Django's
        """Return what has become of a task, or raise Django's `TaskResultDoesNotExist`."""
        app = application_of(self.source)
        try:
            view = app.job(result_id)
            attempts = app.attempts(result_id)
        except UnknownJob:
            raise TaskResultDoesNotExist(result_id) from None
        task = task_of(self.source, view.job.pipeline)
        if task is None:
            raise TaskResultDoesNotExist(result_id)
        return result_of(task, view, attempts)
