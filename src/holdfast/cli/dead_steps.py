"""`holdfast dead triage`, `remediate` and `resolve`: the steps of working through a letter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from holdfast.cli.invocation import Invocation, os_user, pass_invocation
from holdfast.cli.letter_words import situation
from holdfast.cli.options import text
from holdfast.cli.program import Command
from holdfast.core.dead_letter import Cause
from holdfast.letter_view import LetterView

_R = TypeVar("_R")


def by_option(command: Callable[..., _R]) -> Callable[..., _R]:
    """Give a command the option that says who asks."""
    option = click.option("--by", type=text, help="Who asks; the user of this system by default.")
    return option(command)


@click.command("triage", cls=Command)
@click.argument("letter_id", metavar="ID")
@click.option(
    "--cause",
    type=click.Choice([cause.value for cause in Cause]),
    required=True,
    help="What kind of trouble it is, which says what the remedy is.",
)
@click.option("--note", help="What was found out.")
@by_option
@pass_invocation
def triage_letter(
    invocation: Invocation, letter_id: str, cause: str, note: str | None, by: str | None
) -> None:
    """Say what kind of cause a dead letter has: the first step.

    Triage once more to correct it; evidence of an earlier remedy then no longer counts.
    """
    view = invocation.engine().dead.triage(letter_id, cause=cause, by=by or os_user(), note=note)
    tell(invocation, view)


@click.command("remediate", cls=Command)
@click.argument("letter_id", metavar="ID")
@click.option("--evidence", required=True, help="How it is known: a ticket, a deploy, a probe.")
@by_option
@pass_invocation
def remediate_letter(invocation: Invocation, letter_id: str, evidence: str, by: str | None) -> None:
    """Say that the cause of a triaged dead letter is gone, and how that is known."""
    view = invocation.engine().dead.remediate(letter_id, evidence=evidence, by=by or os_user())
    tell(invocation, view)


@click.command("resolve", cls=Command)
@click.argument("letter_id", metavar="ID")
@click.option("--note", required=True, help="How it ended.")
@click.option(
    "--unreplayed", is_flag=True, help="Close it although its job never completed: dismiss it."
)
@by_option
@pass_invocation
def resolve_letter(
    invocation: Invocation, letter_id: str, note: str, by: str | None, *, unreplayed: bool
) -> None:
    """Close a dead letter whose replayed job is complete.

    Without a replay it is closed only with --unreplayed, and the record says that it was dismissed.
    """
    view = invocation.engine().dead.resolve(
        letter_id, note=note, by=by or os_user(), unreplayed=unreplayed
    )
    tell(invocation, view)


def tell(invocation: Invocation, view: LetterView) -> None:
    """Print how a letter stands after a step, and what comes next."""
    if invocation.as_json:
        invocation.output.document(view.to_document())
        return
    invocation.output.line(f"{view.id}  {view.standing.value}")
    invocation.output.remark(situation(view)[-1])
