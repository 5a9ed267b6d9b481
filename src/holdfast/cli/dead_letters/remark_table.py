"""A table whose last column is a remark that may be long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from holdfast.cli.shell.output import Cell, Column, Output, Styled

ROOM_FOR_REMARKS: Final = 120
"""Below this width a remark goes below its line."""


def print_with_remarks(
    output: Output, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]
) -> None:
    """Print rows under headings; where a terminal has little room, remarks below their lines."""
    console = output.console
    if not console.is_terminal or console.width >= ROOM_FOR_REMARKS:
        output.table(columns, rows)
        return
    heading, *lines = output.lines_of(output.table_of(columns[:-1], [row[:-1] for row in rows]))
    output.print_lines([heading])
    for row, line in zip(rows, lines, strict=True):
        output.print_lines([line])
        output.words(Styled(f"  {row[-1]}"[: console.width - 1], "dim"))
