"""What commands print: data on stdout, remarks on stderr, one JSON document with `--json`."""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import Any, Final, NoReturn, TypeVar

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

_CONTROL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
)
_UNBOUNDED: Final = 10_000
"""A width at which nothing is cut: what is piped is for programs."""
_F = TypeVar("_F", bound=Callable[..., Any])


class ExitCode(IntEnum):
    """How a command ends."""

    OK = 0
    ERROR = 1
    CONFIGURATION = 2
    API = 3
    VALIDATION = 4


class CommandFailed(Exception):
    """A command ends with a code and one line that says why."""

    def __init__(self, code: ExitCode, message: str) -> None:
        self.code = code
        super().__init__(message)


def json_option(command: _F) -> _F:
    """Add `--json`, passed as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)


def safe(text: object) -> str:
    """Return text without anything that a terminal would obey; lines stay lines."""
    return _CONTROL.sub("\ufffd", str(text))


def document(value: object) -> None:
    """Print a JSON document on one line."""
    click.echo(json.dumps(value, ensure_ascii=True, default=str))


def line(text: str = "", *, style: str | None = None) -> None:
    """Print a line of data."""
    Console(soft_wrap=True, highlight=False).print(Text(safe(text), style=style or ""))


def remark(text: str, *, style: str | None = None) -> None:
    """Print a line beside the data."""
    Console(stderr=True, soft_wrap=True, highlight=False).print(Text(safe(text), style=style or ""))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under headings."""
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        drawn.add_column(column, no_wrap=True, overflow="ellipsis")
    for row in rows:
        drawn.add_row(*(Text("" if cell is None else safe(cell)) for cell in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=_UNBOUNDED)
    console.print(drawn)


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """Print names and values, one pair a line; what has no value is left out."""
    for name, value in pairs:
        if value not in {None, ""}:
            line(f"{name}: {value}")


def exit_with(code: ExitCode, message: str | None = None) -> NoReturn:
    """End the command, with a line on stderr that says why."""
    if message is not None:
        remark(message, style=None if code is ExitCode.OK else "red")
    sys.exit(int(code))


def reports_errors(command: _F) -> _F:
    """End a command that raises one of our errors with its code and one line, never a stack.

    With `--json` the line is a document on stdout as well: `{"error": {"code", "message"}}`.
    """
    from collabiq.cli.failures import failure_of  # noqa: PLC0415 - the SDKs take time to import

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the command has it
        try:
            return command(*args, **options)
        except Exception as error:
            failed = failure_of(error)
            if failed is None:
                raise
            if options.get("as_json"):
                document({"error": {"code": int(failed.code), "message": safe(failed)}})
            exit_with(failed.code, str(failed))

    return run  # type: ignore[return-value]
