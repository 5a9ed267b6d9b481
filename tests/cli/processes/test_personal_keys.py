"""Addresses in keys and documents of jobs are hidden by commands, the API and the error log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from holdfast import GiveUp, Holdfast, Pipeline
from holdfast.api import ApiOptions, create_api
from holdfast.cli.main import program
from holdfast.error_log import ErrorLog
from holdfast.testing import run_inline

ADDRESS = "jane@example.test"


def pipelines() -> list[Pipeline]:
    found = []
    for name in ("hides", "keeps"):
        made = Pipeline(name, keeps_personal_data=name == "keeps")

        @made.stage
        def fail(job, to: str) -> None:
            raise GiveUp("REFUSED", f"no mailbox for {to}")

        found.append(made)
    return found


class Place:
    current: Place

    def __init__(self, url: str, folder: Path) -> None:
        self._url, self._folder = url, folder
        self.jobs: dict[str, str] = {}
        Place.current = self

    def open(self) -> Holdfast:
        return Holdfast(self._url, pipelines=pipelines(), error_log=ErrorLog(self._folder))

    def command(self, *arguments: str) -> str:
        """Return what a command prints."""
        given = ["-A", "tests.cli.processes.test_personal_keys:opened", *arguments]
        return CliRunner().invoke(program, given).stdout


def opened() -> Holdfast:
    """Return an application for a command, which closes it."""
    return Place.current.open()


@pytest.fixture
def place(database_url: str, tmp_path: Path) -> Iterator[Place]:
    made = Place(database_url, tmp_path / "errors")
    with closing(made.open()) as app:
        for name in ("hides", "keeps"):
            made.jobs[name] = app.submit(name, {"to": ADDRESS}, key=f"{name}:{ADDRESS}").id
        run_inline(app)
    return made


def test_commands_hide_addresses_in_keys_and_documents(place: Place):
    job = place.jobs["hides"]
    shown = place.command("jobs", "show", job)
    whole = place.command("--json", "jobs", "show", job)
    listed = place.command("--json", "jobs", "list", "--pipeline", "hides")

    assert ADDRESS not in shown + whole + listed
    assert json.loads(whole)["key"].startswith("hides:[email:")
    assert json.loads(listed)["key"] == json.loads(whole)["key"]


def test_commands_show_what_a_pipeline_keeps(place: Place):
    document = json.loads(place.command("--json", "jobs", "show", place.jobs["keeps"]))

    assert (document["key"], document["payload"]["to"]) == (f"keeps:{ADDRESS}", ADDRESS)


def test_the_api_hides_addresses_in_the_keys_of_failed_jobs(place: Place):
    with closing(place.open()) as app:
        api = create_api(app, options=ApiOptions(host="127.0.0.1"))
        local = ("127.0.0.1", 50_000)
        with TestClient(api, base_url="http://127.0.0.1", client=local) as client:
            read = {name: client.get(f"/api/jobs/{job}").json() for name, job in place.jobs.items()}
            listed = client.get("/api/jobs").json()["items"]

    keys = {each["pipeline"]: each["key"] for each in listed}
    assert keys == {name: document["key"] for name, document in read.items()}
    assert keys["hides"].startswith("hides:[email:")
    assert keys["keeps"] == f"keeps:{ADDRESS}"


def test_the_error_log_hides_addresses_in_keys(place: Place, tmp_path: Path):
    records = [
        json.loads(line)
        for path in (tmp_path / "errors").rglob("*")
        if path.is_file()
        for line in path.read_text().splitlines()
    ]

    keys = {each["context"]["key"] for each in records if each["context"]["pipeline"] == "hides"}
    assert len(keys) == 1
    assert ADDRESS not in keys.pop()
