"""`holdfast dead triage` and `remediate`: the first steps of working through letters."""

from __future__ import annotations

from collections.abc import Sequence

import click

from holdfast.cli.dead_letters.named_letters import each_letter
from holdfast.cli.shell.invocation import Invocation, os_user, pass_invocation
from holdfast.cli.shell.options import by_option
from holdfast.cli.shell.program import Command
from holdfast.core.dead_letter.dead_letter import Cause


@click.command(
    "triage",
    cls=Command,
    example="holdfast dead triage 0190f5a2-6c1e-7d3a-9b52-3f0e5a1c7d48 --cause transient",
)
@click.argument("letter_ids", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--cause",
    type=click.Choice([cause.value for cause in Cause]),
    required=True,
    help="What kind of trouble it is, which says what the remedy is.",
)
@click.option("--note", help="What was found out.")
@by_option
@pass_invocation
def triage_letters(
    invocation: Invocation,
    letter_ids: Sequence[str],
    cause: str,
    note: str | None,
    by: str | None,
) -> int:
    """Say what kind of cause dead letters have: the first step.

    Triage once more to correct it; evidence of an earlier remedy then no longer counts. For a
    whole group: holdfast dead replay --group … --cause … --evidence …
    """
    dead, who = invocation.engine().dead, by or os_user()
    return each_letter(
        invocation.output,
        letter_ids,
        lambda letter_id: dead.triage(letter_id, cause=cause, by=who, note=note),
    )


@click.command(
    "remediate",
    cls=Command,
    example='holdfast dead remediate 0190f5a2-6c1e-7d3a-9b52-3f0e5a1c7d48 --evidence "deploy 42"',
)
@click.argument("letter_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--evidence", required=True, help="How it is known: a ticket, a deploy, a probe.")
@by_option
@pass_invocation
def remediate_letters(
    invocation: Invocation, letter_ids: Sequence[str], evidence: str, by: str | None
) -> int:
    """Say that the cause of triaged dead letters is gone, and how that is known."""
    dead, who = invocation.engine().dead, by or os_user()
    return each_letter(
        invocation.output,
        letter_ids,
        lambda letter_id: dead.remediate(letter_id, evidence=evidence, by=who),
    )
