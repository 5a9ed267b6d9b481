"""No way in or back goes past the criticizer's own: only the workflow sends a review back."""

import logging

import pytest
from click.testing import CliRunner

from criticizer.sources.errors import ChangeMissing
from holdfast import JobFilter, JobState
from holdfast.cli.main import program
from holdfast.errors import PipelineClosed, RetryNotAllowed


@pytest.fixture
def shell(database_url, tmp_path, monkeypatch):
    """Runs a command on the database alone."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDFAST_DATABASE_URL", database_url)
    yield lambda *arguments: CliRunner().invoke(program, list(arguments))
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)


@pytest.fixture
def failed(criticizer):
    criticizer.source.plays.append(ChangeMissing("there is no such change"))
    job_id = criticizer.ask().job.id
    criticizer.run()
    assert criticizer.app.job(job_id).state is JobState.FAILED
    return job_id


def test_no_hand_sends_a_failed_review_back(criticizer, failed, shell):
    app = criticizer.app

    for asking in ({}, {"owner": app.job(failed).job.owner}):
        with pytest.raises(RetryNotAllowed, match="as dead letters, with the remedy on record"):
            app.retry(failed, by="ada", **asking)
    with pytest.raises(RetryNotAllowed):
        app.retry_many(JobFilter(pipeline="review"), by="root")
    assert app.retry_many(JobFilter(), by="root").changed == 0
    assert shell("jobs", "retry", failed).exit_code == 4
    assert shell("jobs", "retry", "--pipeline", "review", "--yes").exit_code == 4
    shell("jobs", "retry", "--all", "--yes")
    assert app.job(failed).state is JobState.FAILED
    assert app.dead.get(failed).letter.state == "open"


def test_the_workflow_does_once_the_evidence_is_on_record(criticizer, failed, shell):
    assert shell("dead", "replay", failed).exit_code == 4
    assert shell("dead", "triage", failed, "--cause", "data").exit_code == 0
    assert shell("dead", "remediate", failed, "--evidence", "INC-7").exit_code == 0
    assert shell("dead", "replay", failed).exit_code == 0
    criticizer.run()

    assert criticizer.app.job(failed).state is JobState.COMPLETE


@pytest.mark.parametrize("pipeline", ["review", "review-request"])
def test_a_review_is_asked_for_where_keys_and_versions_are_checked(criticizer, shell, pipeline):
    criticizer.ask()
    made = len(criticizer.app.jobs())

    refused = shell("submit", pipeline, "{}")

    assert refused.exit_code == 2
    assert "submit it at POST /api/reviews" in refused.stderr
    with pytest.raises(PipelineClosed):
        criticizer.app.access.open_pipeline(pipeline)
    assert len(criticizer.app.jobs()) == made
