"""The attempts this worker holds leases for."""

from __future__ import annotations

from holdfast.core.job.lease import Lease
from holdfast.core.values.ids import JobId
from holdfast.runtime.attempts.attempt import Attempt


class InFlight:
    """Attempts by job; written by claimer and reporter, read by keeper and worker."""

    def __init__(self) -> None:
        self._attempts: dict[JobId, Attempt] = {}

    def __len__(self) -> int:
        return len(self._attempts)

    def __contains__(self, job_id: JobId) -> bool:
        return job_id in self._attempts

    def add(self, attempt: Attempt) -> None:
        """Hold an attempt, in place of an earlier one of the same job."""
        self._attempts[attempt.job.id] = attempt

    def remove(self, attempt: Attempt) -> None:
        """Let an attempt go, unless a later one of the same job has taken its place."""
        if self._attempts.get(attempt.job.id) is attempt:
            del self._attempts[attempt.job.id]

    def all(self) -> list[Attempt]:
        """Return the attempts held at this moment."""
        return list(self._attempts.values())

    def by_lease(self) -> dict[Lease, Attempt]:
        """Return the attempts held at this moment by their leases."""
        return {attempt.lease: attempt for attempt in self.all()}
