"""`holdfast queues`: how they stand, and pausing them."""

from __future__ import annotations

from typing import Any, Final

import click

from holdfast.cli.invocation import Invocation, os_user, pass_invocation
from holdfast.cli.options import by_option, text
from holdfast.cli.output import Column, Styled
from holdfast.cli.program import Command, Group
from holdfast.core.instant import Instant, to_rfc3339
from holdfast.spoken import span
from holdfast.store.contract import QueueCounts

_COLUMNS: Final = (
    Column("QUEUE"),
    Column("STATE"),
    Column("DUE", numeric=True),
    Column("SCHEDULED", numeric=True),
    Column("PROCESSING", numeric=True),
    Column("WAITING", numeric=True),
    Column("OLDEST DUE", numeric=True),
    Column("", elastic=True),
)


_reason: Final = click.option("--reason", type=text, help="Why; kept in the record.")


@click.group("queues", cls=Group)
def queues() -> None:
    """Look at queues, pause and resume them."""


@queues.command("list", cls=Command, example="holdfast queues list")
@pass_invocation
def list_queues(invocation: Invocation) -> None:
    """List every queue that has active jobs or is paused."""
    engine, output = invocation.engine(), invocation.output
    found = engine.queues()
    now = engine.clock.now()
    if output.as_json:
        for counts in found:
            output.document(_document(counts))
    elif found:
        output.table(_COLUMNS, (_row(counts, now) for counts in found))
    else:
        output.remark("No queue has active jobs, and none is paused.")


@queues.command(
    "pause", cls=Command, example='holdfast queues pause mail --reason "maintenance until noon"'
)
@click.argument("queue", type=text)
@_reason
@by_option
@pass_invocation
def pause_queue(invocation: Invocation, queue: str, reason: str | None, by: str | None) -> None:
    """Keep workers from taking jobs of a queue; attempts under way go on."""
    changed = invocation.engine().pause_queue(queue, by=by or os_user(), reason=reason)
    _tell(invocation, queue, paused=True, changed=changed)


@queues.command("resume", cls=Command, example="holdfast queues resume mail")
@click.argument("queue", type=text)
@_reason
@by_option
@pass_invocation
def resume_queue(invocation: Invocation, queue: str, reason: str | None, by: str | None) -> None:
    """Let workers take jobs of a queue again."""
    changed = invocation.engine().resume_queue(queue, by=by or os_user(), reason=reason)
    _tell(invocation, queue, paused=False, changed=changed)


def _tell(invocation: Invocation, queue: str, *, paused: bool, changed: bool) -> None:
    if invocation.as_json:
        invocation.output.document({"queue": queue, "paused": paused, "changed": changed})
        return
    word = "paused" if paused else "running"
    invocation.output.line(f"Queue {queue} is {word}{'' if changed else ', as it was'}.")


def _document(counts: QueueCounts) -> dict[str, Any]:
    document = counts._asdict()
    for name in ("paused_at", "oldest_due_at"):
        document[name] = None if document[name] is None else to_rfc3339(document[name])
    return document


def _row(counts: QueueCounts, now: Instant) -> list[Any]:
    paused = counts.paused_at is not None
    oldest = counts.oldest_due_at
    return [
        counts.queue,
        Styled("paused", "yellow") if paused else "running",
        counts.due,
        counts.scheduled,
        counts.processing,
        counts.waiting,
        "" if oldest is None else span(now - oldest),
        f"by {counts.paused_by}, {span(now - (counts.paused_at or now))} ago" if paused else "",
    ]
