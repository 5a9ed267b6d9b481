"""Moves the clock of a test to the next instant at which something happens by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from holdfast.core.delivery.delivery import DeliveryState
from holdfast.core.job.job import ACTIVE, Job, JobState
from holdfast.core.upstream.upstream import UpstreamState
from holdfast.core.values.instant import FAR_FUTURE, Instant
from holdfast.engine.app import Holdfast
from holdfast.runtime.kernel.stage import BoundStage
from holdfast.store.contract import JobFilter
from holdfast.store.tables.deliveries import DeliveryFilter
from holdfast.testing.clock import ManualClock
from holdfast.views.delivery import DeliveryView

_PAGE: Final = 1_000


def jump(
    app: Holdfast, upstreams: Mapping[str, UpstreamState], asks: Mapping[str, Instant]
) -> bool:
    """Move the clock to the next instant at which something happens, if there is one.

    `asks` is when upstreams with a rate may have room for another call.
    """
    clock = app.clock
    if not isinstance(clock, ManualClock):
        return False
    now = clock.now()
    coming = [turn for turn in _turns(app, upstreams, asks) if now < turn < FAR_FUTURE]
    if not coming:
        return False
    clock.set(min(coming))
    return True


def stages_of(app: Holdfast) -> list[BoundStage]:
    """Return every stage of every pipeline of the app."""
    return [stage for pipeline in app.pipelines.values() for stage in pipeline.bound().stages]


def _turns(
    app: Holdfast, upstreams: Mapping[str, UpstreamState], asks: Mapping[str, Instant]
) -> Iterable[Instant]:
    """Yield the instants at which time alone changes what happens."""
    stages = {(stage.pipeline, stage.name): stage for stage in stages_of(app)}
    paused = {counts.queue for counts in app.queues() if counts.paused_at is not None}
    awaited: set[str] = set()
    for job in _active(app):
        stage = stages.get((job.pipeline, job.stage))
        runs = stage is not None and job.queue not in paused
        yield from _turns_of_job(job, runs=runs)
        if runs and stage is not None and stage.upstream is not None:
            awaited.add(stage.upstream.name)
    for view in _open_deliveries(app):
        yield view.delivery.run_at
        awaited.update(each.upstream.name for each in app.dispatch.providers if each.upstream)
    for name in awaited:
        yield from _turns_of_upstream(upstreams[name])
        if name in asks:
            yield asks[name]


def _turns_of_job(job: Job, *, runs: bool) -> Iterable[Instant]:
    if job.state is JobState.WAITING or runs:
        yield job.run_at
    if job.deadline_at is not None:
        yield Instant(job.deadline_at + 1)
    if job.lease_until is not None:
        yield Instant(job.lease_until + 1)


def _turns_of_upstream(state: UpstreamState) -> Iterable[Instant]:
    if state.open_until is not None:
        yield state.open_until
    if state.paused_until is not None:
        yield state.paused_until
    for permit in state.permits:
        yield Instant(permit.until + 1)


def _active(app: Holdfast) -> Iterable[Job]:
    before: str | None = None
    wanted = JobFilter(states=tuple(ACTIVE))
    while page := app.jobs(wanted, before=before, limit=_PAGE):
        yield from (view.job for view in page)
        before = page[-1].id


def _open_deliveries(app: Holdfast) -> Iterable[DeliveryView]:
    if not len(app.dispatch.providers):
        return
    before: str | None = None
    wanted = DeliveryFilter(states=(DeliveryState.INTENT, DeliveryState.SENDING))
    while page := app.deliveries.find(wanted, before=before, limit=_PAGE):
        yield from page
        before = page[-1].id
