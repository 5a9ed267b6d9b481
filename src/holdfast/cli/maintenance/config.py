"""`holdfast config`: what is set, and where."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.output import Cell, Column
from holdfast.cli.shell.program import Command, Group
from holdfast.config.values import duration_text
from holdfast.systems import find
from holdfast.systems.knobs import Read, knobs, read_by


@click.group("config", cls=Group)
def config() -> None:
    """Look at the settings."""


@config.command("show", cls=Command, example="holdfast config show --origin")
@click.option("--origin", "with_origin", is_flag=True, help="Say where each value comes from.")
@pass_invocation
def show_config(invocation: Invocation, *, with_origin: bool) -> None:
    """Print the settings in effect here; passwords are masked.

    A flag wins over the environment, that over holdfast.toml (or [tool.holdfast] of
    pyproject.toml), and that over the default.

    Below them stands what each system of holdfast up reads from the environment, and from which
    variable: one with the system's name before it (CONVERTER_RETRY_MAX_ATTEMPTS) wins for that
    system, the plain one counts for every system.
    """
    output = invocation.output
    shown = list(invocation.settings.shown())
    read = read_here(invocation)
    if output.as_json:
        output.document(
            {
                **{
                    name: {"value": value, "origin": origin._asdict()} if with_origin else value
                    for name, value, origin in shown
                },
                "variables": _by_system(invocation, read),
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
    if read:
        output.line()
        output.table(
            [Column("SYSTEM"), Column("VARIABLE"), Column("VALUE"), Column("FROM", elastic=True)],
            [
                [knob.system, knob.name, _words(knob.value), str(knob.origin)]
                for knob in knobs(read, secret_variables=invocation.settings.secret_variables)
            ],
        )


def read_here(invocation: Invocation) -> list[Read]:
    """Return what the systems read that `holdfast up` would run here."""
    settings = invocation.settings
    return [] if settings.app else read_by(find(settings.systems or None), os.environ)


def _by_system(invocation: Invocation, read: Sequence[Read]) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {system.name: {} for system, _ in read}
    for knob in knobs(read, secret_variables=invocation.settings.secret_variables):
        found[knob.system][knob.name] = {"value": knob.value, "origin": knob.origin._asdict()}
    return found


def _words(value: object) -> str:
    match value:
        case None | [] | "":
            return "-"
        case list():
            return ", ".join(map(str, value))
        case float():
            return duration_text(value)
        case _:
            return str(value)
