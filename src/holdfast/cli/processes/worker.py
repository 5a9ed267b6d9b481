"""`holdfast worker`."""

from __future__ import annotations

import signal
from typing import Final

import click

from holdfast.cli.processes.observing import observing
from holdfast.cli.processes.serving import give_options, log_options, on_hangup, run_service
from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.program import Command
from holdfast.cli.shell.setting_option import setting_option
from holdfast.error_log import ErrorLog
from holdfast.runtime.kernel.process_tuning import tune_process

_COUNT: Final = "INTEGER"
_SPAN: Final = "DURATION"


@click.command(
    "worker", cls=Command, example="holdfast worker -A app:app --concurrency 20 --queues mail,pages"
)
@setting_option(
    "-c", "--concurrency", metavar=_COUNT, help="Attempts at a time, in each kind of lane."
)
@setting_option("--processes", metavar=_COUNT, help="Attempts at a time in child processes.")
@setting_option("-q", "--queues", multiple=True, metavar="NAME[,NAME]", help="Queues to serve.")
@setting_option("--lease", metavar=_SPAN, help="How long a lease lasts unless it is renewed.")
@setting_option("--poll", metavar=_SPAN, help="How often to look for due jobs unasked.")
@setting_option("--sweep", metavar=_SPAN, help="How often to look for lost workers.")
@setting_option("--deadline-check", metavar=_SPAN, help="How often to look for passed deadlines.")
@setting_option("--grace", metavar=_SPAN, help="Time for running attempts after SIGTERM.")
@log_options
@setting_option("--error-log", metavar="FOLDER", help="Where to keep a record of every failure.")
@setting_option("--metrics-port", metavar="NUMBER", help="Where to serve metrics; 0 for any port.")
@pass_invocation
def worker(invocation: Invocation, /, queues: tuple[str, ...], **options: str | None) -> int:
    """Run the jobs of an app's pipelines until stopped.

    SIGTERM and Ctrl-C let running attempts finish within the grace period and hand the rest
    back; a second signal hands everything back at once. SIGHUP reads the log level again.

    Exits with 0 after a clean end, and with 1 when something had to be cut off.
    """
    give_options(invocation, options)
    invocation.give("queues", "--queues", ",".join(queues) or None)
    settings = invocation.settings
    app = invocation.application()
    invocation.log("info")
    if settings.error_log is not None:
        app.log_errors(ErrorLog(settings.error_log))
    with observing(app, settings, of_fleet=False):
        running = app.worker(queues=settings.queues or None, options=settings.worker)
        signal.signal(signal.SIGHUP, lambda *_: on_hangup(invocation, running.request_stop))
        tune_process()
        return run_service(invocation, "worker", running)
