"""Where claims look for due jobs, and from where on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from holdfast.core.job import Job, priorities_from
from holdfast.core.plan import Route
from holdfast.store.postgres.rows import plain_array, text_array

HEADS_FROM: Final = 5
"""Claims of fewer jobs than this always look from the start."""
REWIND_S: Final = 0.5
"""How long, at most, a job that became due behind a head may be passed over."""


class _Head(NamedTuple):
    run_at: int
    job_id: str


_START: Final = _Head(-1, "00000000-0000-0000-0000-000000000000")


class Lanes:
    """Remembers how far each lane was claimed.

    A claimed job leaves a dead entry in the index until the next vacuum, so a worker that drains
    a long queue would read more of them with every claim. It goes on from its head instead, and
    rewinds twice a second, or as soon as a claim comes back short.
    """

    def __init__(self) -> None:
        self._heads: dict[tuple[Route, int], _Head] = {}
        self._rewound_s = 0.0

    def values(self, routes: Sequence[Route], *, limit: int, first: int) -> dict[str, Any]:
        """Return the lanes of a claim: those of priority `first`, then the most urgent."""
        if limit < HEADS_FROM or time.monotonic() - self._rewound_s >= REWIND_S:
            self.rewind()
        lanes = [(route, priority) for priority in priorities_from(first) for route in routes]
        heads = [self._heads.get(lane, _START) for lane in lanes]
        return {
            "queues": text_array(route.queue for route, _ in lanes),
            "pipelines": text_array(route.pipeline for route, _ in lanes),
            "stages": text_array(route.stage for route, _ in lanes),
            "priorities": plain_array(priority for _, priority in lanes),
            "heads_at": plain_array(head.run_at for head in heads),
            "heads_id": plain_array(head.job_id for head in heads),
        }

    def has_heads(self) -> bool:
        """Tell whether the last claim may have passed over jobs behind its heads."""
        return bool(self._heads)

    def note(self, jobs: Sequence[Job]) -> None:
        """Move the heads to the last jobs claimed; `jobs` are in their order."""
        for job in jobs:
            lane = (Route(job.queue, job.pipeline, job.stage), job.priority)
            self._heads[lane] = _Head(job.run_at, job.id)

    def rewind(self) -> None:
        """Look from the start again."""
        self._heads.clear()
        self._rewound_s = time.monotonic()
