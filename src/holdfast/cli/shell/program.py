"""The shape of all commands: common options, errors as one line, documented exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import click

from holdfast.cli.shell.complaint import complain, show_traceback
from holdfast.cli.shell.exit_codes import ExitCode, code_of
from holdfast.cli.shell.invocation import Invocation
from holdfast.config.settings import DEFAULT_DATABASE_URL

PROGRAM: Final = "holdfast"
_COMMON: Final = "common_"
_HELP: Final = ("-h", "--help")
_LONGEST_SUMMARY: Final = 1_000


def _keep(name: str, option: str) -> Any:  # noqa: ANN401 - the callback of an option
    def keep(context: click.Context, _parameter: click.Parameter, value: object) -> None:
        context.find_root().ensure_object(Invocation).give(name, option, value)

    return keep


def _keep_json(context: click.Context, _parameter: click.Parameter, value: object) -> None:
    if value:
        context.find_root().ensure_object(Invocation).as_json = True


def common_options() -> list[click.Parameter]:
    """Return the options that every command takes, before its name and after it."""
    return [
        click.Option(
            ["-A", "--app", f"{_COMMON}app"],
            metavar="MODULE:APP",
            expose_value=False,
            callback=_keep("app", "--app"),
            help="Where your Holdfast is, or what makes it. [env: HOLDFAST_APP]",
        ),
        click.Option(
            ["--database-url", f"{_COMMON}database_url"],
            metavar="URL",
            expose_value=False,
            callback=_keep("database_url", "--database-url"),
            help="The database, for commands that need no pipelines. "
            f"[env: HOLDFAST_DATABASE_URL; default: {DEFAULT_DATABASE_URL}]",
        ),
        click.Option(
            ["--json", f"{_COMMON}json"],
            is_flag=True,
            expose_value=False,
            callback=_keep_json,
            help="Print JSON: one object, or one a line.",
        ),
    ]


class _WithCommonOptions(click.Command):
    """A command that takes the common options too, and lists them below its own."""

    def __init__(
        self,
        name: str | None,
        *,
        params: list[click.Parameter] | None = None,
        example: str = "",
        **attributes: Any,  # noqa: ANN401 - click's own
    ) -> None:
        super().__init__(name, params=[*(params or []), *common_options()], **attributes)
        self.example = example

    def get_help_option_names(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        """Return the same names in every context: click keeps the option that it makes first."""
        return list(_HELP)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in two sections."""
        own: list[tuple[str, str]] = []
        common: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                is_common = (parameter.name or "").startswith(_COMMON)
                (common if is_common else own).append(record)
        for title, records in (("Options", own), ("Options of every command", common)):
            with formatter.section(title):
                formatter.write_dl(records)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write an example, to be copied, and whatever else is said at the end."""
        if self.example:
            formatter.write_paragraph()
            formatter.write(f"Example:\n  {self.example}\n")
        super().format_epilog(ctx, formatter)


class Command(_WithCommonOptions):
    """A command."""


_FORMERLY: Final = {"herald": "dispatch"}
"""What commands were called before, and are found by still."""


class Group(_WithCommonOptions, click.Group):
    """Commands about one noun, listed as they were added: what is used most comes first."""

    command_class = Command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help when nothing is asked for; that is no success."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(ExitCode.USAGE)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write every command with its whole summary, over several lines where it is long."""
        records = [
            (name, command.get_short_help_str(limit=_LONGEST_SUMMARY))
            for name in self.list_commands(ctx)
            if (command := self.get_command(ctx, name)) is not None and not command.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(records)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, also by the name that it had before."""
        return super().get_command(ctx, cmd_name) or super().get_command(
            ctx, _FORMERLY.get(cmd_name, cmd_name)
        )

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own
        """Return the names of the commands."""
        return list(self.commands)


class Program(Group):
    """The root: turns errors into lines on stderr and into exit codes."""

    group_class = Group

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,  # noqa: ARG002 - it is called by one name everywhere
        complete_var: str | None = None,
        **extra: Any,  # noqa: ANN401 - click's own
    ) -> NoReturn:
        """Run a command and leave the process with its exit code."""
        arguments = list(sys.argv[1:] if args is None else args)
        extra.pop("standalone_mode", None)
        try:
            status = super().main(arguments, PROGRAM, complete_var, standalone_mode=False, **extra)
        except click.exceptions.Abort:
            sys.exit(ExitCode.INTERRUPTED)
        except click.ClickException as error:
            complain(error, exit_code=ExitCode.USAGE, as_json="--json" in arguments)
            sys.exit(ExitCode.USAGE)
        except Exception as error:
            if _was_interrupted(error):
                sys.exit(ExitCode.INTERRUPTED)
            if os.environ.get("HOLDFAST_DEBUG"):
                sys.excepthook = show_traceback
                raise
            code = code_of(error)
            complain(error, exit_code=code, as_json="--json" in arguments)
            sys.exit(code)
        sys.exit(status if isinstance(status, int) else ExitCode.OK)


def _was_interrupted(error: BaseException) -> bool:
    """Return whether `error` came from cleaning up after Ctrl-C.

    An interrupt can hit the very line that gives a lock back, and what is closed then complains.
    """
    cause = error.__context__
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__context__
    return cause is not None
