"""`holdfast dead`: list and groups; what is done about letters is in files of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import click

from holdfast.cli.dead_letters.files import export_letters, import_letters
from holdfast.cli.dead_letters.options import LetterChoice, letter_filter_options
from holdfast.cli.dead_letters.remark_table import print_with_remarks
from holdfast.cli.dead_letters.replay import replay_letters
from holdfast.cli.dead_letters.replays import list_replays
from holdfast.cli.dead_letters.resolve import resolve_letters
from holdfast.cli.dead_letters.show import show_letter
from holdfast.cli.dead_letters.steps import remediate_letters, triage_letters
from holdfast.cli.dead_letters.styles import standing_of
from holdfast.cli.jobs.job_table import NARROW
from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.output import Cell, Column, Output, Styled
from holdfast.cli.shell.paging import limit_option, tell_next_page
from holdfast.cli.shell.program import Command, Group
from holdfast.core.values.instant import Instant, to_rfc3339
from holdfast.store.tables.dead_letters import LetterGroup
from holdfast.views.dead_letter import LetterView, advice_of
from holdfast.views.durations import short

_PIPELINES_SHOWN: Final = 2
_CLASS: Final = Column("ERROR CLASS")
_ATTEMPTS: Final = Column("ATTEMPTS", numeric=True)
_LETTERS: Final = (
    Column("ID", least=36),
    Column("STANDING", least=10),
    _CLASS,
    Column("PIPELINE"),
    Column("STAGE"),
    _ATTEMPTS,
    Column("AGE", numeric=True),
    Column("", elastic=True),
)
_ESCALATED: Final = Column("ESCALATED", numeric=True)
_FIRST: Final = Column("FIRST", numeric=True)
_GROUPS: Final = (
    Column("FINGERPRINT", least=16),
    Column("LETTERS", numeric=True),
    _ESCALATED,
    Column("ERROR CLASS"),
    Column("PIPELINES"),
    Column("STAGE"),
    Column("WHOSE MOVE"),
    _FIRST,
    Column("LAST", numeric=True),
    Column("", elastic=True),
)


@click.group("dead", cls=Group)
def dead() -> None:
    """Work through dead letters: jobs that failed for good."""


@dead.command("list", cls=Command, example="holdfast dead list --pipeline digest --since 1d")
@letter_filter_options
@limit_option
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
    tell_next_page(output, page, limit=limit)


@dead.command("groups", cls=Command, example="holdfast dead groups")
@limit_option
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
        _print_groups(output, groups, now)
        output.remark(f"For its letters: holdfast dead list --group {groups[0].fingerprint}")
    else:
        output.remark("No dead letters wait for anybody.")


def _print_letters(output: Output, page: Sequence[LetterView]) -> None:
    """Print them; where there is little room the class stands with the message."""
    columns: Sequence[Column] = _LETTERS
    rows = [_letter_row(view) for view in page]
    if output.console.is_terminal and output.console.width < NARROW:
        for row, view in zip(rows, page, strict=True):
            row[-1] = f"{view.letter.error_class}: {_first_line(view.letter.message)}"
        for column in (_CLASS, _ATTEMPTS):
            columns, rows = _without(column, columns, rows)
    print_with_remarks(output, columns, rows)


def _print_groups(output: Output, groups: Sequence[LetterGroup], now: Instant) -> None:
    """Print them, with a column for escalations where there are any."""
    columns: Sequence[Column] = _GROUPS
    rows = [_group_row(group, now) for group in groups]
    if not any(group.escalated for group in groups):
        columns, rows = _without(_ESCALATED, columns, rows)
    if output.console.is_terminal and output.console.width < NARROW:
        columns, rows = _without(_FIRST, columns, rows)
    print_with_remarks(output, columns, rows)


def _without(
    column: Column, columns: Sequence[Column], rows: list[list[Cell]]
) -> tuple[Sequence[Column], list[list[Cell]]]:
    """Return a table without a column."""
    place = columns.index(column)
    left = [*columns[:place], *columns[place + 1 :]]
    return left, [[*row[:place], *row[place + 1 :]] for row in rows]


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
    advice = advice_of(group)
    return [
        group.fingerprint,
        group.letters,
        Styled(str(group.escalated), "bold red") if group.escalated else None,
        group.error_class,
        _names(group.pipelines),
        group.stage,
        advice.mover.value,
        short(now - group.first_failure_at),
        short(now - group.last_failure_at),
        f"{_first_line(group.message).rstrip('.')}. {advice.action}",
    ]


def _names(pipelines: Sequence[str]) -> str:
    """Return the first few names: a column must not push the others out."""
    more = len(pipelines) - _PIPELINES_SHOWN
    return ", ".join(pipelines[:_PIPELINES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _group_document(group: LetterGroup) -> dict[str, Any]:
    document = group._asdict()
    document["advice"] = advice_of(group).to_document()
    for name in ("first_failure_at", "last_failure_at"):
        document[name] = to_rfc3339(document[name])
    return document


def _first_line(message: str) -> str:
    return message.partition("\n")[0]


for _command in (
    show_letter,
    triage_letters,
    remediate_letters,
    replay_letters,
    resolve_letters,
    list_replays,
    export_letters,
    import_letters,
):
    dead.add_command(_command)
