"""The workers that run in this process, for those who measure how busy it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from holdfast.runtime.breakers.watch import Watch
from holdfast.runtime.kernel.stage import LaneKind
from holdfast.runtime.lanes.contract import Lane


class Member(NamedTuple):
    """What there is to see of a worker from outside."""

    lanes: Mapping[LaneKind, Lane]
    watches: Mapping[str, Watch]
    pending: Callable[[], int]
    """How many outcomes are not written yet."""


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


OF_THIS_PROCESS: Final = Roster()
