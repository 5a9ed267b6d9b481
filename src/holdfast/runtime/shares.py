"""How much of a lane one pipeline may take, so that a slow one cannot stop the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from holdfast.core.job import Job
from holdfast.core.plan import Route

KEPT: Final = 10
"""Of so many places that the others leave to a crowd, one is kept free for them."""


class Share(NamedTuple):
    """What a claim may look for: the routes, and how many jobs in all."""

    routes: Sequence[Route]
    limit: int


class _Crowd(NamedTuple):
    """Jobs that share their fate: of one queue and one pipeline."""

    queue: str
    pipeline: str


def is_shared(routes: Sequence[Route], places: int) -> bool:
    """Tell whether a lane has several crowds, and places enough to keep some for each."""
    if places < KEPT or not routes:
        return False
    first = _crowd_of(routes[0])
    return any(_crowd_of(route) != first for route in routes)


def shared(routes: Sequence[Route], running: Iterable[Job], *, places: int, room: int) -> Share:
    """Return the routes that may have more of a lane's places, and how many at once.

    A crowd gets at most nine tenths of the places that the others leave, so that one whose
    handlers never end leaves a way for the others. The limit is so low that no claim can give a
    crowd more than that, whatever it finds.
    """
    held = Counter(_Crowd(job.queue, job.pipeline) for job in running)
    taken = held.total()
    left: dict[_Crowd, int] = {}
    for crowd in {_crowd_of(route) for route in routes}:
        own_or_free = places - (taken - held[crowd])
        left[crowd] = own_or_free - own_or_free // KEPT - held[crowd]
    routes = [route for route in routes if left[_crowd_of(route)] > 0]
    return Share(routes, min([room, *(count for count in left.values() if count > 0)]))


def _crowd_of(route: Route) -> _Crowd:
    return _Crowd(route.queue, route.pipeline)
