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
"""Of so many places that the others leave to a group, one is kept free for them."""
REST_US: Final = 50_000
"""How long a group without due jobs is not looked for while another keeps the lane busy."""

_Group = tuple[str, str]
"""Queue and pipeline: jobs that have both in common share their fate."""


class Share(NamedTuple):
    """What one claim may look for: the routes, and how many jobs in all."""

    routes: Sequence[Route]
    limit: int


def is_shared(routes: Sequence[Route], places: int) -> bool:
    """Return whether a lane has several groups, and places enough to keep some for each."""
    return places >= KEPT and len({_group_of(route) for route in routes}) > 1


class Shares:
    """Divides a lane among the groups whose jobs run in it.

    A group gets at most nine tenths of the places that the others leave, so that one whose
    handlers never end leaves a way for the others. What is leased ahead for a group follows its
    own pace: the jobs of a slow one would stand in the way of all that are leased after them.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self._paces = {_group_of(route): Pace() for route in routes}
        self._held: Counter[_Group] = Counter()
        self._started: Counter[_Group] = Counter()
        self._rests_until: dict[_Group, Instant] = {}

    def note_starts(self, jobs: Iterable[Job]) -> None:
        """Count jobs that were handed to the lane."""
        self._started.update((job.queue, job.pipeline) for job in jobs)

    def let_rest(self, shares: Iterable[Share], now: Instant) -> None:
        """Do not look for the groups of these shares for a while."""
        rests_until = later(now, REST_US)
        for share in shares:
            self._rests_until.update((_group_of(route), rests_until) for route in share.routes)

    def awake(self, routes: Sequence[Route], now: Instant) -> list[Route]:
        """Return the routes of groups that do not rest."""
        return [route for route in routes if self._rests_until.get(_group_of(route), now) <= now]

    def divide(
        self, routes: Sequence[Route], held: Iterable[Job], *, places: int, room: int, now: Instant
    ) -> list[Share]:
        """Return the claims to make for `room` more jobs.

        Routes that have their share are left out; groups that may have about as much as each other
        are looked for together.
        """
        left = self._left(Counter((job.queue, job.pipeline) for job in held), places, now)
        wanted: dict[_Group, list[Route]] = {}
        for route in routes:
            group = _group_of(route)
            if left[group] > 0:
                wanted.setdefault(group, []).append(route)
        most = min(max((left[group] for group in wanted), default=0), room)
        together = [group for group in wanted if 2 * left[group] >= most]
        shares = [Share(wanted[group], left[group]) for group in wanted if group not in together]
        if together:
            limit = min(room, *(left[group] for group in together))
            shares.append(Share([route for group in together for route in wanted[group]], limit))
        return shares

    def _left(self, held: Counter[_Group], places: int, now: Instant) -> Mapping[_Group, int]:
        """Return how many more jobs each group may have leased."""
        ahead: dict[_Group, int] = {}
        for group, pace in self._paces.items():
            pace.note(max(self._held[group] + self._started.pop(group, 0) - held[group], 0))
            ahead[group] = pace.prefetch(now)
        self._held = held
        running = {group: max(held[group] - ahead[group], 0) for group in ahead}
        taken = sum(running.values())
        left: dict[_Group, int] = {}
        for group, leased_ahead in ahead.items():
            own_or_free = max(places - (taken - running[group]), 1)
            left[group] = own_or_free - own_or_free // KEPT + leased_ahead - held[group]
        return left


def _group_of(route: Route) -> _Group:
    return route.queue, route.pipeline
