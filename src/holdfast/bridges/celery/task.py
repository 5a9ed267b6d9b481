"""A function as a durable task: submitted the way Celery's tasks are, run the way jobs are."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from holdfast.errors import UsageError
from holdfast.pipeline.declaration import Pipeline
from holdfast.runtime.attempts.attempt import JobContext

Submit = Callable[..., Any]

SUBMITTED_WITH: Final = frozenset(
    {
        *("countdown", "eta", "queue", "connection", "key", "key_alone"),
        *("owner", "version", "deadline", "trace"),
    }
)
"""What `apply_async` takes besides the arguments of the function."""
_JSON: Final = "arguments are stored as JSON"
_ATTEMPTS: Final = "the store counts attempts; say how they repeat by retry= of the task"
_NEXT: Final = "what follows a task is a stage: declare a Pipeline with both"
_ROUTE: Final = "which workers get it is said by queue="
_ELSEWHERE: Final = {
    "task_id": "the store gives ids; to find a job again, or to submit once, pass key=",
    "expires": "pass deadline=, after which the job has failed",
    "priority": "lower is more urgent here; use Holdfast.submit(priority=…) or another queue=",
    "retry": _ATTEMPTS,
    "retry_policy": _ATTEMPTS,
    "max_retries": _ATTEMPTS,
    "autoretry_for": _ATTEMPTS,
    "retry_backoff": _ATTEMPTS,
    "time_limit": "pass timeout= to the task",
    "soft_time_limit": "pass timeout= to the task",
    "rate_limit": "pass calls= to the task, an Upstream with concurrency=",
    "serializer": _JSON,
    "compression": _JSON,
    "link": _NEXT,
    "link_error": "what fails for good is a dead letter; look at those instead",
    "exchange": _ROUTE,
    "routing_key": _ROUTE,
    "acks_late": "a job is the store's until it is done, so there is nothing to choose",
    "ignore_result": "results are kept as long as the retention says",
}


class DurableTask:
    """A task whose submissions are jobs in the store.

    Called, it is the function it was made of; `delay` and `apply_async` submit it.
    """

    def __init__(
        self, function: Callable[..., Any], *, pipeline: Pipeline, submit: Submit, bind: bool
    ) -> None:
        functools.update_wrapper(self, function)
        self.name = pipeline.name
        self.pipeline = pipeline
        self._function = function
        self._submit = submit
        signature = inspect.signature(function)
        self._signature = _without_first(signature) if bind else signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the function's own
        """Call the function here and now."""
        return self._function(*args, **kwargs)

    def delay(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - a JobHandle
        """Submit it with these arguments and return a handle of the job."""
        return self.apply_async(args, kwargs)

    def apply_async(
        self,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        *,
        countdown: float | None = None,
        eta: datetime | None = None,
        **options: Any,  # noqa: ANN401 - each checked
    ) -> Any:  # noqa: ANN401 - a JobHandle
        """Submit it, at once, in `countdown` seconds or at `eta`, and return a handle of the job.

        With `connection` the job is part of the caller's own transaction on the same database; so
        it is within `using`. Further options are those of `Holdfast.submit`.
        """
        refuse_unknown("apply_async", options, known=SUBMITTED_WITH)
        args, kwargs = list(args or ()), dict(kwargs or {})
        self._signature.bind(*args, **kwargs)
        if countdown is not None and countdown <= 0:
            countdown = None
        return self._submit(
            self.pipeline, {"args": args, "kwargs": kwargs}, delay=countdown, run_at=eta, **options
        )

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - it always raises
        if name in {"s", "si", "signature", "chunks", "map", "starmap", "subtask"}:
            raise UsageError(
                f"{self.name}.{name}: a durable task is no part of Celery's canvas; "
                "declare what follows it as stages of a Pipeline"
            )
        raise AttributeError(name)


def handler_of(function: Callable[..., Any], *, bind: bool) -> Callable[[JobContext], Any]:
    """Return the handler of a task's only stage."""

    def bound(job: JobContext) -> functools.partial[Any]:
        first = (job,) if bind else ()
        return functools.partial(function, *first, *job.payload["args"], **job.payload["kwargs"])

    if inspect.iscoroutinefunction(function):

        async def run_async(job: JobContext) -> Any:  # noqa: ANN401 - the function's own
            return await bound(job)()

        return run_async

    def run(job: JobContext) -> Any:  # noqa: ANN401 - the function's own
        return bound(job)()

    return run


def refuse_unknown(where: str, options: Mapping[str, Any], *, known: frozenset[str]) -> None:
    """Raise a `UsageError` that says what to do instead of an option that is not known."""
    for name in options:
        if name not in known:
            instead = _ELSEWHERE.get(name, f"known are {', '.join(sorted(known))}")
            raise UsageError(f"a durable task takes no {name!r} in {where}; {instead}")


def _without_first(signature: inspect.Signature) -> inspect.Signature:
    return signature.replace(parameters=list(signature.parameters.values())[1:])
