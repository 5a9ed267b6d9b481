"""How a worker runs a task."""

from __future__ import annotations

from collections.abc import Callable
from inspect import iscoroutinefunction
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections

from holdfast.django.interface import TaskContext
from holdfast.runtime.attempts.attempt import JobContext


def handler_of(task: Any, *, read: Callable[[str], Any]) -> Callable[..., Any]:  # noqa: ANN401
    """Return the handler of a task's stage.

    Connections that have served their time, or were lost, are closed before and after each run, as
    they are around a request.
    """

    def arguments(job: JobContext) -> tuple[list[Any], dict[str, Any]]:
        """Return what the task is called with; its context is read from the store."""
        close_old_connections()
        context = [TaskContext(task_result=read(job.id))] if task.takes_context else []
        return [*context, *job.payload["args"]], job.payload["kwargs"]

    def run(job: JobContext) -> Any:  # noqa: ANN401 - what the task returns
        try:
            args, kwargs = arguments(job)
            return task.func(*args, **kwargs)
        finally:
            close_old_connections()

    async def run_on_the_loop(job: JobContext) -> Any:  # noqa: ANN401 - as above
        try:
            args, kwargs = await sync_to_async(arguments)(job)
            return await task.func(*args, **kwargs)
        finally:
            await sync_to_async(close_old_connections)()

    return run_on_the_loop if iscoroutinefunction(task.func) else run
