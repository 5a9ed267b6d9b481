"""`holdfast purge`: what workers remove by themselves, removed now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click

from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.program import Command
from holdfast.cli.shell.progress import Progress
from holdfast.config.values import FOR_EVER
from holdfast.core.values.instant import SECOND_US
from holdfast.core.values.retention import Retention
from holdfast.errors import UsageError
from holdfast.store.tables.retention import Batch
from holdfast.views.durations import span

_NOUNS: Final = {
    "jobs": ("job", "jobs"),
    "letters": ("dead letter", "dead letters"),
    "deliveries": ("delivery", "deliveries"),
    "replays": ("replay", "replays"),
    "messages": ("message", "messages"),
    "inbox": ("note of a message", "notes of messages"),
    "figures": ("figure", "figures"),
    "keys": ("key", "keys"),
    "audit": ("entry of the audit record", "entries of the audit record"),
    "plans": ("plan", "plans"),
}


@click.command("purge", cls=Command, example="holdfast purge --dry-run")
@click.option("--dry-run", is_flag=True, help="Only count what would go.")
@pass_invocation
def purge(invocation: Invocation, *, dry_run: bool) -> None:
    """Remove what has been kept long enough, as workers do by themselves.

    How long that is the app says, or the settings keep_complete, keep_cancelled, keep_failed,
    keep_audit, keep_replays, keep_deliveries, keep_messages, keep_inbox, keep_figures and
    keep_keys. Jobs whose dead letter is not resolved are never removed, nor is what is still to be
    sent or published.
    """
    output, settings = invocation.output, invocation.settings
    by_url = settings.app is None or "database_url" in invocation.flags
    if by_url and not settings.keeps():
        raise UsageError(
            "a database does not say how long its jobs are wanted: name the app with -A, "
            "or set keep_complete and its like, for example HOLDFAST_KEEP_COMPLETE=7d"
        )
    engine = invocation.engine()
    output.remark(f"Kept: {_policy(engine.retention)}.")
    title = "Counting" if dry_run else "Removing"
    with Progress(output, title, total=None) as progress:

        def told(batch: Batch) -> None:
            progress.advance(sum(batch.removed.values()))

        removed = engine.purge(dry_run=dry_run, told=told)
    if output.as_json:
        counts = {name: removed.get(name, 0) for name in _NOUNS}
        output.document({"removed": counts, "dry_run": dry_run})
    elif dry_run:
        output.line(f"{_told(removed)} would go.")
    else:
        output.line(f"{_told(removed)} removed.")


def _policy(retention: Retention) -> str:
    return ", ".join(
        f"{name} {FOR_EVER if kept is None else span(int(kept * SECOND_US))}"
        for name, kept in (
            ("complete", retention.complete),
            ("cancelled", retention.cancelled),
            ("failed", retention.failed),
            ("audit", retention.audit),
            ("replays", retention.replays),
            ("deliveries", retention.deliveries),
            ("messages", retention.messages),
            ("inbox", retention.inbox),
            ("figures", retention.figures),
            ("keys", retention.keys),
        )
    )


def _told(removed: Mapping[str, int]) -> str:
    parts = [
        f"{removed[name]} {one if removed[name] == 1 else many}"
        for name, (one, many) in _NOUNS.items()
        if removed.get(name)
    ]
    return ", ".join(parts) or "Nothing"
