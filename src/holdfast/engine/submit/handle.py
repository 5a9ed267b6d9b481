"""A submitted job in its submitter's hands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from holdfast.core.job.job import ENDED
from holdfast.core.values.ids import JobId
from holdfast.runtime.kernel.clock import monotonic_s, sleep_s
from holdfast.views.job import JobView

POLL_S: Final = 0.05


class JobHandle:
    """A submitted job: its id, whether this submission made it, and how to follow it."""

    __slots__ = ("_read", "created", "id")

    def __init__(self, job_id: JobId, *, created: bool, read: Callable[[str], JobView]) -> None:
        self.id = job_id
        self.created = created
        self._read = read

    def __repr__(self) -> str:
        return f"JobHandle({self.id!r}, created={self.created})"

    def get(self) -> JobView:
        """Read the job."""
        return self._read(self.id)

    def wait(self, timeout: float | None = None) -> JobView:
        """Return the job once it has ended; raise `TimeoutError` when that takes too long."""
        until_s = None if timeout is None else monotonic_s() + timeout
        while True:
            view = self.get()
            if view.state in ENDED:
                return view
            if until_s is not None and monotonic_s() >= until_s:
                raise TimeoutError(f"job {self.id} is {view.label} after {timeout} s")
            sleep_s(POLL_S)
