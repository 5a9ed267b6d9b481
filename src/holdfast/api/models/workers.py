"""Workers as the API tells them."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel

from holdfast.api.models.values.moment import Moment, told
from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.store.contract import WorkerRow
from holdfast.views.worker import queues_of, standing


class WorkerState(StrEnum):
    """How a worker stands."""

    RUNNING = "running"
    DRAINING = "draining"
    STOPPED = "stopped"
    SILENT = "silent"
    """It ended without a word."""


class Worker(BaseModel):
    """A worker process as it last reported itself."""

    id: str
    host: str
    pid: int
    started_at: Moment
    seen_at: Moment
    queues: list[str]
    concurrency: int
    state: WorkerState
    drain_asked_at: Moment | None
    """When its end was requested."""

    @classmethod
    def of(cls, worker: WorkerRow, now: Instant) -> Worker:
        """Return a worker as the API shows it."""
        return cls(
            id=worker.id,
            host=worker.host,
            pid=worker.pid,
            started_at=to_rfc3339(worker.started_at),
            seen_at=to_rfc3339(worker.seen_at),
            queues=queues_of(worker),
            concurrency=worker.concurrency,
            state=WorkerState(standing(worker, now)),
            drain_asked_at=told(worker.drain_asked_at),
        )


class Workers(BaseModel):
    """The workers on record, the latest seen first."""

    items: list[Worker]
