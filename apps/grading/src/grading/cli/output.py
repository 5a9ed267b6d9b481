"""What commands print: data on stdout, remarks on stderr, one JSON document with `--json`."""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple, NoReturn, TypeVar

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grading.failures import GradingFailure
from grading.refusals import Conflict, NotYours, Refused, WrongState
from holdfast.errors import (
    ConflictError,
    GiveUp,
    HoldfastError,
    UnavailableError,
    UnknownJob,
    UnknownLetter,
    UsageError,
)

_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_WORD_START: Final = re.compile("(?<=.)(?=[A-Z])")
_UNBOUNDED: Final = 10_000
"""A width at which nothing is cut: what is piped is for programs."""
_F = TypeVar("_F", bound=Callable[..., Any])


class ExitCode(IntEnum):
    """The codes of `holdfast`, with the same meanings."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    UNREACHABLE = 5
    ATTENTION = 6


def json_option(command: _F) -> _F:
    """Add `--json`, passed as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)


def safe(text: object) -> str:
    """Return text without anything that a terminal would obey; lines stay lines."""
    return _CONTROL.sub("�", str(text))


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


def exit_with(code: ExitCode, message: str | None = None) -> NoReturn:
    """End the command, with a line on stderr that says why."""
    if message is not None:
        remark(message, style=None if code is ExitCode.OK else "red")
    sys.exit(int(code))


def reports_errors(command: _F) -> _F:
    """End a command that raises one of our errors with its code and one line, never a stack."""

    @functools.wraps(command)
    def run(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the command has it
        try:
            return command(*args, **options)
        except (Refused, GradingFailure, GiveUp, HoldfastError) as error:
            complaint = _complaint_of(error)
            if options.get("as_json"):
                click.echo(json.dumps({"error": complaint.document()}), err=True)
                sys.exit(complaint.exit_code)
            exit_with(complaint.exit_code, complaint.line())

    return run  # type: ignore[return-value]


class _Complaint(NamedTuple):
    exit_code: ExitCode
    code: str
    message: str
    says_code: bool = True

    def line(self) -> str:
        return f"{self.code}: {self.message}" if self.says_code else self.message

    def document(self) -> dict[str, Any]:
        """Return it as `holdfast --json` does."""
        return {"code": self.code, "message": self.message, "exit_code": int(self.exit_code)}


def _complaint_of(error: Exception) -> _Complaint:
    match error:
        case NotYours():
            return _Complaint(ExitCode.NOT_FOUND, error.code, "there is nothing with this id")
        case Refused():
            return _Complaint(_code_of_refusal(error), error.code, error.message)
        case GradingFailure():
            return _Complaint(ExitCode.FAILED, error.reason.value, error.message)
        case GiveUp():
            return _Complaint(ExitCode.REFUSED, error.error_class, str(error))
        case HoldfastError():
            name = _WORD_START.sub("_", type(error).__name__).lower()
            return _Complaint(_code_of_error(error), name, str(error), says_code=False)
    raise error


def _code_of_refusal(refused: Refused) -> ExitCode:
    return ExitCode.REFUSED if isinstance(refused, Conflict | WrongState) else ExitCode.USAGE


def _code_of_error(error: HoldfastError) -> ExitCode:
    match error:
        case UnknownJob() | UnknownLetter():
            return ExitCode.NOT_FOUND
        case UsageError():
            return ExitCode.USAGE
        case ConflictError():
            return ExitCode.REFUSED
        case UnavailableError():
            return ExitCode.UNREACHABLE
        case _:
            return ExitCode.FAILED
