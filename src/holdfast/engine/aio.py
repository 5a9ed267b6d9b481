"""The verbs of an application, awaited: the same engine, called in threads of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from holdfast.core.job.job import ENDED
from holdfast.engine.connections.awaited import lent
from holdfast.engine.dead_letters.dead_letters import DeadLetters
from holdfast.engine.deliveries import Deliveries
from holdfast.engine.handles.handle import JobHandle, ResultT
from holdfast.engine.jobs.answers import Answers
from holdfast.engine.jobs.changes import JobChanges
from holdfast.engine.jobs.jobs import Jobs
from holdfast.engine.jobs.waits import Waits
from holdfast.engine.operations import Operations
from holdfast.engine.outbox import Outbox
from holdfast.engine.submit.submissions import Submissions
from holdfast.engine.threads import CallThreads
from holdfast.errors import ResultTimeout
from holdfast.runtime.kernel.clock import monotonic_s

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Awaited(Generic[_P, _R]):
    """A coroutine method that is the method of a part of the application, run in a thread."""

    def __init__(self, part: str, method: Callable[Concatenate[Any, _P], _R]) -> None:
        self.part = part
        self.method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, verbs: None, kind: type) -> Callable[Concatenate[Any, _P], _R]: ...

    @overload
    def __get__(self, verbs: AsyncVerbs, kind: type) -> Callable[_P, Awaitable[_R]]: ...

    def __get__(
        self, verbs: AsyncVerbs | None, kind: type
    ) -> Callable[_P, Awaitable[_R]] | Callable[Concatenate[Any, _P], _R]:
        if verbs is None:
            return self.method
        bound = self.method.__get__(getattr(verbs.app, self.part))
        run = verbs.threads.run

        def call(*args: _P.args, **kwargs: _P.kwargs) -> Awaitable[_R]:
            if kwargs.get("connection") is None:
                return run(partial(bound, *args, **kwargs))
            return _run_lent(verbs.threads, bound, *args, **kwargs)

        return call


class AsyncVerbs:
    """What `Holdfast` does, awaited: `await app.aio.submit(…)`.

    The event loop goes on while the database is asked. A call whose task is cancelled ends before
    the cancellation is raised: what it was about to store is stored then, or is not, and nothing
    goes on behind the caller's back.
    """

    submit = Awaited("submissions", Submissions.submit)
    submit_many = Awaited("submissions", Submissions.submit_many)
    refuse = Awaited("submissions", Submissions.refuse)
    deliver = Awaited("deliveries", Deliveries.make)
    publish = Awaited("outbox", Outbox.publish)
    publish_many = Awaited("outbox", Outbox.publish_many)

    job = Awaited("jobs", Jobs.get)
    jobs = Awaited("jobs", Jobs.__call__)
    read_jobs = Awaited("jobs", Jobs.read_many)
    held_jobs = Awaited("jobs", Jobs.held)
    of_key = Awaited("jobs", Jobs.of_key)
    count = Awaited("jobs", Jobs.count)
    history = Awaited("jobs", Jobs.history)
    attempts = Awaited("jobs", Jobs.attempts)
    results_of = Awaited("jobs", Jobs.results_of)
    waiting = Awaited("waits", Waits.of)

    cancel = Awaited("changes", JobChanges.cancel)
    cancel_many = Awaited("changes", JobChanges.cancel_many)
    retry = Awaited("changes", JobChanges.retry)
    retry_many = Awaited("changes", JobChanges.retry_many)
    correct_payload = Awaited("changes", JobChanges.correct_payload)
    answer = Awaited("answers", Answers.give)
    resume = Awaited("answers", Answers.resume)

    dead_letter = Awaited("dead", DeadLetters.get)
    dead_letters = Awaited("dead", DeadLetters.find)
    replay = Awaited("dead", DeadLetters.replay)

    pause_queue = Awaited("operations", Operations.pause_queue)
    resume_queue = Awaited("operations", Operations.resume_queue)
    queues = Awaited("operations", Operations.queues)
    workers = Awaited("operations", Operations.workers)

    def __init__(self, app: object, *, threads: CallThreads) -> None:
        self.app = app
        self.threads = threads

    async def results(
        self,
        handles: Iterable[JobHandle[ResultT]],
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - as `result` has it, with its error
    ) -> AsyncIterator[JobHandle[ResultT]]:
        """Yield each handle once its job has ended, whichever ends first; see `holdfast.results`.

        After `timeout` seconds in all `ResultTimeout` is raised for one that has not.
        """
        until_s = None if timeout is None else monotonic_s() + timeout
        with ExitStack() as watched:
            waiting: dict[asyncio.Future[None], JobHandle[ResultT]] = {}
            for handle in handles:
                ended: Future[None] = watched.enter_context(handle.watch())
                waiting[asyncio.wrap_future(ended)] = handle
            for future, handle in tuple(waiting.items()):
                if (await self.threads.run(handle.get)).state in ENDED:
                    del waiting[future]
                    yield handle
            while waiting:
                left_s = None if until_s is None else max(until_s - monotonic_s(), 0.0)
                done, _ = await asyncio.wait(
                    waiting, timeout=left_s, return_when=asyncio.FIRST_COMPLETED
                )
                if not done:
                    handle = next(iter(waiting.values()))
                    label = (await self.threads.run(handle.get)).label
                    raise ResultTimeout(handle.id, label=label, timeout_s=timeout)
                for future in done:
                    yield waiting.pop(future)


async def _run_lent(
    threads: CallThreads, method: Callable[..., _R], /, *args: object, **given: object
) -> _R:
    """Call a method with a connection of the caller's among what it is given."""
    given["connection"] = await lent(given["connection"])
    return await threads.run_in_transaction(partial(method, *args, **given))
