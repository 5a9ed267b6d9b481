"""`holdfast config`: what is set, and where."""

from __future__ import annotations

import click

from holdfast.cli.invocation import Invocation, pass_invocation
from holdfast.cli.output import Cell, Column
from holdfast.cli.program import Command, Group
from holdfast.setting_values import duration_text


@click.group("config", cls=Group)
def config() -> None:
    """Look at the settings."""


@config.command("show", cls=Command)
@click.option("--origin", "with_origin", is_flag=True, help="Say where each value comes from.")
@pass_invocation
def show_config(invocation: Invocation, *, with_origin: bool) -> None:
    """Print the settings in effect here; passwords are masked.

    A flag wins over the environment, that over holdfast.toml (or [tool.holdfast] of
    pyproject.toml), and that over the default.
    """
    output = invocation.output
    shown = list(invocation.settings.shown())
    if output.as_json:
        output.document(
            {
                name: {"value": value, "origin": origin._asdict()} if with_origin else value
                for name, value, origin in shown
            }
        )
        return
    columns = [Column("SETTING"), Column("VALUE", elastic=not with_origin)]
    if with_origin:
        columns.append(Column("FROM", elastic=True))
    rows: list[list[Cell]] = []
    for name, value, origin in shown:
        row: list[Cell] = [name, _words(value)]
        rows.append([*row, str(origin)] if with_origin else row)
    output.table(columns, rows)


def _words(value: object) -> str:
    match value:
        case None | []:
            return "-"
        case list():
            return ", ".join(map(str, value))
        case float():
            return duration_text(value)
        case _:
            return str(value)
