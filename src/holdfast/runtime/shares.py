"""How much of a lane one pipeline may take, so that a slow one cannot stop the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from holdfast.core.job import Job
from holdfast.core.plan import Route

KEPT: Final = 10
"""Of so many places that the others leave to a crowd, one is kept free for them."""


class Crowd(NamedTuple):
    """Jobs that share their fate: of one queue and one pipeline."""

    queue: str
    pipeline: str


class Share(NamedTuple):
    """What a claim may look for: the routes, and how many jobs in all."""

    routes: Sequence[Route]
    limit: int


class Shares:
    """Divides a lane among the crowds that a worker knows."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self.routes = routes
        self._crowds = {Crowd(route.queue, route.pipeline) for route in routes}

    def needed(self, places: int) -> bool:
        """Whether there is anybody to keep places for, and enough places to do so."""
        return len(self._crowds) > 1 and places >= KEPT

    def share(self, running: Iterable[Job], *, places: int, room: int) -> Share:
        """Return the routes that may have more of a lane's places, and how many at once.

        A crowd gets at most nine tenths of the places that the others leave, so that one whose
        handlers never end leaves a way for the others. The limit is so low that no claim can
        give a crowd more than that, whatever it finds.
        """
        held = Counter(Crowd(job.queue, job.pipeline) for job in running)
        taken = held.total()
        left: dict[Crowd, int] = {}
        for crowd in self._crowds:
            own_or_free = places - (taken - held[crowd])
            left[crowd] = own_or_free - own_or_free // KEPT - held[crowd]
        routes = [route for route in self.routes if left[Crowd(route.queue, route.pipeline)] > 0]
        return Share(routes, min([room, *(count for count in left.values() if count > 0)]))
