"""The workers of an application that run in this process: how busy they are, and what they see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from holdfast.core.job.job import Job
from holdfast.runtime.breakers.watch import Watch
from holdfast.runtime.kernel.stage import LaneKind
from holdfast.runtime.lanes.contract import Lane


class Member(NamedTuple):
    """What there is to see of a worker from outside."""

    lanes: Mapping[LaneKind, Lane]
    watches: Mapping[str, Watch]
    pending: Callable[[], int]
    """How many outcomes are not written yet."""
    breaker_of: Callable[[Job], str | None]
    """How the breaker stands of the upstream that a job's stage calls, where it runs that stage."""


class Roster:
    """Workers by id, from their start to their end."""

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}

    def join(self, worker: str, member: Member) -> None:
        """Take a worker in."""
        self._members[worker] = member

    def leave(self, worker: str) -> None:
        """Forget a worker."""
        self._members.pop(worker, None)

    def members(self) -> list[Member]:
        """Return the workers at this moment."""
        return list(self._members.values())

    def breaker_of(self, job: Job) -> str | None:
        """Return how the breaker stands of the upstream that a job's stage calls, as far as known.

        Of the first worker that runs the stage: they all go by what the store says.
        """
        stands = (member.breaker_of(job) for member in self.members())
        return next((each for each in stands if each is not None), None)
