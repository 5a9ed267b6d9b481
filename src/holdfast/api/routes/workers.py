"""`/api/workers`: who runs jobs, and sending them home."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path

from holdfast.api.access import OperatorOfAll, ReaderOfAll, guarded_router
from holdfast.api.models.values.acting import NO_REASON, Reasoned
from holdfast.api.models.values.texts import Plain
from holdfast.api.models.workers import Worker, Workers
from holdfast.api.serving import Engine

ROUTER: Final = guarded_router("workers")

WorkerName = Annotated[Plain, Path(description="The id of the worker.")]


@ROUTER.get("")
def list_workers(_who: ReaderOfAll, engine: Engine) -> Workers:
    """List the workers on record, the latest seen first."""
    now = engine.clock.now()
    return Workers(items=[Worker.of(row, now) for row in engine.workers()])


@ROUTER.post("/{worker_id}/drain")
def drain_worker(
    worker_id: WorkerName, who: OperatorOfAll, engine: Engine, said: Reasoned = NO_REASON
) -> Worker:
    """Have a worker take no more jobs, finish those it runs, and end."""
    row = engine.drain_worker(worker_id, by=who.name, reason=said.reason)
    return Worker.of(row, engine.clock.now())
