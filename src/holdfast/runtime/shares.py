"""How much of a lane one pipeline may take, so that a slow one cannot stop the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from holdfast.core.job import Job
from holdfast.core.plan import Route
from holdfast.runtime.pace import Pace

KEPT: Final = 10
"""Of so many places that the others leave to a crowd, one is kept free for them."""


class Share(NamedTuple):
    """What one claim may look for: the routes, and how many jobs in all."""

    routes: Sequence[Route]
    limit: int


class _Crowd(NamedTuple):
    """Jobs that share their fate: of one queue and one pipeline."""

    queue: str
    pipeline: str


def is_shared(routes: Sequence[Route], places: int) -> bool:
    """Tell whether a lane has several crowds, and places enough to keep some for each."""
    return places >= KEPT and len({_crowd_of(route) for route in routes}) > 1


class Shares:
    """Divides a lane among the crowds whose jobs run in it.

    A crowd gets at most nine tenths of the places that the others leave, so that one whose
    handlers never end leaves a way for the others. What is leased ahead for a crowd follows its
    own pace: the jobs of a slow one would stand in the way of all that are leased after them.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self._paces = {_crowd_of(route): Pace() for route in routes}
        self._held: Counter[_Crowd] = Counter()
        self._started: Counter[_Crowd] = Counter()

    def note_start(self, job: Job) -> None:
        """Count a job that was handed to the lane."""
        self._started[_Crowd(job.queue, job.pipeline)] += 1

    def divide(
        self, routes: Sequence[Route], held: Iterable[Job], *, places: int, room: int
    ) -> list[Share]:
        """Return the claims to make for `room` more jobs.

        Routes that have their share are left out; crowds that may have about as much as each other
        are looked for together.
        """
        left = self._left(Counter(_Crowd(job.queue, job.pipeline) for job in held), places)
        wanted: dict[_Crowd, list[Route]] = {}
        for route in routes:
            crowd = _crowd_of(route)
            if left[crowd] > 0:
                wanted.setdefault(crowd, []).append(route)
        most = min(max((left[crowd] for crowd in wanted), default=0), room)
        together = [crowd for crowd in wanted if 2 * left[crowd] >= most]
        shares = [Share(wanted[crowd], left[crowd]) for crowd in wanted if crowd not in together]
        if together:
            limit = min(room, *(left[crowd] for crowd in together))
            shares.append(Share([route for crowd in together for route in wanted[crowd]], limit))
        return shares

    def _left(self, held: Counter[_Crowd], places: int) -> Mapping[_Crowd, int]:
        """Return how many more jobs each crowd may have leased."""
        ahead: dict[_Crowd, int] = {}
        for crowd, pace in self._paces.items():
            pace.note(max(self._held[crowd] + self._started.pop(crowd, 0) - held[crowd], 0))
            ahead[crowd] = pace.prefetch()
        self._held = held
        running = {crowd: max(held[crowd] - ahead[crowd], 0) for crowd in ahead}
        taken = sum(running.values())
        left: dict[_Crowd, int] = {}
        for crowd, leased_ahead in ahead.items():
            own_or_free = max(places - (taken - running[crowd]), 1)
            left[crowd] = own_or_free - own_or_free // KEPT + leased_ahead - held[crowd]
        return left


def _crowd_of(route: Route) -> _Crowd:
    return _Crowd(route.queue, route.pipeline)
