"""How much of a lane one pipeline may take, so that a slow one cannot stop the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from holdfast.core.job.job import Job
from holdfast.core.job.plan import Route
from holdfast.core.values.instant import Instant, later
from holdfast.runtime.worker.pace import Pace

KEPT: Final = 10
"""Of so many places that the others leave to a crowd, one is kept free for them."""
REST_US: Final = 50_000
"""How long a crowd without due jobs is not looked for while another keeps the lane busy."""

_Crowd = tuple[str, str]
"""Queue and pipeline: jobs that have both in common share their fate."""


class Share(NamedTuple):
    """What one claim may look for: the routes, and how many jobs in all."""

    routes: Sequence[Route]
    limit: int


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
        self._rests_until: dict[_Crowd, Instant] = {}

    def note_starts(self, jobs: Iterable[Job]) -> None:
        """Count jobs that were handed to the lane."""
        self._started.update((job.queue, job.pipeline) for job in jobs)

    def let_rest(self, shares: Iterable[Share], now: Instant) -> None:
        """Do not look for the crowds of these shares for a while."""
        rests_until = later(now, REST_US)
        for share in shares:
            self._rests_until.update((_crowd_of(route), rests_until) for route in share.routes)

    def awake(self, routes: Sequence[Route], now: Instant) -> list[Route]:
        """Return the routes of crowds that do not rest."""
        return [route for route in routes if self._rests_until.get(_crowd_of(route), now) <= now]

    def divide(
        self, routes: Sequence[Route], held: Iterable[Job], *, places: int, room: int, now: Instant
    ) -> list[Share]:
        """Return the claims to make for `room` more jobs.

        Routes that have their share are left out; crowds that may have about as much as each other
        are looked for together.
        """
        left = self._left(Counter((job.queue, job.pipeline) for job in held), places, now)
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

    def _left(self, held: Counter[_Crowd], places: int, now: Instant) -> Mapping[_Crowd, int]:
        """Return how many more jobs each crowd may have leased."""
        ahead: dict[_Crowd, int] = {}
        for crowd, pace in self._paces.items():
            pace.note(max(self._held[crowd] + self._started.pop(crowd, 0) - held[crowd], 0))
            ahead[crowd] = pace.prefetch(now)
        self._held = held
        running = {crowd: max(held[crowd] - ahead[crowd], 0) for crowd in ahead}
        taken = sum(running.values())
        left: dict[_Crowd, int] = {}
        for crowd, leased_ahead in ahead.items():
            own_or_free = max(places - (taken - running[crowd]), 1)
            left[crowd] = own_or_free - own_or_free // KEPT + leased_ahead - held[crowd]
        return left


def _crowd_of(route: Route) -> _Crowd:
    return route.queue, route.pipeline
