"""`holdfast submit`."""

from __future__ import annotations

import sys
from contextlib import nullcontext, suppress
from typing import Any, BinaryIO, Final

import click

from holdfast.cli.jobs.job_table import remark_of
from holdfast.cli.jobs.payload import read_payload
from holdfast.cli.jobs.submit_file import FIELDS, submit_file
from holdfast.cli.shell.exit_codes import ExitCode
from holdfast.cli.shell.invocation import Invocation, pass_invocation
from holdfast.cli.shell.options import duration, duration_or_moment, moment, text
from holdfast.cli.shell.program import Command
from holdfast.core.job.job import DEFAULT_OWNER, DEFAULT_PRIORITY, PRIORITIES, JobState
from holdfast.engine.app import Holdfast
from holdfast.engine.handles.handle import JobHandle
from holdfast.engine.submit.submission import Submit
from holdfast.errors import (
    SchemaMissing,
    SchemaTooNew,
    SchemaTooOld,
    UnavailableError,
    UnknownPipeline,
    UsageError,
)
from holdfast.redaction.printable import json_text

_NO_SCHEMA: Final = (SchemaMissing, SchemaTooNew, SchemaTooOld)
_FILE_HELP: Final = (
    "Submit every line of a file (- for stdin), each a JSON object with any of "
    f"{', '.join(FIELDS)}; the options given here are what a line leaves out."
)


@click.command(
    "submit",
    cls=Command,
    example='holdfast submit -A app:app weather \'{"station": "harbour"}\' --wait',
)
@click.argument("pipeline")
@click.argument("payload", metavar="[PAYLOAD|-|@FILE]", required=False)
@click.option("--key", type=text, help="Idempotency key: the same key and body make one job.")
@click.option("--key-alone", is_flag=True, help="Do not compare the body; the key decides.")
@click.option("--owner", type=text, help="Whose job it is; keys are theirs.")
@click.option("--version", type=int, default=1, show_default=True, help="Version of the work.")
@click.option("--rerun", is_flag=True, help="Run a known key again, under a higher version.")
@click.option("--queue", type=text, help="Another queue than the pipeline's own.")
@click.option(
    "--priority",
    type=int,
    default=DEFAULT_PRIORITY,
    show_default=True,
    help=f"{PRIORITIES[0]} (first) to {PRIORITIES[-1]} (last).",
)
@click.option("--delay", type=duration, help="Start it this much later.")
@click.option("--run-at", type=moment, metavar="TIME", help="Start it then.")
@click.option(
    "--deadline",
    type=duration_or_moment,
    metavar="DURATION|TIME",
    help="It has failed unless it ends by then.",
)
@click.option("--wait", is_flag=True, help="Wait until it has ended; exit with 1 unless complete.")
@click.option("--timeout", type=duration, help="With --wait: how long to wait.")
@click.option("--from-file", type=click.Path(dir_okay=False, allow_dash=True), help=_FILE_HELP)
@pass_invocation
def submit(
    invocation: Invocation,
    /,
    pipeline: str,
    payload: str | None,
    from_file: str | None,
    timeout: float | None,
    *,
    wait: bool,
    **options: Any,  # noqa: ANN401 - the fields of Submit, by name
) -> int:
    """Make a job, and print its id.

    PAYLOAD is JSON: a text, @FILE, or - for stdin.
    """
    if from_file is not None and (payload is not None or wait):
        raise UsageError("--from-file takes payloads from the file; leave PAYLOAD and --wait out")
    if timeout is not None and not wait:
        raise UsageError("--timeout goes with --wait")
    options["owner"] = options["owner"] or DEFAULT_OWNER
    app = _application(invocation, pipeline)
    chosen = app.access.open_pipeline(pipeline)
    if from_file is not None:
        with _opened(from_file) as file:
            defaults = Submit(**options)
            return submit_file(app, invocation.output, pipeline, file, defaults=defaults)
    handle = app.submit(chosen, read_payload(payload, limits=chosen.limits), **options)
    if wait:
        return _wait(invocation, handle, timeout)
    if invocation.as_json:
        document = {"id": handle.id, "created": handle.created, "state": handle.get().state}
        invocation.output.document(document)
        return ExitCode.OK
    invocation.output.line(handle.id)
    if not handle.created:
        view = handle.get()
        gone = "" if view.removed_at is None else " and was removed; its key is kept"
        invocation.output.remark(f"That key names this job already; it is {view.label}{gone}.")
    return ExitCode.OK


def _application(invocation: Invocation, pipeline: str) -> Holdfast:
    """Return the application; where none is named, a closed pipeline is refused as such."""
    try:
        return invocation.application()
    except UsageError:
        if invocation.settings.app is None:
            # What is stored says so too, where it can be read.
            with suppress(UnavailableError, UnknownPipeline, *_NO_SCHEMA):
                invocation.engine().access.open_pipeline(pipeline)
        raise


def _wait(invocation: Invocation, handle: JobHandle, timeout: float | None) -> ExitCode:
    output = invocation.output
    if not output.as_json:
        output.line(handle.id)
    waiting = (
        output.error_console.status("Waiting for it to end …")
        if output.error_console.is_terminal and not output.as_json
        else nullcontext()
    )
    try:
        with waiting:
            view = handle.wait(timeout)
    except TimeoutError:
        view = handle.get()
        output.remark(f"It is still {view.label}; it goes on without this command.")
    complete = view.state is JobState.COMPLETE
    if output.as_json:
        output.document({**view.to_document(), "created": handle.created})
    elif complete:
        output.line(json_text(view.result))
    else:
        output.remark(f"It is {view.label}: {remark_of(view)}".rstrip(": "))
    return ExitCode.OK if complete else ExitCode.FAILED


def _opened(path: str) -> Any:  # noqa: ANN401 - a binary file, as a context manager
    if path == "-":
        stdin: BinaryIO = sys.stdin.buffer
        return nullcontext(stdin)
    try:
        return open(path, "rb")  # noqa: PTH123 - the caller closes it
    except OSError as error:
        raise UsageError(f"cannot read {path!r}: {error.strerror}") from error
