"""Whether a worker on record still lives."""

from __future__ import annotations

import json
from typing import Final

from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.store.contract import WorkerRow

SILENT_AFTER_US: Final = 60 * SECOND_US
"""A worker reports itself with every renewal of its leases, much more often than this."""


def standing(worker: WorkerRow, now: Instant) -> str:
    """Return `running`, `draining`, `stopped`, or `silent` for one that ended without a word."""
    if worker.state != "stopped" and now - worker.seen_at > SILENT_AFTER_US:
        return "silent"
    if worker.state == "running" and worker.drain_asked_at is not None:
        return "draining"
    return worker.state


def serves(worker: WorkerRow, queue: str, now: Instant) -> bool:
    """Return whether the worker takes jobs from that queue now."""
    return standing(worker, now) == "running" and queue in queues_of(worker)


def knows(worker: WorkerRow, pipeline: str, stage: str) -> bool:
    """Return whether the worker may run that stage, as far as it says which it runs."""
    return worker.stages is None or f"{pipeline}/{stage}" in json.loads(worker.stages)


def queues_of(worker: WorkerRow) -> list[str]:
    """Return the queues the worker named."""
    names: list[str] = json.loads(worker.queues)
    return names
