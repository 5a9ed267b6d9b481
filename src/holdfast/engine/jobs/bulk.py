"""One event for many jobs, in parts: bounded locks, and it can go on where it stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from holdfast.core.job.event import Event
from holdfast.core.job.job import Job, JobState
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import Instant
from holdfast.errors import RetryNotAllowed, RetryRefused
from holdfast.runtime.events.settle import Settler
from holdfast.store.contract import JobFilter, Store

_NEEDS_PIPELINE: Final = (
    "the code of its pipeline {} says what is published with every decision, and is not known to "
    "this process; do it where the pipeline runs"
)


class Chunk(NamedTuple):
    """A part of a bulk action: the jobs that matched, those it changed, and where to go on."""

    matched: int
    changed: int
    before: JobId | None
    """What to pass as `before` for the next part; None after the last."""
    refused: Mapping[str, int] = MappingProxyType({})
    """How many were left alone because their pipeline says so, by the reason."""


def settle_chunk(
    store: Store,
    settler: Settler,
    wanted: JobFilter,
    event: Event,
    *,
    states: frozenset[JobState],
    obstacle: Callable[[Job], RetryRefused | RetryNotAllowed | None],
    before: JobId | None,
    limit: int,
    now: Instant,
) -> Chunk:
    """Settle `event` for up to `limit` matching jobs in `states`, newest first.

    Jobs that moved on meanwhile and are still in `states` are settled one by one; those that have
    an `obstacle` stay as they are.
    """
    chosen = tuple(state for state in wanted.states or JobState if state in states)
    if not chosen:
        return Chunk(0, 0, None)
    page = store.find(wanted._replace(states=chosen), before=before, limit=limit)
    refused: Counter[str] = Counter()
    allowed: list[Job] = []
    for job in page:
        found = obstacle(job)
        if found is not None:
            refused[found.reason] += 1
        elif settler.lacks(job):
            refused[_NEEDS_PIPELINE.format(repr(job.pipeline))] += 1
        else:
            allowed.append(job)
    changed = settler.settle_many(((job, event) for job in allowed), now=now)
    if changed < len(allowed):
        seen = {job.id: job.revision for job in allowed}
        for job in store.get(seen).values():
            if job.state in states and job.revision != seen[job.id]:
                settled = settler.settle(job.id, lambda _: event, now=now)
                changed += settled.ignored is None
    return Chunk(len(page), changed, page[-1].id if len(page) == limit else None, refused)
