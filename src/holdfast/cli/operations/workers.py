"""`holdfast workers`: who runs jobs."""

from __future__ import annotations

from typing import Any, Final

import click

from holdfast.cli.shell.invocation import Invocation, os_user, pass_invocation
from holdfast.cli.shell.options import by_option, text
from holdfast.cli.shell.output import Column, Styled
from holdfast.cli.shell.program import Command, Group
from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.store.contract import WorkerRow
from holdfast.views.durations import span
from holdfast.views.worker import queues_of, standing

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
    """Look at workers, and have them end."""


@workers.command("list", cls=Command, example="holdfast workers list")
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


@workers.command("drain", cls=Command, example="holdfast workers drain host-1-4f7a2c")
@click.argument("worker_id", type=text, metavar="WORKER")
@click.option("--reason", type=text, help="Why; kept in the audit log.")
@by_option
@pass_invocation
def drain_worker(
    invocation: Invocation, worker_id: str, reason: str | None, by: str | None
) -> None:
    """Have a worker take no more jobs, finish those it runs, and end.

    WORKER is its id, as the list shows it. It hears of it when it next reports itself.
    """
    engine = invocation.engine()
    worker = engine.drain_worker(worker_id, by=by or os_user(), reason=reason)
    if invocation.as_json:
        invocation.output.document(_document(worker, engine.clock.now()))
    else:
        invocation.output.line(f"Worker {worker.id} is told to finish what it runs and end.")


def _document(worker: WorkerRow, now: Instant) -> dict[str, Any]:
    return {
        **worker._asdict(),
        "started_at": to_rfc3339(worker.started_at),
        "seen_at": to_rfc3339(worker.seen_at),
        "queues": queues_of(worker),
        "drain_asked_at": (
            None if worker.drain_asked_at is None else to_rfc3339(worker.drain_asked_at)
        ),
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
