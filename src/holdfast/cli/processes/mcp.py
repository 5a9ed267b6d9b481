"""`holdfast mcp`."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

import click

from holdfast.cli.processes.serving import give_options, log_options
from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.options import text
from holdfast.cli.shell.program import Command
from holdfast.core.values.role import Role
from holdfast.errors import UsageError


@click.command("mcp", cls=Command, example="holdfast mcp -A shop:app --role operator --by ada")
@click.option(
    "--role",
    type=click.Choice([Role.READER.value, Role.OPERATOR.value]),
    default=Role.READER.value,
    help="What the assistant may do: look, or act as well.",
)
@click.option("--by", type=text, metavar="NAME", help="For whom an operator acts.")
@log_options
@pass_invocation
def mcp(invocation: Invocation, /, *, role: str, by: str | None, **options: str | None) -> None:
    """Let an assistant look after jobs by the Model Context Protocol, on stdin and stdout.

    It looks as operators do, with secrets hidden. With --role operator it retries, cancels,
    replays and pauses as well, each time after a confirming second call. It ends when its client
    closes stdin.
    """
    give_options(invocation, options)
    # What an app prints as it is loaded must not stand between the messages.
    with redirect_stdout(sys.stderr):
        engine = invocation.engine()
    try:
        from holdfast.mcp import create_server  # noqa: PLC0415 - an extra brings it
    except ModuleNotFoundError as error:
        raise UsageError("assistants take an extra: pip install 'holdfast[mcp]'") from error
    create_server(engine, role=Role(role), by=by).run("stdio")
