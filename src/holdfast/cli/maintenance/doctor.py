"""`holdfast doctor`: looks at everything an installation needs, and says what to do."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from typing import Final

import click

from holdfast.cli.maintenance import diagnosis
from holdfast.cli.maintenance.config import read_here
from holdfast.cli.maintenance.diagnosis import Finding, Level
from holdfast.cli.shell.exit_codes import ExitCode
from holdfast.cli.shell.invocation import Invocation, pass_invocation, refuse_missing_file
from holdfast.cli.shell.next_commands import sentence_of
from holdfast.cli.shell.output import Output, Styled
from holdfast.cli.shell.program import Command
from holdfast.config.sources import unknown_variables
from holdfast.config.values import masked
from holdfast.engine.app import Holdfast
from holdfast.errors import SchemaTooNew, UnavailableError, UsageError
from holdfast.runtime.kernel import failpoint
from holdfast.runtime.kernel.clock import wall_clock
from holdfast.store.contract import Store
from holdfast.systems import observe_installed
from holdfast.systems.knobs import remarks_on

_INDENT: Final = " " * 18
_NARROWEST: Final = 40
_STYLES: Final = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "bold red"}


@click.command("doctor", cls=Command, example="holdfast doctor -A app:app")
@pass_invocation
def doctor(invocation: Invocation) -> int:
    """Check this installation, and say what to do.

    Looks at settings, database, clock and workers, lists everything that needs a person, the most
    urgent first, and changes nothing. Exits with 1 when a check fails or work stands still until
    a person acts, with 6 when a person is needed and everything else goes on, and with 5 when the
    database is out of reach.
    """
    tell = _Teller(invocation.output)
    code = ExitCode.OK
    try:
        for finding in _findings(invocation):
            tell(finding)
            if finding.level is Level.FAIL:
                code = ExitCode.FAILED
            elif finding.attention is not None and code is ExitCode.OK:
                code = ExitCode.ATTENTION
    except UnavailableError as error:
        tell(Finding(Level.FAIL, "database", sentence_of(error)))
        code = ExitCode.UNREACHABLE
    return code


def _findings(invocation: Invocation) -> Iterator[Finding]:
    yield from _of_settings(invocation)
    engine = invocation.engine()
    yield from _of_app(engine)
    store = engine.unopened_store
    refuse_missing_file(store.url)
    facts = store.facts()
    if not invocation.names_app:
        observe_installed(engine, os.environ, invocation.settings.systems or None)
    yield Finding(Level.OK, "database", f"{masked(store.url)} answers")
    yield from diagnosis.of_database(facts)
    yield from diagnosis.of_connection(facts)
    machine, now = wall_clock(), store.read_clock()
    yield diagnosis.of_clock(store=now, machine=machine)
    yield from diagnosis.of_vacuum(facts, now)
    schema = _of_schema(store)
    yield schema
    if schema.level is Level.FAIL:
        return
    yield from diagnosis.of_workers(store.workers(), now)
    yield from diagnosis.of_attention(engine.attention())


def _of_settings(invocation: Invocation) -> Iterator[Finding]:
    shown = invocation.settings.shown()
    origins = {str(origin) for _, _, origin in shown if origin.kind != "default"}
    yield Finding(Level.OK, "settings", ", ".join(sorted(origins)) or "all by default")
    yield from diagnosis.of_environment(
        unknown=unknown_variables(os.environ),
        failpoints=os.environ.get(failpoint.VARIABLE, ""),
    )
    try:
        remarks = remarks_on(read_here(invocation), os.environ)
    except UsageError as error:
        yield Finding(Level.FAIL, "settings", sentence_of(error))
    else:
        yield from (Finding(Level.WARN, "settings", remark.message) for remark in remarks)


def _of_app(engine: Holdfast) -> Iterator[Finding]:
    for pipeline in engine.pipelines.values():
        try:
            stages = " → ".join(stage.name for stage in pipeline.bound().plan.stages)
        except UsageError as error:
            yield Finding(Level.FAIL, "pipeline", sentence_of(error))
        else:
            yield Finding(
                Level.OK, "pipeline", f"{pipeline.name}: {stages}, queue {pipeline.queue}"
            )


def _of_schema(store: Store) -> Finding:
    try:
        pending = store.pending_migrations()
    except SchemaTooNew as error:
        return Finding(Level.FAIL, "schema", sentence_of(error))
    if pending:
        names = ", ".join(name for name, _ in pending)
        return Finding(Level.FAIL, "schema", f"to be applied: {names}", "run: holdfast migrate")
    return Finding(Level.OK, "schema", "up to date")


class _Teller:
    """Prints findings as they come."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def __call__(self, finding: Finding) -> None:
        output = self._output
        if output.as_json:
            entry = finding.attention
            document = None if entry is None else entry.to_document()
            output.document({**finding._asdict(), "attention": document})
            return
        first, *others = self._wrapped(finding.found)
        level = Styled(f"{finding.level:<4}", _STYLES[finding.level])
        output.words(level, f"  {finding.check:<10}  {first}")
        for line in others:
            output.line(f"{_INDENT}{line}")
        for line in self._wrapped(finding.advice):
            output.words(_INDENT, Styled(line, "dim"))

    def _wrapped(self, text: str) -> list[str]:
        console = self._output.console
        if not console.is_terminal:
            return [text] if text else []
        return textwrap.wrap(text, max(console.width - len(_INDENT), _NARROWEST))
