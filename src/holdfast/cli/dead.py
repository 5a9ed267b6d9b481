"""`holdfast dead`: list and groups; what is done about letters is in files of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import click

from holdfast.cli.dead_files import export_letters, import_letters
from holdfast.cli.dead_replay import replay_letters
from holdfast.cli.dead_replays import list_replays
from holdfast.cli.dead_show import show_letter
from holdfast.cli.dead_steps import remediate_letter, resolve_letter, triage_letter
from holdfast.cli.invocation import Invocation, pass_invocation
from holdfast.cli.job_table import NARROW
from holdfast.cli.letter_options import LetterChoice, letter_filter_options
from holdfast.cli.letter_words import standing_of
from holdfast.cli.output import Cell, Column, Output, Styled
from holdfast.cli.program import Command, Group
from holdfast.cli.words import short
from holdfast.core.instant import Instant, to_rfc3339
from holdfast.dead_letters import LONGEST_PAGE
from holdfast.letter_view import LetterView
from holdfast.store.letters import LetterGroup

PAGE: Final = 50
_LETTERS: Final = (
    Column("ID", least=36),
    Column("STANDING", least=10),
    Column("ERROR CLASS"),
    Column("PIPELINE"),
    Column("STAGE"),
    Column("ATTEMPTS", numeric=True),
    Column("AGE", numeric=True),
    Column("", elastic=True),
)
_GROUPS: Final = (
    Column("FINGERPRINT", least=16),
    Column("LETTERS", numeric=True),
    Column("ESCALATED", numeric=True),
    Column("ERROR CLASS"),
    Column("PIPELINE"),
    Column("STAGE"),
    Column("FIRST", numeric=True),
    Column("LAST", numeric=True),
    Column("", elastic=True),
)


@click.group("dead", cls=Group)
def dead() -> None:
    """Work through dead letters: jobs that failed for good."""


@dead.command("list", cls=Command)
@letter_filter_options
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, LONGEST_PAGE),
    default=PAGE,
    show_default=True,
    help="At most this many.",
)
@click.option("--before", metavar="ID", help="Only jobs older than this one: the next page.")
@pass_invocation
def list_letters(
    invocation: Invocation, wanted: LetterChoice, limit: int, before: str | None
) -> None:
    """List dead letters, those of the newest jobs first."""
    engine, output = invocation.engine(), invocation.output
    page = engine.dead.find(wanted.at(engine.clock.now()), before=before, limit=limit)
    if output.as_json:
        for view in page:
            output.document(view.to_document())
        return
    if not page:
        output.remark(
            "No dead letters match." if wanted or before else "No dead letters wait for anybody."
        )
        return
    _print_letters(output, page)
    if len(page) == limit:
        output.remark(f"There may be more; for the next page add: --before {page[-1].id}")


@dead.command("groups", cls=Command)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, LONGEST_PAGE),
    default=PAGE,
    show_default=True,
    help="At most this many.",
)
@pass_invocation
def list_groups(invocation: Invocation, limit: int) -> None:
    """List the causes for which dead letters wait, the most frequent first.

    Letters have the same cause when they have the same error class, stage and way through the code.
    """
    engine, output = invocation.engine(), invocation.output
    groups = engine.dead.groups(limit=limit)
    now = engine.clock.now()
    if output.as_json:
        for group in groups:
            output.document(_group_document(group))
    elif groups:
        output.table(_GROUPS, (_group_row(group, now) for group in groups))
        output.remark(f"For its letters: holdfast dead list --group {groups[0].fingerprint}")
    else:
        output.remark("No dead letters wait for anybody.")


def _print_letters(output: Output, page: Sequence[LetterView]) -> None:
    console = output.console
    rows = [_letter_row(view) for view in page]
    if not console.is_terminal or console.width >= NARROW + 20:
        output.table(_LETTERS, rows)
        return
    heading, *lines = output.lines_of(output.table_of(_LETTERS[:-1], [row[:-1] for row in rows]))
    output.print_lines([heading])
    for view, line in zip(page, lines, strict=True):
        output.print_lines([line])
        message = _first_line(view.letter.message)
        output.words(Styled(f"  {message}"[: console.width - 1], "dim"))


def _letter_row(view: LetterView) -> list[Cell]:
    letter = view.letter
    return [
        view.id,
        standing_of(view),
        letter.error_class,
        letter.pipeline,
        letter.stage,
        letter.attempts,
        short(view.read_at - letter.last_failure_at),
        _first_line(letter.message),
    ]


def _group_row(group: LetterGroup, now: Instant) -> list[Cell]:
    return [
        group.fingerprint,
        group.letters,
        Styled(str(group.escalated), "bold red") if group.escalated else None,
        group.error_class,
        group.pipeline,
        group.stage,
        short(now - group.first_failure_at),
        short(now - group.last_failure_at),
        _first_line(group.message),
    ]


def _group_document(group: LetterGroup) -> dict[str, Any]:
    document = group._asdict()
    for name in ("first_failure_at", "last_failure_at"):
        document[name] = to_rfc3339(document[name])
    return document


def _first_line(message: str) -> str:
    return message.partition("\n")[0]


for _command in (
    show_letter,
    triage_letter,
    remediate_letter,
    replay_letters,
    resolve_letter,
    list_replays,
    export_letters,
    import_letters,
):
    dead.add_command(_command)
