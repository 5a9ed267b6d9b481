"""`holdfast`: the root of all commands."""

from __future__ import annotations

from typing import Final

import click

from holdfast.cli.dead_letters.dead import dead
from holdfast.cli.jobs.jobs import jobs
from holdfast.cli.jobs.submit import submit
from holdfast.cli.maintenance.config import config
from holdfast.cli.maintenance.doctor import doctor
from holdfast.cli.maintenance.erase import erase
from holdfast.cli.maintenance.export import export
from holdfast.cli.maintenance.init import init
from holdfast.cli.maintenance.migrate import migrate
from holdfast.cli.maintenance.purge import purge
from holdfast.cli.maintenance.verify import verify
from holdfast.cli.maintenance.version import version
from holdfast.cli.operations.deliveries import deliveries
from holdfast.cli.operations.outbox import outbox
from holdfast.cli.operations.queues import queues
from holdfast.cli.operations.tokens import tokens
from holdfast.cli.operations.upstreams import upstreams
from holdfast.cli.operations.workers import workers
from holdfast.cli.processes.dev import dev
from holdfast.cli.processes.dispatch import dispatch
from holdfast.cli.processes.mcp import mcp
from holdfast.cli.processes.relay import relay
from holdfast.cli.processes.up import serve, up
from holdfast.cli.processes.worker import worker
from holdfast.cli.shell.program import PROGRAM, Program

_EPILOG: Final = """\b
Exit codes:
  0  done
  1  failed: a job, an invariant, a check, or some of many
  2  usage: the command, its input or a setting has to change
  3  not found: no such job, dead letter, upstream, worker or token
  4  refused: the job's state, key or version does not allow it, or a step is missing
  5  unreachable: the database cannot be used, or the queue is full; try again later
  6  attention: something waits for a person, and nothing is broken (doctor)

\b
Settings come from flags, then the environment (HOLDFAST_…), then holdfast.toml
or [tool.holdfast] of pyproject.toml; see: holdfast config show --origin.
HOLDFAST_DEBUG=1 shows tracebacks, NO_COLOR=1 turns colours off.

\b
Completion of commands and options, here for bash (or zsh, fish):
  eval "$(_HOLDFAST_COMPLETE=bash_source holdfast)"
"""


@click.group(
    PROGRAM,
    cls=Program,
    example="holdfast dev",
    epilog=_EPILOG,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(None, "--version", package_name="holdfast", message="%(prog)s %(version)s")
def program() -> None:
    """Durable jobs: run them, submit them, look after them."""


for _command in (
    init,
    dev,
    up,
    serve,
    worker,
    relay,
    dispatch,
    mcp,
    submit,
    jobs,
    dead,
    deliveries,
    queues,
    upstreams,
    outbox,
    workers,
    tokens,
    migrate,
    purge,
    erase,
    verify,
    doctor,
    config,
    export,
    version,
):
    program.add_command(_command)


def main() -> None:
    """Run the command line of this process."""
    program.main()
