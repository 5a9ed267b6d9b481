"""Queues as the API tells them."""

from __future__ import annotations

from pydantic import BaseModel

from holdfast.api.models.values.moment import Moment, told
from holdfast.store.contract import QueueCounts


class Queue(BaseModel):
    """How a queue stands. Ended jobs are not counted."""

    queue: str
    paused_at: Moment | None
    paused_by: str | None
    due: int
    scheduled: int
    processing: int
    waiting: int
    oldest_due_at: Moment | None
    paused_reason: str | None
    expired: int
    """Jobs whose lease has ended: nobody runs them, and a running worker will take them over."""

    @classmethod
    def of(cls, counts: QueueCounts) -> Queue:
        """Return a queue as the API shows it."""
        facts = counts._asdict()
        facts.update(paused_at=told(counts.paused_at), oldest_due_at=told(counts.oldest_due_at))
        return cls(**facts)


class Queues(BaseModel):
    """Every queue that has active jobs, is paused, declared or served, by name."""

    items: list[Queue]


class QueueStanding(BaseModel):
    """Whether a queue is paused, and whether that is new."""

    queue: str
    paused: bool
    changed: bool
    known: bool
    """Whether the queue has jobs, is declared by a pipeline, or is served by a live worker; else
    the name may be mistyped."""
