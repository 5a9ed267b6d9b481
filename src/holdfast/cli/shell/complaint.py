"""How a command says that it failed: a line for people, or an object for programs, on stderr."""

from __future__ import annotations

import re
import traceback
from types import TracebackType
from typing import Any, Final

import click

from holdfast.cli.shell.exit_codes import ExitCode
from holdfast.cli.shell.next_commands import sentence_of
from holdfast.errors import HoldfastError
from holdfast.redaction.printable import json_text, visible
from holdfast.secrecy import redacted, redacted_value

_WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def complain(error: BaseException, *, exit_code: ExitCode, as_json: bool) -> None:
    """Write the error to stderr in one or two lines."""
    if as_json:
        click.echo(json_text({"error": redacted_value(document_of(error, exit_code))}), err=True)
        return
    click.echo(f"Error: {visible(redacted(_sentence(error)))}", err=True)
    if isinstance(error, click.UsageError) and error.ctx is not None:
        click.echo(f"Try '{error.ctx.command_path} --help' for help.", err=True)


def show_traceback(
    kind: type[BaseException], error: BaseException, way: TracebackType | None
) -> None:
    """Write the whole way to the error to stderr, without its secrets."""
    lines = redacted("".join(traceback.format_exception(kind, error, way))).splitlines()
    click.echo("\n".join(map(visible, lines)), err=True)


def document_of(error: BaseException, exit_code: ExitCode) -> dict[str, Any]:
    """Return the error as JSON values: a stable code, the sentence and its facts."""
    if isinstance(error, click.ClickException):
        return {"code": "usage", "message": _sentence(error), "exit_code": int(exit_code)}
    document: dict[str, Any] = {
        "code": _WORD_START.sub("_", type(error).__name__).lower(),
        "message": _sentence(error),
        "exit_code": int(exit_code),
    }
    if isinstance(error, HoldfastError):
        document |= {name: fact for name, fact in vars(error).items() if name not in document}
    return document


def _sentence(error: BaseException) -> str:
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, HoldfastError):
        return sentence_of(error)
    return (
        f"{type(error).__name__}: {error} (unexpected; run it again with HOLDFAST_DEBUG=1 "
        "to see where)"
    )
