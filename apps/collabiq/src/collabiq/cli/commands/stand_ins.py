"""`collabiq stand-ins`: the four servers on this machine, for trying without accounts."""

from __future__ import annotations

import shlex
import signal
import threading

import click

from collabiq.cli.output import document, json_option, line, remark, reports_errors
from collabiq.samples import mailbox
from collabiq.stand_ins.world import ServedWorld

_MAX_PORT = 65_535 - 3


@click.command("stand-ins")
@click.option(
    "--port",
    type=click.IntRange(0, _MAX_PORT),
    default=0,
    help="Of Gmail; Gemini, Notion and Infisical have the next three. 0 takes free ones.",
)
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(0.1, 3_600),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How often one of the sample mails arrives.",
)
@click.option("--empty", is_flag=True, help="Leave the mailbox empty.")
@json_option
@reports_errors
def stand_ins(*, port: int, every_s: float, empty: bool, as_json: bool) -> None:
    """Run Gmail, Gemini, Notion and Infisical on this machine until stopped.

    Prints the variables that a system needs to call them; state is in memory.

    Example: collabiq stand-ins --every 2 > stand-ins.env &
    """
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    with ServedWorld(port=port) as served:
        variables = served.variables()
        if as_json:
            document(variables)
        else:
            for name, value in variables.items():
                line(f"export {name}={shlex.quote(value)}")
        remark("four stand-ins are running; Ctrl-C ends them")
        for sample in () if empty else mailbox():
            served.world.deliver([sample])
            if stopping.wait(every_s):
                return
        stopping.wait()
