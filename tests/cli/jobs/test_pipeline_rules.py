"""Commands keep to what a pipeline says about who submits and who retries, app or no app."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Holdfast, JobState
from holdfast.testing.inline import run_inline
from tests.cli.closed_system import FOLDER_VARIABLE, GONE, PIPELINE, SUBMIT_AT, parcels
from tests.cli.conftest import Command, error_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "parcels"
    made.mkdir()
    return made


@pytest.fixture
def system(database_url: str, folder: Path) -> Iterator[Holdfast]:
    """The process of the system, which the commands know nothing of."""
    with Holdfast(database_url, pipelines=[parcels(folder)]) as made:
        yield made


@pytest.fixture
def bare(holdfast: Command, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command on the database alone."""
    monkeypatch.setenv("HOLDFAST_DATABASE_URL", database_url)
    return holdfast


@pytest.fixture
def installed(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system is installed where the commands run, and set up there."""
    packages = tmp_path / "packages"
    described = packages / "parcels-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: parcels\nVersion: 1\n")
    (described / "entry_points.txt").write_text(
        "[holdfast.systems]\nparcels = tests.cli.closed_system:SYSTEM\n"
    )
    monkeypatch.setattr(sys, "path", [str(packages), *sys.path])
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))


def failed(system: Holdfast, file: str = "a.txt") -> str:
    job_id = system.submit(PIPELINE, {"file": file}).id
    run_inline(system)
    assert system.job(job_id).state is JobState.FAILED
    return job_id


class TestShowingWhereNoAppIsLoaded:
    @pytest.mark.usefixtures("installed")
    def test_failures_have_the_codes_of_the_installed_system(self, bare: Command, system: Holdfast):
        job_id = failed(system)

        shown = json.loads(bare("dead", "show", job_id, "--json").stdout)
        said = bare("jobs", "show", job_id).stdout

        assert (shown["error_code"], shown["error_class"]) == ("UNDELIVERABLE", "NO_ADDRESS")
        assert shown["error_message"] == "Nobody took the parcel."
        assert shown["history"][-1]["meta"]["error_code"] == "UNDELIVERABLE"
        assert "error code  UNDELIVERABLE" in said

    def test_where_nobody_knows_the_pipeline_the_error_class_is_the_code(
        self, bare: Command, system: Holdfast
    ):
        shown = json.loads(bare("dead", "show", failed(system), "--json").stdout)

        assert shown["error_code"] == shown["error_class"] == "NO_ADDRESS"


class TestRetryingWhereNoAppIsLoaded:
    @pytest.mark.usefixtures("installed")
    def test_the_installed_system_is_asked(self, bare: Command, system: Holdfast, folder: Path):
        (folder / "here.txt").touch()
        gone, here = failed(system, "gone.txt"), failed(system, "here.txt")

        refused = bare("jobs", "retry", gone)
        done = bare("jobs", "retry", here)

        assert (refused.exit_code, done.exit_code) == (4, 0)
        assert f"{GONE} (so says system 'parcels', as the environment here has it)" in (
            refused.stderr
        )
        assert system.job(gone).state is JobState.FAILED
        assert system.job(here).state is JobState.QUEUED

    @pytest.mark.usefixtures("installed")
    def test_of_many_those_it_refuses_are_left_alone_and_counted(
        self, bare: Command, system: Holdfast, folder: Path
    ):
        (folder / "here.txt").touch()
        gone, here = failed(system, "gone.txt"), failed(system, "here.txt")

        counted = bare("jobs", "retry", "--all", "--dry-run")
        done = bare("jobs", "retry", "--all", "--yes", "--json")

        assert counted.stdout.splitlines()[0] == "1 job would be sent back."
        assert f"1 job would be left alone: {GONE}" in counted.stdout
        told = json.loads(done.stdout)
        assert (told["matched"], told["changed"]) == (2, 1)
        assert sum(told["refused"].values()) == 1
        assert system.job(gone).state is JobState.FAILED
        assert system.job(here).state is JobState.QUEUED

    def test_where_nobody_knows_the_pipeline_it_is_refused_and_says_what_to_name(
        self, bare: Command, system: Holdfast
    ):
        job_id = failed(system)

        one = bare("jobs", "retry", job_id)
        many = bare("jobs", "retry", "--pipeline", PIPELINE, "--yes")
        dry = bare("jobs", "retry", job_id, "--dry-run")

        assert (one.exit_code, dry.exit_code) == (4, 4)
        assert "this process does not know that pipeline" in one.stderr
        assert "with an app that has it: -A module:app" in one.stderr
        assert "0 jobs sent back.\n1 job left alone: its pipeline 'parcels'" in many.stdout
        assert "is failed and would not be sent back: its pipeline 'parcels'" in dry.stdout
        assert system.job(job_id).state is JobState.FAILED

    @pytest.mark.usefixtures("installed")
    def test_a_system_that_cannot_be_built_is_named(
        self, bare: Command, system: Holdfast, monkeypatch: pytest.MonkeyPatch
    ):
        job_id = failed(system)
        monkeypatch.delenv(FOLDER_VARIABLE)

        result = bare("jobs", "retry", job_id)

        assert result.exit_code == 4
        assert "system 'parcels' cannot be built: KeyError" in result.stderr

    @pytest.mark.usefixtures("installed")
    def test_a_replay_asks_it_too(self, bare: Command, system: Holdfast):
        job_id = failed(system)
        bare("dead", "triage", job_id, "--cause", "data")
        bare("dead", "remediate", job_id, "--evidence", "the address was corrected")

        result = bare("dead", "replay", job_id, "--safe-to-repeat")

        assert result.exit_code == 4
        assert GONE in result.stderr
        assert system.job(job_id).state is JobState.FAILED


class TestWhereTheWorkflowAloneSendsBack:
    @pytest.fixture
    def system(self, database_url: str, folder: Path) -> Iterator[Holdfast]:
        (folder / "a.txt").touch()
        with Holdfast(database_url, pipelines=[parcels(folder, retry_by="workflow")]) as made:
            yield made

    def test_no_form_of_retry_goes_past_it(self, bare: Command, system: Holdfast):
        job_id = failed(system)

        one = bare("jobs", "retry", job_id, "--json")
        of_pipeline = bare("jobs", "retry", "--pipeline", PIPELINE, "--dry-run")
        everything = bare("jobs", "retry", "--all", "--yes")

        assert (one.exit_code, of_pipeline.exit_code) == (4, 4)
        assert error_of(one)["retry_by"] == "workflow"
        assert f"holdfast dead show {job_id}" in error_of(one)["message"]
        assert "holdfast dead groups" in of_pipeline.stderr
        assert "1 job left alone: failed jobs of pipeline 'parcels'" in everything.stdout
        assert system.job(job_id).state is JobState.FAILED

    def test_the_job_says_what_to_do_instead(self, bare: Command, system: Holdfast):
        job_id = failed(system)

        shown = bare("jobs", "show", job_id).stdout

        assert "holdfast jobs retry" not in shown
        assert "It cannot be retried by hand: failed jobs of pipeline 'parcels'" in shown
        assert f"holdfast dead show {job_id}" in shown


class TestSubmitting:
    def test_a_closed_pipeline_is_refused_where_no_app_is_named(
        self, bare: Command, system: Holdfast
    ):
        failed(system)

        refused = bare("submit", PIPELINE, '{"file": "a.txt"}')
        unknown = bare("submit", "letters", "{}")

        assert (refused.exit_code, unknown.exit_code) == (2, 2)
        assert f"submit it at {SUBMIT_AT}" in refused.stderr
        assert "this command needs your pipelines" in unknown.stderr
        assert len(system.jobs()) == 1

    def test_a_closed_pipeline_is_refused_where_another_app_is_named(
        self, on_app: Command, system: Holdfast
    ):
        failed(system)

        assert f"submit it at {SUBMIT_AT}" in on_app("submit", PIPELINE, "{}").stderr

    def test_a_file_of_submissions_is_refused_too(
        self, bare: Command, system: Holdfast, tmp_path: Path
    ):
        failed(system)
        file = tmp_path / "lines"
        file.write_text('{"payload": {"file": "a.txt"}}\n')

        result = bare("submit", PIPELINE, "--from-file", file)

        assert (result.exit_code, result.stdout) == (2, "")
        assert f"submit it at {SUBMIT_AT}" in result.stderr

    def test_a_command_without_a_database_says_what_it_always_said(self, holdfast: Command):
        result = holdfast("submit", PIPELINE, "{}")

        assert result.exit_code == 2
        assert "this command needs your pipelines" in result.stderr
