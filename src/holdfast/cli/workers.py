"""`holdfast workers`: who runs jobs."""

from __future__ import annotations

from typing import Any, Final

import click

from holdfast.cli.invocation import Invocation, pass_invocation
from holdfast.cli.liveness import queues_of, standing
from holdfast.cli.output import Column, Styled
from holdfast.cli.program import Command, Group
from holdfast.cli.words import span
from holdfast.core.instant import Instant, to_rfc3339
from holdfast.store.contract import WorkerRow

_STYLES: Final = {"running": "green", "draining": "yellow", "stopped": "dim", "silent": "red"}
_COLUMNS: Final = (
    Column("WORKER"),
    Column("STATE"),
    Column("CONCURRENCY", numeric=True),
    Column("UP", numeric=True),
    Column("SEEN", numeric=True),
    Column("QUEUES", elastic=True),
)


@click.group("workers", cls=Group)
def workers() -> None:
    """Look at workers."""


@workers.command("list", cls=Command)
@pass_invocation
def list_workers(invocation: Invocation) -> None:
    """List the workers of the last day; one that is silent ended without a word."""
    engine, output = invocation.engine(), invocation.output
    found = engine.workers()
    now = engine.clock.now()
    if output.as_json:
        for worker in found:
            output.document(_document(worker, now))
    elif found:
        output.table(_COLUMNS, (_row(worker, now) for worker in found))
    else:
        output.remark("No worker is on record; start one with: holdfast -A module:app worker")


def _document(worker: WorkerRow, now: Instant) -> dict[str, Any]:
    return {
        **worker._asdict(),
        "started_at": to_rfc3339(worker.started_at),
        "seen_at": to_rfc3339(worker.seen_at),
        "queues": queues_of(worker),
        "state": standing(worker, now),
    }


def _row(worker: WorkerRow, now: Instant) -> list[Any]:
    state = standing(worker, now)
    return [
        worker.id,
        Styled(state, _STYLES.get(state, "")),
        worker.concurrency,
        span(worker.seen_at - worker.started_at),
        f"{span(now - worker.seen_at)} ago",
        ", ".join(queues_of(worker)),
    ]
