"""`criticizer review HEAD~1..HEAD`: a review from a terminal, without a server."""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from criticizer.config import CriticizerConfig
from criticizer.critique import Critique, Finding
from criticizer.payload import Asked
from criticizer.pipeline import LLM_STAGE
from criticizer.refusals import ChangeRefused, SourceAway, VersionRefused
from criticizer.reviews import Made, Reviews
from criticizer.sources.open import open_source
from criticizer.system import parts_of
from holdfast import Holdfast, JobState, JobView
from holdfast.errors import HoldfastError

LOOK_S: Final = 0.1
REFUSED: Final = 2
FAILED: Final = 1
_STYLES: Final = {"error": "bold red", "warning": "yellow", "info": "blue"}
_SAYS: Final = {
    "fetch": "Fetching the change",
    "llm": "Reading it",
    "notify": "Telling everyone",
}
_SILENT: Final = logging.NullHandler()
"""What a worker logs is shown here as progress and as the outcome."""
_ENDED: Final = (JobState.COMPLETE, JobState.FAILED, JobState.CANCELLED)


@click.group()
def main() -> None:
    """Review changes, and tell everyone once."""


@main.command()
@click.argument("change")
@click.option(
    "--repository",
    metavar="PATH",
    help="The Git repository that has the change; by default the one you are in.",
)
@click.option("--to", "recipients", metavar="ADDRESS", multiple=True, help="Who is to be told.")
@click.option("--version", "review_version", default=1, show_default=True, help="Of the review.")
@click.option("--rerun", is_flag=True, help="Review again what has been, under a higher version.")
@click.option(
    "--database-url",
    metavar="URL",
    envvar="DATABASE_URL",
    help="Where reviews are kept; without it they are forgotten afterwards.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the review as JSON.")
def review(
    *,
    change: str,
    repository: str | None,
    recipients: tuple[str, ...],
    review_version: int,
    rerun: bool,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Review CHANGE, a commit or a range like HEAD~1..HEAD, here and now.

    Ends with 0 when nothing worse than a warning was found, 1 when there are errors or the review
    failed, and 2 when it could not be asked for.
    """
    logging.getLogger("holdfast").addHandler(_SILENT)
    environment = dict(os.environ)
    if repository is not None:
        environment |= {"CHANGES_SOURCE": "git", "CHANGES_URL": repository}
    try:
        config = CriticizerConfig.from_environment(environment)
        asked = Asked(
            changelist_id=change,
            review_version=review_version,
            recipients=list(dict.fromkeys(recipients)),
            rerun=rerun,
        )
        with _database(database_url) as url:
            view, results = _reviewed(url, config, asked)
    except (HoldfastError, ChangeRefused, SourceAway, VersionRefused) as error:
        Console(stderr=True).print(Text(str(error), style="red"), soft_wrap=True)
        sys.exit(REFUSED)
    sys.exit(_tell(view, results, as_json=as_json))


@contextmanager
def _database(url: str | None) -> Generator[str]:
    if url is not None:
        yield url
        return
    with tempfile.TemporaryDirectory(prefix="criticizer-") as folder:
        yield f"sqlite:///{Path(folder) / 'reviews.db'}"


def _reviewed(url: str, config: CriticizerConfig, asked: Asked) -> tuple[JobView, dict[str, Any]]:
    parts = parts_of(config)
    with Holdfast(url, pipelines=parts.pipelines, providers=parts.providers) as app:
        made = _asked(app, config, asked)
        if made.job.removed_at is not None:
            return made.job, {}
        if made.job.state not in _ENDED:
            _work(app, made)
        return app.job(made.job.id), app.results(made.job.id)


def _asked(app: Holdfast, config: CriticizerConfig, asked: Asked) -> Made:
    """Ask under a key of this very request: a name such as HEAD is another change tomorrow."""
    source = open_source(config.source)
    reviews = Reviews(app, source=source, pin_timeout_s=config.fetch_timeout_s)
    return reviews.ask(asked, key=f"terminal:{uuid.uuid4()}", owner="")


def _work(app: Holdfast, made: Made) -> None:
    """Run a worker until the review has ended, and say what it does."""
    worker = app.worker()
    thread = threading.Thread(target=worker.run, kwargs={"handle_signals": False}, daemon=True)
    console = Console(stderr=True)
    thread.start()
    try:
        with console.status("Starting") as status:
            while (view := app.job(made.job.id)).state not in _ENDED and thread.is_alive():
                _show(view, status)
                time.sleep(LOOK_S)
    finally:
        worker.request_stop()
        thread.join()


def _show(view: JobView, status: Status) -> None:
    said = _SAYS.get(view.job.stage, view.job.stage)
    again = f" (attempt {view.job.attempt})" if view.job.attempt > 1 else ""
    status.update(f"{said}{again}")


def _tell(view: JobView, results: dict[str, Any], *, as_json: bool) -> int:
    reviewed = results.get(LLM_STAGE)
    if view.removed_at is not None:
        said = (
            f"Version {view.job.version} of this review was made before, and its data was removed "
            f"on {view.removed_at:%Y-%m-%d}; for another: --rerun --version {view.job.version + 1}"
        )
        Console(stderr=True).print(Text(said), soft_wrap=True)
    if as_json:
        print(json.dumps({"state": view.state.value, "error": view.error, "review": reviewed}))  # noqa: T201
    elif reviewed is not None:
        _print(Critique.model_validate(reviewed["critique"]), reviewer=reviewed["reviewer"])
    if view.state is not JobState.COMPLETE:
        error = view.error or {"error_class": view.state.value, "message": "nothing else is known"}
        said = f"The review failed: {error.get('error_class')}: {error.get('message')}"
        Console(stderr=True).print(Text(said, style="red"), soft_wrap=True)
        return FAILED
    findings = [] if reviewed is None else reviewed["critique"]["findings"]
    return FAILED if any(each["severity"] == "error" for each in findings) else 0


def _print(critique: Critique, *, reviewer: str) -> None:
    console = Console()
    console.print(Text(critique.summary, style="bold"))
    for finding in critique.findings:
        _print_finding(console, finding)
    console.print(Text(f"Reviewed by {reviewer}.", style="dim"))


def _print_finding(console: Console, finding: Finding) -> None:
    """Print a finding: in a column beside its severity for people, each line whole for programs."""
    place = finding.file if finding.line is None else f"{finding.file}:{finding.line}"
    severity = Text(f"{finding.severity:7}", style=_STYLES[finding.severity])
    said = Text.assemble((place, "cyan"), "  ", finding.message)
    advice = Text(finding.suggestion or "", style="dim")
    if not console.is_terminal:
        console.print(Text.assemble(severity, " ", said), soft_wrap=True)
        for line in advice.split():
            console.print(Text.assemble(" " * 8, line), soft_wrap=True)
        return
    table = Table.grid(padding=(0, 1))
    table.add_row(severity, said)
    if advice:
        table.add_row("", advice)
    console.print(table)
