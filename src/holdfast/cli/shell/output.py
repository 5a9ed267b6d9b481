"""What commands print: data to stdout, remarks to stderr, JSON where it was asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from holdfast.redaction.printable import json_text, visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_UNBOUNDED: Final = 100_000
"""A width at which nothing is cut: what is piped is not for the eye."""


class Styled(NamedTuple):
    """A cell with a style of its own."""

    text: str
    style: str


class Column(NamedTuple):
    """A column of a table; an elastic one gives way when the terminal is narrow."""

    name: str
    elastic: bool = False
    numeric: bool = False
    least: int = 0


Cell = str | int | Styled | None


class Output:
    """Where a command's words go."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    @cached_property
    def console(self) -> Console:
        """The terminal or pipe behind stdout."""
        return _console(sys.stdout)

    @cached_property
    def error_console(self) -> Console:
        """The terminal or pipe behind stderr, for progress."""
        return _console(sys.stderr)

    @property
    def live(self) -> bool:
        """Whether a person watches stdout, and not a program."""
        return not self.as_json and self.console.is_terminal

    def document(self, document: object) -> None:
        """Print one line of JSON."""
        click.echo(json_text(document))

    def line(self, text: str = "", *, style: str | None = None) -> None:
        """Print a line of data."""
        if style is None:
            click.echo(visible(text))
        else:
            self.render(_text(Styled(text, style)))

    def remark(self, text: str) -> None:
        """Tell a person something beside the data; programs are spared."""
        if not self.as_json:
            click.echo(visible(text), err=True)

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> None:
        """Print rows under headings."""
        self.render(self.table_of(columns, rows))

    def table_of(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> RenderableType:
        """Return rows under headings, without lines between them."""
        from rich.table import Table  # noqa: PLC0415 - only when something is drawn

        on_terminal = self.console.is_terminal
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for column in columns:
            table.add_column(
                column.name,
                no_wrap=True,
                overflow="ellipsis",
                justify="right" if column.numeric else "left",
                min_width=column.least or None,
                ratio=1 if column.elastic and on_terminal else None,
            )
        table.expand = on_terminal and any(column.elastic for column in columns)
        for row in rows:
            table.add_row(*map(_text, row))
        return table

    def facts(self, pairs: Iterable[tuple[str, Cell]]) -> None:
        """Print names and values, the values below one another."""
        kept = [(name, value) for name, value in pairs if value is not None]
        width = max((len(name) for name, _ in kept), default=0)
        for name, value in kept:
            self.words(f"  {name:<{width}}  ", value)

    def words(self, *cells: Cell) -> None:
        """Print a line made of cells, each in its own style."""
        self.render(_text("").join(map(_text, cells)))

    def heading(self, text: str) -> None:
        """Print the heading of a section."""
        click.echo()
        self.render(_text(Styled(text, "bold")))

    def render(self, renderable: RenderableType) -> None:
        """Print something of rich's."""
        self.print_lines(self.lines_of(renderable))

    def lines_of(self, renderable: RenderableType) -> list[str]:
        """Return something of rich's as lines, without blanks at their ends."""
        with self.console.capture() as capture:
            self.console.print(renderable, soft_wrap=not self.console.is_terminal)
        return [line.rstrip() for line in capture.get().splitlines()]

    @staticmethod
    def print_lines(lines: Iterable[str]) -> None:
        """Print lines that are styled and safe already."""
        for line in lines:
            click.echo(line, color=True)


def _console(file: Any) -> Console:  # noqa: ANN401 - any text stream
    from rich.console import Console  # noqa: PLC0415 - only when something is drawn

    console = Console(file=file, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _UNBOUNDED
    return console


def _text(cell: Cell) -> Any:  # noqa: ANN401 - rich.text.Text, imported late
    from rich.text import Text  # noqa: PLC0415 - only when something is drawn

    if isinstance(cell, Styled):
        return Text(visible(cell.text), style=cell.style)
    return Text("" if cell is None else visible(str(cell)))
