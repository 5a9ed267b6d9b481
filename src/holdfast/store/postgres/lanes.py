"""Where claims look for due jobs, and from where on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from holdfast.core.job.job import MAX_URGENT, PRIORITIES, Job, priorities_from
from holdfast.core.job.plan import Route
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.store.postgres.rows import plain_array, text_array

HEADS_FROM: Final = 5
"""Claims of fewer jobs than this always look from the start."""
REWIND_S: Final = 0.5
"""How long a job that became due behind a head may be passed over."""
DEAR_S: Final = 0.02
"""A look from the start that takes longer is dear: many entries are dead, and stay so while
an open transaction keeps vacuum away."""
REST: Final = 20
"""A dear look is followed by so many times the time it took before there is another."""
LAG_US: Final = 5 * SECOND_US
"""How long before it can be seen a job may have become due: its transaction took so long."""


class _Head(NamedTuple):
    run_at: int
    job_id: str


_START: Final = _Head(-1, "00000000-0000-0000-0000-000000000000")


class Lanes:
    """Remembers how far each lane was claimed.

    A claimed job leaves a dead entry in the index until the next vacuum, so a worker that drains
    a long queue would read more of them with every claim. It goes on from its head instead, and
    rewinds twice a second; a route does so as soon as a claim of it comes back short. Where looking
    from the start is dear, and `spares` says so, every claim goes on from its head, and rewinds are
    rarer the more they cost.
    """

    def __init__(self, *, spares: bool) -> None:
        self._spares = spares
        self._heads: dict[Route, dict[int, _Head]] = {}
        self._rewound_s = 0.0
        self._rewind_s = REWIND_S
        self.dear = False

    def values(self, routes: Sequence[Route], *, limit: int, first: int) -> dict[str, Any]:
        """Return the lanes of a claim: those of priority `first`, then the most urgent."""
        if time.monotonic() - self._rewound_s >= self._rewind_s:
            self._heads.clear()
            self._rewound_s = time.monotonic()
        elif limit < HEADS_FROM and not self.dear:
            self.rewind(routes)
        return self.arrays(routes, first=first)

    def arrays(self, routes: Sequence[Route], *, first: int = MAX_URGENT) -> dict[str, Any]:
        """Return lanes and their heads, as they are."""
        lanes = [(route, priority) for priority in priorities_from(first) for route in routes]
        heads = [self._heads.get(route, {}).get(priority, _START) for route, priority in lanes]
        return {
            "queues": text_array(route.queue for route, _ in lanes),
            "pipelines": text_array(route.pipeline for route, _ in lanes),
            "stages": text_array(route.stage for route, _ in lanes),
            "priorities": plain_array(priority for _, priority in lanes),
            "heads_at": plain_array(head.run_at for head in heads),
            "heads_id": plain_array(head.job_id for head in heads),
        }

    def has_heads(self, routes: Sequence[Route]) -> bool:
        """Return whether a claim of these routes may pass over jobs behind their heads."""
        return any(route in self._heads for route in routes)

    def looked_from_start(self, took_s: float) -> None:
        """Learn what it costs to look from the start."""
        self.dear = self._spares and took_s > DEAR_S
        self._rewind_s = max(REWIND_S, REST * took_s) if self.dear else REWIND_S

    def note(self, jobs: Sequence[Job]) -> None:
        """Move the heads to the last jobs claimed; `jobs` are in their order."""
        last = {(job.queue, job.pipeline, job.stage, job.priority): job for job in jobs}
        for (queue, pipeline, stage, priority), job in last.items():
            heads = self._heads.setdefault(Route(queue, pipeline, stage), {})
            heads[priority] = _Head(job.run_at, job.id)

    def note_exhausted(self, routes: Sequence[Route], now: Instant) -> None:
        """Move the heads behind what was not taken; jobs that come late are seen."""
        behind = _Head(now - LAG_US, _START.job_id)
        for route in routes:
            self._heads[route] = dict.fromkeys(PRIORITIES, behind)

    def rewind(self, routes: Sequence[Route]) -> None:
        """Look for the jobs of these routes from the start again."""
        for route in routes:
            self._heads.pop(route, None)
