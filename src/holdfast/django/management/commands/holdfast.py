"""`manage.py holdfast …`: the command line of holdfast, with the tasks of this project."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

from django.core.management.base import BaseCommand

from holdfast.cli.main import program
from holdfast.cli.shell.complaint import complain
from holdfast.cli.shell.exit_codes import code_of
from holdfast.django.applications import served_queues
from holdfast.errors import HoldfastError

_APP: Final = "holdfast.django:application"


class Command(BaseCommand):  # type: ignore[misc]
    """Hands everything over: arguments, output and exit codes are those of `holdfast`."""

    help = "Runs a command of holdfast's on the jobs of this project: worker, jobs, dead, migrate …"
    requires_system_checks: Final[Sequence[str]] = ()

    def run_from_argv(self, argv: list[str]) -> None:
        """Leave options to holdfast, which Django would take for its own."""
        self.handle(arguments=argv[2:])

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Take whatever `call_command` is given."""
        parser.add_argument("arguments", nargs=argparse.REMAINDER)

    def handle(self, *_: object, arguments: Sequence[str], **__: Any) -> None:  # noqa: ANN401
        """Run a command, and leave the process with its exit code."""
        if "HOLDFAST_APP" not in os.environ:
            try:
                queues = served_queues()
            except HoldfastError as error:
                code = code_of(error)
                complain(error, exit_code=code, as_json="--json" in arguments)
                sys.exit(code)
            os.environ["HOLDFAST_APP"] = _APP
            os.environ.setdefault("HOLDFAST_QUEUES", ",".join(queues))
        program.main(list(arguments))
