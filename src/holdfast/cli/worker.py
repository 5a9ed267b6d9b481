"""`holdfast worker`."""

from __future__ import annotations

import logging
import signal
import sys
from typing import Final

import click

from holdfast.cli.invocation import Invocation, pass_invocation
from holdfast.cli.program import Command
from holdfast.error_log import ErrorLog
from holdfast.errors import HoldfastError
from holdfast.runtime.worker import Worker
from holdfast.settings import LOG_FORMATS, LOG_LEVELS

LOGGER: Final = logging.getLogger("holdfast.cli")

_COUNT: Final = "INTEGER"
_SPAN: Final = "DURATION"


@click.command("worker", cls=Command)
@click.option(
    "-c", "--concurrency", metavar=_COUNT, help="Attempts at a time, in each kind of lane."
)
@click.option("--processes", metavar=_COUNT, help="Attempts at a time in child processes.")
@click.option("-q", "--queues", multiple=True, metavar="NAME[,NAME]", help="Queues to serve.")
@click.option("--lease", metavar=_SPAN, help="How long a lease lasts unless it is renewed.")
@click.option("--poll", metavar=_SPAN, help="How often to look for due jobs unasked.")
@click.option("--sweep", metavar=_SPAN, help="How often to look for lost workers and deadlines.")
@click.option("--grace", metavar=_SPAN, help="Time for running attempts after SIGTERM.")
@click.option("--log-level", metavar="|".join(LOG_LEVELS), help="What to log, from there up.")
@click.option("--log-format", metavar="|".join(LOG_FORMATS), help="How to log, to stderr.")
@click.option("--error-log", metavar="FOLDER", help="Where to keep a record of every failure.")
@pass_invocation
def worker(invocation: Invocation, /, queues: tuple[str, ...], **options: str | None) -> int:
    """Run the jobs of an app's pipelines until told to stop.

    SIGTERM and Ctrl-C let running attempts finish within the grace period and hand the rest
    back; a second signal hands everything back at once. SIGHUP reads the log level again.

    Exits with 0 after a clean end, and with 1 when something had to be cut off.
    """
    for name, value in options.items():
        invocation.give(name, f"--{name.replace('_', '-')}", value)
    invocation.give("queues", "--queues", ",".join(queues) or None)
    if invocation.as_json:
        invocation.give("log_format", "--json", "json")
    settings = invocation.settings
    app = invocation.application()
    invocation.log("info")
    if settings.error_log is not None:
        app.log_errors(ErrorLog(settings.error_log))
    running = app.worker(queues=settings.queues or None, options=settings.worker)
    signal.signal(signal.SIGHUP, lambda *_: _on_hangup(invocation, running))
    status = running.run()
    if invocation.as_json:
        invocation.output.document({"worker": running.id, "clean": status == 0})
    return status


def _on_hangup(invocation: Invocation, running: Worker) -> None:
    """Read the log level again; a worker whose terminal is gone ends instead."""
    from holdfast import logs  # noqa: PLC0415 - configured by now

    if sys.stdin.isatty():
        running.request_stop()
        return
    try:
        level = invocation.read_settings().log_level
    except HoldfastError as error:
        LOGGER.warning("the log level stays as it is: %s", error)
        return
    logs.set_level(level)
    LOGGER.info("log level read again", extra={"event": "log_level", "log_level": level})
