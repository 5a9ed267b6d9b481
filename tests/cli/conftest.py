import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from holdfast import Holdfast
from holdfast.cli.main import program
from holdfast.testing.inline import run_inline
from tests.cli import sample_app

Command = Callable[..., Result]


@pytest.fixture(autouse=True)
def bare_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, and no setting in the environment."""
    kept = {"HOLDFAST_TEST_AMQP_URL", "HOLDFAST_TEST_POSTGRES_URL"}
    for name in set(os.environ) - kept:
        if name.startswith(("HOLDFAST_", "WORKER_", "OUTBOX_")) or name in {
            "DATABASE_URL",
            "PORT",
            "NO_COLOR",
        }:
            monkeypatch.delenv(name)
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture
def holdfast() -> Command:
    """Runs a command in this process, as a shell would."""

    def run(*arguments: object, **options: Any) -> Result:
        return CliRunner().invoke(program, [str(one) for one in arguments], **options)

    return run


@pytest.fixture
def on_app(holdfast: Command, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command on the sample application."""
    monkeypatch.setenv(sample_app.URL_VARIABLE, database_url)
    monkeypatch.setenv("HOLDFAST_APP", "tests.cli.sample_app:make")
    return holdfast


@pytest.fixture
def app(database_url: str) -> Iterator[Holdfast]:
    """The sample application, to bring jobs into the states that a test needs."""
    pipelines = [sample_app.convert, sample_app.review]
    with Holdfast(database_url, pipelines=pipelines) as made:
        made.store.read_clock()
        yield made


@pytest.fixture
def job(app: Holdfast) -> Callable[[str], str]:
    """Makes a job, runs it as far as it goes, and returns its id."""

    def make(pdf: str, **options: Any) -> str:
        handle = app.submit("convert", {"pdf": pdf}, **options)
        run_inline(app)
        return handle.id

    return make


def lines(text: str) -> list[dict[str, Any]]:
    """Return JSON lines as objects."""
    return [json.loads(line) for line in text.splitlines()]


def error_of(result: Result) -> dict[str, Any]:
    """Return the error that a command with --json wrote to stderr."""
    return json.loads(result.stderr)["error"]
