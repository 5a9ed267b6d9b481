"""The four stand-ins, started once in a process of pytest: each test gets a world of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from collabiq.stand_ins.world import ServedWorld, StandInWorld

_idle: list[ServedWorld] = []


@contextmanager
def served_world(world: StandInWorld) -> Iterator[ServedWorld]:
    """Serve a world; servers that a test has closed, or has hang, serve no other."""
    served = _idle.pop() if _idle else ServedWorld().__enter__()
    served.begin(world)
    yield served
    servings = served.servings.values()
    if any(serving.is_closed or serving.hanging.is_set() for serving in servings):
        served.__exit__()
    else:
        _idle.append(served)


def close_idle() -> None:
    """End the servers, once no test follows."""
    while _idle:
        _idle.pop().__exit__()
