"""`holdfast queues`: how they stand, and pausing them."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Final

import click

from holdfast.cli.shell.invocation import Invocation, os_user, pass_invocation
from holdfast.cli.shell.options import by_option, text
from holdfast.cli.shell.output import Column, Styled
from holdfast.cli.shell.program import Command, Group
from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.store.contract import QueueCounts
from holdfast.views.durations import span

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


_reason: Final = click.option("--reason", type=text, help="Why; kept in the audit log.")


@click.group("queues", cls=Group)
def queues() -> None:
    """Look at queues, pause and resume them."""


@queues.command("list", cls=Command, example="holdfast queues list")
@pass_invocation
def list_queues(invocation: Invocation) -> None:
    """List every queue that has active jobs, is paused, declared or served."""
    engine, output = invocation.engine(), invocation.output
    found = engine.queues()
    now = engine.clock.now()
    if output.as_json:
        for counts in found:
            output.document(_document(counts))
    elif found:
        output.table(_COLUMNS, (_row(counts, now) for counts in found))
    else:
        output.remark("There is no queue: none has jobs, is paused, declared or served.")


@queues.command(
    "pause", cls=Command, example='holdfast queues pause mail --reason "maintenance until noon"'
)
@click.argument("queue", type=text)
@_reason
@by_option
@pass_invocation
def pause_queue(invocation: Invocation, queue: str, reason: str | None, by: str | None) -> None:
    """Keep workers from taking jobs of a queue; attempts under way go on."""
    engine = invocation.engine()
    known = engine.knows_queue(queue)
    changed = engine.pause_queue(queue, by=by or os_user(), reason=reason)
    _tell(invocation, queue, paused=True, changed=changed, known=known)
    if not known and not invocation.as_json:
        _warn_of_unknown(invocation, queue)


@queues.command("resume", cls=Command, example="holdfast queues resume mail")
@click.argument("queue", type=text)
@_reason
@by_option
@pass_invocation
def resume_queue(invocation: Invocation, queue: str, reason: str | None, by: str | None) -> None:
    """Let workers take jobs of a queue again."""
    engine = invocation.engine()
    changed = engine.resume_queue(queue, by=by or os_user(), reason=reason)
    _tell(invocation, queue, paused=False, changed=changed, known=engine.knows_queue(queue))


def _warn_of_unknown(invocation: Invocation, queue: str) -> None:
    """Say that a name may be mistyped, and which one was probably meant."""
    others = [each.queue for each in invocation.engine().queues() if each.queue != queue]
    likely = get_close_matches(queue, others, n=1)
    meant = f" Did you mean {likely[0]}?" if likely else ""
    invocation.output.remark(
        f"Warning: no queue {queue} is known: it has no jobs, no pipeline declares it and no "
        f"worker serves it.{meant} To take it back: holdfast queues resume {queue}"
    )


def _tell(invocation: Invocation, queue: str, *, paused: bool, changed: bool, known: bool) -> None:
    if invocation.as_json:
        standing = {"queue": queue, "paused": paused, "changed": changed, "known": known}
        invocation.output.document(standing)
        return
    word = "paused" if paused else "running"
    invocation.output.line(f"Queue {queue} is {word}{'' if changed else ', as it was'}.")


def _document(counts: QueueCounts) -> dict[str, Any]:
    document = counts._asdict()
    for name in ("paused_at", "oldest_due_at"):
        document[name] = None if document[name] is None else to_rfc3339(document[name])
    return document


def _abandoned(count: int) -> str:
    if not count:
        return ""
    if count == 1:
        return "1 lease has ended; nobody runs it"
    return f"{count} leases have ended; nobody runs these"


def _row(counts: QueueCounts, now: Instant) -> list[Any]:
    paused = counts.paused_at is not None
    oldest = counts.oldest_due_at
    why = f": {counts.paused_reason}" if counts.paused_reason else ""
    return [
        counts.queue,
        Styled("paused", "yellow") if paused else "running",
        counts.due,
        counts.scheduled,
        counts.processing,
        counts.waiting,
        "" if oldest is None else span(now - oldest),
        f"by {counts.paused_by}, {span(now - (counts.paused_at or now))} ago{why}"
        if paused
        else _abandoned(counts.expired),
    ]
