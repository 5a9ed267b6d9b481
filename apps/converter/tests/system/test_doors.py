"""No way in or back goes past the converter's own: commands and requests that serve all alike."""

import json
import logging

import pytest
from click.testing import CliRunner

from apps.converter.tests.system.stand_in import PDF_BYTES, Converter, make_converter
from converter.codes import CODES, EXPIRED
from converter.storage.errors import StorageFull
from holdfast import JobFilter, JobState
from holdfast.cli.main import program
from holdfast.errors import PipelineClosed, RetryRefused


@pytest.fixture
def converter(database_url, uploads, results):
    yield from make_converter(database_url, uploads, results)


@pytest.fixture
def shell(database_url, tmp_path, monkeypatch):
    """Runs a command where the converter is installed and set up, and no app is named."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "HOLDFAST_DATABASE_URL": database_url,
        "UPLOADS_DIR": str(tmp_path / "uploads"),
        "RESULTS_DIR": str(tmp_path / "results"),
    }.items():
        monkeypatch.setenv(name, value)
    yield lambda *arguments: CliRunner().invoke(program, list(arguments))
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)


def failed(converter: Converter, body: bytes = PDF_BYTES) -> str:
    converter.gateway.plays.append(StorageFull("results", "no room"))
    job_id = converter.take(body).job.id
    converter.run()
    assert converter.app.job(job_id).state is JobState.FAILED
    return job_id


def lose(converter: Converter, job_id: str) -> None:
    converter.uploads.remove(converter.app.job(job_id).payload["source"])


def test_no_command_sends_a_conversion_back_whose_pdf_is_gone(shell, converter):
    gone, here = failed(converter), failed(converter, PDF_BYTES + b"2")
    lose(converter, gone)

    one = shell("jobs", "retry", gone)
    many = shell("jobs", "retry", "--pipeline", "convert", "--yes", "--json")

    assert one.exit_code == 4
    assert CODES.codes[EXPIRED].message in one.stderr
    told = json.loads(many.stdout)
    assert (told["matched"], told["changed"], sum(told["refused"].values())) == (2, 1, 1)
    assert converter.app.job(gone).state is JobState.FAILED
    assert converter.app.job(here).state is JobState.QUEUED


def test_nor_does_a_program_or_a_replay(converter):
    gone = failed(converter)
    lose(converter, gone)
    app = converter.app
    app.dead.triage(gone, cause="data", by="root")
    app.dead.remediate(gone, evidence="there is room again", by="root")

    with pytest.raises(RetryRefused):
        app.retry(gone, by="root")
    with pytest.raises(RetryRefused):
        app.dead.replay(gone, by="root")
    assert app.retry_many(JobFilter(pipeline="convert"), by="root").changed == 0
    assert app.job(gone).state is JobState.FAILED


def test_a_conversion_begins_with_a_file_and_not_with_a_payload(shell, converter):
    converter.take()
    payload = json.dumps(converter.app.jobs()[0].payload)

    refused = shell("submit", "convert", payload)

    assert refused.exit_code == 2
    assert "submit it at POST /api/upload" in refused.stderr
    with pytest.raises(PipelineClosed):
        converter.app.access.open_pipeline("convert")
    assert len(converter.app.jobs()) == 1
