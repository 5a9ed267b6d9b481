"""`holdfast erase`: all that is kept of one owner, removed on request."""

from __future__ import annotations

from typing import Final

import click

from holdfast.cli.processes.up import assembled_here, runs_app
from holdfast.cli.shell.exit_codes import ExitCode
from holdfast.cli.shell.invocation import (
    Invocation,
    os_user,
    pass_invocation,
    refuse_missing_file,
)
from holdfast.cli.shell.options import by_option, text
from holdfast.cli.shell.output import Output
from holdfast.cli.shell.program import Command
from holdfast.cli.shell.progress import Progress
from holdfast.engine.erasure import Erasure

_WORDS: Final = {
    "letters": "dead letters",
    "ledger": "entries of histories",
    "delivery_attempts": "entries of delivery logs",
    "keys": "kept keys",
    "audit": "entries of the audit record, without reason and detail from then on",
}


@click.command("erase", cls=Command, example="holdfast erase --owner customer-17")
@click.option("--owner", type=text, required=True, help="Whose data.")
@click.option("--cancel", is_flag=True, help="End what has not ended, and drop what is unsent.")
@click.option("--reason", help="Why; kept in the audit log.")
@by_option
@click.option("-y", "--yes", is_flag=True, help="Do it; without this it is only counted.")
@pass_invocation
def erase(
    invocation: Invocation,
    *,
    owner: str,
    cancel: bool,
    reason: str | None,
    by: str | None,
    yes: bool,
) -> int:
    """Erase a customer: jobs, dead letters, deliveries, messages, keys and files of an owner.

    Counts first, and does it with --yes. The receipt, a JSON document with the counts, the times
    and a hash, goes to stdout and into the audit record, which keeps who did what but not why.

    Refuses while jobs of the owner have not ended or something is still to be sent, unless
    --cancel says to end it. Broken off, it is run again.

    Without -A it asks every installed system for its files: run it with the variables, and in the
    folder, of holdfast up.
    """
    output = invocation.output
    if not runs_app(invocation):
        refuse_missing_file(invocation.settings.database_url)
    engine, _built = assembled_here(invocation)
    who = by or os_user()
    preview = engine.erase(owner, by=who, dry_run=True)
    if not yes:
        _show(output, preview, cancel=cancel)
        return ExitCode.OK
    with Progress(output, "Erasing", total=preview.rows.get("jobs", 0)) as progress:
        receipt = engine.erase(owner, by=who, reason=reason, cancel=cancel, told=progress.advance)
    output.document(receipt.to_document())
    return ExitCode.OK


def _show(output: Output, preview: Erasure, *, cancel: bool) -> None:
    if output.as_json:
        output.document(preview.to_document())
        return
    if not preview.rows and not preview.files:
        output.line("Nothing is kept of this owner.")
        return
    output.line("Would go:")
    for name, count in {**preview.rows, **preview.files}.items():
        output.line(f"  {count:>8}  {_WORDS.get(name, name.replace('_', ' '))}")
    if (preview.unended or preview.unsent) and not cancel:
        output.line(
            f"{preview.unended} jobs have not ended and {preview.unsent} deliveries or messages "
            "are still to be sent: let them end, or add --cancel."
        )
    output.line("Nothing was erased. Add --yes to do it.")
