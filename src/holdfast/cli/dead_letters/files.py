"""`holdfast dead export` and `import`: dead letters as files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from holdfast.cli.dead_letters.options import LetterChoice, letter_filter_options
from holdfast.cli.shell.complaint import document_of
from holdfast.cli.shell.exit_codes import ExitCode, code_of
from holdfast.cli.shell.invocation import Invocation, os_user, pass_invocation
from holdfast.cli.shell.options import by_option, text
from holdfast.cli.shell.output import Output
from holdfast.cli.shell.program import Command
from holdfast.cli.shell.progress import Progress
from holdfast.engine.app import Holdfast
from holdfast.engine.handles.handle import JobHandle
from holdfast.errors import InvalidDocument, UsageError
from holdfast.letter_files.files import FileResult, LetterFiles, Outcome


@click.command("export", cls=Command, example="holdfast dead export letters --pipeline digest")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@letter_filter_options
@click.option("--all", "everything", is_flag=True, help="Also those that are resolved.")
@click.option(
    "--redact",
    is_flag=True,
    help="Take secrets and personal data out; what is left can be read, and not replayed.",
)
@pass_invocation
def export_letters(
    invocation: Invocation, folder: Path, wanted: LetterChoice, *, everything: bool, redact: bool
) -> int:
    """Write dead letters to files: DIR/OPERATION/ID.json, an operation being a stage.

    Without --redact the files hold the original payloads, secrets and personal data included,
    because nothing else can be replayed. Only the user who writes them may read them; keep them
    as safe as the database.

    Files appear whole or not at all, and are written anew when they are there already. Exits
    with 1 when a letter could not be written.
    """
    engine = invocation.engine()
    chosen = wanted.at(engine.clock.now())
    if everything:
        if wanted.states:
            raise UsageError("--all and --state exclude each other")
        chosen = chosen._replace(states=())
    results = letter_files(engine).export(folder, chosen, redact=redact)
    tally = _told(invocation.output, "Exporting", results, folder)
    if not redact and tally[Outcome.WRITTEN]:
        invocation.output.remark(f"{folder} holds original payloads; keep it as safe as they are.")
    return _ended(invocation.output, tally)


@click.command("import", cls=Command, example="holdfast dead import letters")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@click.option(
    "--operation",
    "operations",
    type=text,
    multiple=True,
    help="Take this operation, too, besides the app's stages.",
)
@by_option
@pass_invocation
def import_letters(
    invocation: Invocation, folder: Path, operations: tuple[str, ...], by: str | None
) -> int:
    """Make dead letters of the files that an export, or another program, wrote to DIR.

    An entry whose letter or job is here already changes nothing, so that an import may be
    repeated. A file that breaks a rule is reported with the reason and passed over; the exit code
    is 1 then. To replay a letter from a file: holdfast dead replay ID --pipeline NAME.
    """
    engine = invocation.engine()
    stages = {
        stage.name for pipeline in engine.pipelines.values() for stage in pipeline.bound().stages
    }
    known = sorted({*operations, *stages})
    unknown: set[str] = set()

    def noted(results: Iterator[FileResult]) -> Iterator[FileResult]:
        for result in results:
            if result.path is not None and _is_of_an_unknown_operation(result):
                unknown.add(result.path.parent.name)
            yield result

    results = letter_files(engine).import_from(folder, by=by or os_user(), operation_types=known)
    tally = _told(invocation.output, "Importing", noted(results), folder)
    code = _ended(invocation.output, tally)
    if unknown:
        options = " ".join(f"--operation {name}" for name in sorted(unknown))
        invocation.output.remark(f"To take these, too: {options}, or -A with the app they are of")
    return code


def _is_of_an_unknown_operation(result: FileResult) -> bool:
    error = result.error
    return isinstance(error, InvalidDocument) and error.path == "/operation_type"


def letter_files(engine: Holdfast) -> LetterFiles:
    """Return what moves the letters of an engine to files and back."""

    def submit(pipeline: str, payload: object, **how: Any) -> JobHandle:  # noqa: ANN401 - as it has it
        return engine.submit(engine.access.open_pipeline(pipeline), payload, **how)

    return LetterFiles(engine.store, clock=engine.clock, dead=engine.dead, submit=submit)


def _told(
    output: Output, title: str, results: Iterator[FileResult], folder: Path
) -> Counter[Outcome]:
    """Tell each result, what was refused also where only a person watches."""
    tally: Counter[Outcome] = Counter()
    with Progress(output, title, total=None) as progress:
        try:
            for result in results:
                tally[result.outcome] += 1
                progress.advance(1)
                if not output.live or result.error is not None:
                    with progress.out_of_the_way():
                        _tell(output, result)
        except OSError as error:
            raise UsageError(
                f"cannot use {error.filename or folder}: {error.strerror or error}; "
                "what was done before stands"
            ) from error
    return tally


def _tell(output: Output, result: FileResult) -> None:
    error = result.error
    if output.as_json:
        output.document(
            {
                "outcome": result.outcome.value,
                "path": None if result.path is None else str(result.path),
                "id": result.letter_id,
                "error": None if error is None else document_of(error, code_of(error)),
            }
        )
        return
    what = result.path or result.letter_id
    if error is not None:
        output.line(f"{what}  {result.outcome}  {error}")
    else:
        output.line(f"{what}  {result.outcome}  {result.letter_id}")


def _ended(output: Output, tally: Counter[Outcome]) -> ExitCode:
    counted = ", ".join(f"{tally[outcome]} {outcome}" for outcome in Outcome if tally[outcome])
    output.remark(f"{counted or 'Nothing to do'}.")
    return ExitCode.FAILED if tally[Outcome.REFUSED] else ExitCode.OK
