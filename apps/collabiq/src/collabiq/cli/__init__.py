"""`collabiq`: run it, look at mails and failures, and try its parts from a terminal."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import click

_EPILOG: Final = (
    "Exit codes: 0 done, 1 failed, 2 configuration, 3 an API failed, 4 the input is no good."
)
_COMMANDS: Final = {
    "run": ("collabiq.cli.commands.run", "run"),
    "email": ("collabiq.cli.commands.email", "email"),
    "status": ("collabiq.cli.commands.status", "status"),
    "report": ("collabiq.cli.commands.report", "report"),
    "notion": ("collabiq.cli.commands.notion", "notion"),
    "errors": ("collabiq.cli.commands.errors", "errors"),
    "config": ("collabiq.cli.commands.config", "config"),
    "gmail": ("collabiq.cli.commands.gmail", "gmail"),
    "llm": ("collabiq.cli.commands.llm", "llm"),
    "stand-ins": ("collabiq.cli.commands.stand_ins", "stand_ins"),
}
"""In the order of the help: the module of each, and its name there."""


class _Lazily(click.Group):
    """Commands that are imported when they are used: the SDKs of the others take seconds."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own
        """Return the names of the commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command, or None where there is none of that name."""
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name]
        found: Any = getattr(import_module(module), name)
        command: click.Command = found
        return command


@click.group(cls=_Lazily, epilog=_EPILOG)
@click.version_option(package_name="holdfast-collabiq", prog_name="collabiq")
def main() -> None:
    """Turn mails about collaborations into rows of Notion, each once.

    Mails are kept in DATABASE_URL, and what failed in DATA_DIR as well. Every command takes
    --json and prints one document then.
    """
