"""What a pipeline calls secret is shown to nobody, and hides nothing of other pipelines."""

import json

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from holdfast import JobState, Pipeline
from holdfast.api import ApiOptions, create_api
from holdfast.cli.main import program
from holdfast.console import mount_console
from holdfast.errors import InvalidPolicy
from holdfast.testing import drain

ESSAY = "Tourism creates jobs in small towns."
PAYLOAD = {"answer": {"text": ESSAY, "words": 6}, "pages": [{"text": ESSAY}, {"text": ""}]}


def grading(name: str, **options) -> Pipeline:
    pipeline = Pipeline(name, **options)

    @pipeline.stage
    def read(job, payload: dict) -> dict:
        return {"text": payload["answer"]["text"], "words": 6}

    @pipeline.stage
    def score(job) -> dict:
        return {"text": ESSAY, "score": 7}

    return pipeline


@pytest.fixture
def app(open_app):
    return open_app(grading("essays", secret_names=["text"]), grading("letters"))


def done(app, pipeline: str) -> str:
    job = app.submit(pipeline, PAYLOAD)
    drain(app)
    assert job.get().state is JobState.COMPLETE
    return job.id


def shown_by_http(app, job_id: str) -> dict[str, str]:
    api = create_api(app, options=ApiOptions(host="127.0.0.1"))
    mount_console(api, app)
    paths = (
        *(f"/api/jobs/{job_id}", f"/api/jobs/{job_id}/results", f"/api/jobs/{job_id}/events"),
        *(f"/jobs/{job_id}", f"/jobs/{job_id}/payload.json", f"/jobs/{job_id}/result.json"),
    )
    with TestClient(api, base_url="http://127.0.0.1", client=("127.0.0.1", 1)) as client:
        return {path: client.get(path).raise_for_status().text for path in paths}


def test_api_and_console_show_nothing_that_stands_under_the_names(app):
    job_id = done(app, "essays")

    shown = shown_by_http(app, job_id)

    assert [path for path, text in shown.items() if ESSAY in text] == []
    document = json.loads(shown[f"/api/jobs/{job_id}"])
    assert document["payload"] == {
        "answer": {"text": "[redacted:secret]", "words": 6},
        "pages": [{"text": "[redacted:secret]"}, {"text": ""}],
    }
    assert document["result"] == {"text": "[redacted:secret]", "score": 7}


def test_other_pipelines_of_the_process_show_theirs(app):
    shown = shown_by_http(app, done(app, "letters"))

    hidden = [path for path, text in shown.items() if ESSAY not in text]
    assert [path.rpartition("/")[2] for path in hidden] == ["events"]


def test_a_process_without_the_application_hides_them(app, open_app):
    job_id = done(app, "essays")

    shown = shown_by_http(open_app(), job_id)

    assert [path for path, text in shown.items() if ESSAY in text] == []


def test_commands_hide_them(app, database_url):
    job_id, other_id = done(app, "essays"), done(app, "letters")
    texts = {
        (each, form): CliRunner()
        .invoke(program, ["jobs", "show", each, "--database-url", database_url, *form])
        .stdout
        for each in (job_id, other_id)
        for form in ((), ("--json",))
    }

    assert [each for each, text in texts.items() if ESSAY in text] == [
        (other_id, ()),
        (other_id, ("--json",)),
    ]


def test_the_job_keeps_what_it_was_given(app):
    assert app.job(done(app, "essays")).payload == PAYLOAD


@pytest.mark.parametrize("names", ["text", [""], [1]])
def test_names_are_a_list_of_texts(names):
    with pytest.raises(InvalidPolicy, match="secret_names"):
        Pipeline("essays", secret_names=names)
