"""A submitted job in its submitter's hands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future
from concurrent.futures import wait as wait_for_any
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Final, Generic, Protocol

from typing_extensions import TypeVar

from holdfast.core.job.job import ENDED, JobState
from holdfast.core.values.ids import JobId
from holdfast.errors import JobCancelled, JobFailed, ResultTimeout
from holdfast.runtime.kernel.clock import monotonic_s
from holdfast.views.job import JobView

BY_PROGRAM: Final = "program"
"""Who cancelled or retried a job, where the program does not say."""

ResultT = TypeVar("ResultT", default=Any)
_Read = TypeVar("_Read")


class Following(Protocol):
    """What a handle needs of the application."""

    def read(self, job_id: str) -> JobView:
        """Read a job."""
        ...

    def watch(self, job_id: JobId) -> AbstractContextManager[Future[None]]:
        """Lend a future that is done once the job ends."""
        ...

    def failure_of(self, view: JobView) -> JobFailed:
        """Return the error to raise for a job that has failed."""
        ...

    def cancel(self, job_id: str, *, by: str, reason: str | None) -> JobView:
        """End a job that has not ended."""
        ...

    def retry(self, job_id: str, *, by: str, reason: str | None, from_start: bool) -> JobView:
        """Send a failed job back."""
        ...

    async def in_thread(self, call: Callable[[], _Read]) -> _Read:
        """Run a call that waits for the database without blocking the loop."""
        ...


class JobHandle(Generic[ResultT]):
    """A submitted job: its id, whether this submission made it, and how to follow it."""

    __slots__ = ("_decode", "_follow", "_removed", "created", "id")

    def __init__(
        self,
        job_id: JobId,
        *,
        created: bool,
        follow: Following,
        removed: JobView | None = None,
        decode: Callable[[Any], ResultT] | None = None,
    ) -> None:
        self.id = job_id
        self.created = created
        self._follow = follow
        self._removed = removed
        self._decode = decode

    def __repr__(self) -> str:
        return f"JobHandle({self.id!r}, created={self.created})"

    def decoded_by(self, decode: Callable[[Any], _Read]) -> JobHandle[_Read]:
        """Return a handle of the same job whose result is made of its JSON by `decode`."""
        return JobHandle(
            self.id,
            created=self.created,
            follow=self._follow,
            removed=self._removed,
            decode=decode,
        )

    def get(self) -> JobView:
        """Read the job."""
        return self._follow.read(self.id) if self._removed is None else self._removed

    @property
    def state(self) -> JobState:
        """The job's state now."""
        return self.get().state

    def wait(self, timeout: float | None = None) -> JobView:
        """Return the job once it has ended; raise `ResultTimeout` when that takes too long."""
        until_s = None if timeout is None else monotonic_s() + timeout
        view = self.get()
        while view.state not in ENDED:
            with self._follow.watch(self.id) as ended:
                view = self.get()
                if view.state in ENDED:
                    break
                left_s = None if until_s is None else max(until_s - monotonic_s(), 0.0)
                try:
                    ended.result(left_s)
                except TimeoutError:
                    raise ResultTimeout(self.id, label=view.label, timeout_s=timeout) from None
            view = self.get()
        return view

    async def await_end(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - as `wait` has it, with its error
    ) -> JobView:
        """Do as `wait` does, without blocking the event loop."""
        until_s = None if timeout is None else monotonic_s() + timeout
        in_thread = self._follow.in_thread
        view = await in_thread(self.get)
        while view.state not in ENDED:
            with self._follow.watch(self.id) as ended:
                view = await in_thread(self.get)
                if view.state in ENDED:
                    break
                left_s = None if until_s is None else max(until_s - monotonic_s(), 0.0)
                try:
                    await asyncio.wait_for(asyncio.wrap_future(ended), left_s)
                except TimeoutError:
                    raise ResultTimeout(self.id, label=view.label, timeout_s=timeout) from None
            view = await in_thread(self.get)
        return view

    def result(self, timeout: float | None = None) -> ResultT:
        """Return what the job returned, once it is complete.

        Raises `JobFailed` or `JobCancelled` where there is no result, and `ResultTimeout` when the
        job has not ended after `timeout` seconds; it goes on then.
        """
        return self._result_of(self.wait(timeout))

    async def aresult(
        self,
        timeout: float | None = None,  # noqa: ASYNC109 - as `result` has it, with its error
    ) -> ResultT:
        """Do as `result` does, without blocking the event loop."""
        view = await self.await_end(timeout)
        if view.state is JobState.FAILED:
            raise await self._follow.in_thread(lambda: self._follow.failure_of(view))
        return self._result_of(view)

    def cancel(self, *, by: str = BY_PROGRAM, reason: str | None = None) -> JobView:
        """End the job, unless it has ended; a handler that runs is stopped."""
        return self._follow.cancel(self.id, by=by, reason=reason)

    def retry(
        self, *, by: str = BY_PROGRAM, reason: str | None = None, from_start: bool = False
    ) -> JobView:
        """Send the job back after it failed, to the stage that failed or to the start."""
        return self._follow.retry(self.id, by=by, reason=reason, from_start=from_start)

    def _result_of(self, view: JobView) -> ResultT:
        if view.state is JobState.FAILED:
            raise self._follow.failure_of(view)
        if view.state is JobState.CANCELLED:
            raise JobCancelled(self.id)
        result: ResultT = view.result if self._decode is None else self._decode(view.result)
        return result

    def watch(self) -> AbstractContextManager[Future[None]]:
        """Lend a future that is done once the job ends; see `results`."""
        return self._follow.watch(self.id)


def results(
    handles: Iterable[JobHandle[ResultT]], *, timeout: float | None = None
) -> Iterator[JobHandle[ResultT]]:
    """Yield each handle once its job has ended, whichever ends first; `.result()` is there then.

    After `timeout` seconds in all `ResultTimeout` is raised for one that has not.
    """
    until_s = None if timeout is None else monotonic_s() + timeout
    with ExitStack() as watched:
        waiting: dict[Future[None], JobHandle[ResultT]] = {}
        for handle in handles:
            waiting[watched.enter_context(handle.watch())] = handle
        for future, handle in tuple(waiting.items()):
            if handle.state in ENDED:
                del waiting[future]
                yield handle
        while waiting:
            left_s = None if until_s is None else max(until_s - monotonic_s(), 0.0)
            done, _ = wait_for_any(waiting, left_s, return_when=FIRST_COMPLETED)
            if not done:
                handle = next(iter(waiting.values()))
                raise ResultTimeout(handle.id, label=handle.get().label, timeout_s=timeout)
            for future in done:
                yield waiting.pop(future)
