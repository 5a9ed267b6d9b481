"""Addresses, phones and one-time codes are hidden wherever a failure is shown, unless kept."""

import json
import logging

import pytest
from starlette.testclient import TestClient

from holdfast import GiveUp, JobState, Pipeline
from holdfast.api import ApiOptions, create_api
from holdfast.config.logs import Redacting
from holdfast.letter_files.files import LetterFiles
from holdfast.store.tables.dead_letters import LetterFilter
from holdfast.testing import drain

ADDRESS, PHONE, CODE = "jane.doe@example.com", "+49 30 901820", "482913"
SAID = f"550 <{ADDRESS}> refused, call {PHONE}; your code {CODE} has expired"
PAYLOAD = {"to": ADDRESS, "phone": PHONE, "text": f"Your code is {CODE}"}


def failing(name: str, *, keeps: bool) -> Pipeline:
    pipeline = Pipeline(name, keeps_personal_data=keeps)

    @pipeline.stage
    def send(job, payload: dict) -> None:
        raise GiveUp("MAIL_REFUSED", SAID)

    return pipeline


@pytest.fixture
def app(open_app):
    return open_app(failing("mails", keeps=False), failing("support", keeps=True))


def failed(app, pipeline: str) -> str:
    job = app.submit(pipeline, PAYLOAD, trace=f"mail to {ADDRESS}")
    drain(app)
    assert job.get().state is JobState.FAILED
    return job.id


def found_in(text: object) -> set[str]:
    shown = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
    return {each for each in (ADDRESS, PHONE, CODE) if each in shown}


def test_a_letter_its_job_and_its_history_hide_them(app):
    job_id = failed(app, "mails")
    letter = app.dead.show(job_id).to_document()
    history = [line.to_document() for line in app.history(job_id)]

    assert found_in(letter) == set()
    assert found_in(history) == set()
    assert found_in(app.store.get([job_id])[job_id].error) == set()
    assert "[email:" in letter["message"]
    assert "[phone:" in letter["message"]
    assert "[code:" in letter["message"]


def test_the_job_keeps_what_it_was_given(app):
    job_id = failed(app, "mails")

    assert app.job(job_id).payload == PAYLOAD


def test_equal_ones_have_equal_marks(app):
    first, second = (app.dead.get(failed(app, "mails")).letter for _ in range(2))

    assert first.message == second.message


def test_a_pipeline_that_needs_them_keeps_them(app):
    job_id = failed(app, "support")
    letter = app.dead.show(job_id).view.letter

    assert found_in(letter.message) == {ADDRESS, PHONE, CODE}
    assert app.keeps_personal_data(app.job(job_id).job)


def test_a_process_without_the_application_knows_who_keeps_them(app, open_app):
    job_id = failed(app, "support")
    elsewhere = open_app()

    assert elsewhere.keeps_personal_data(elsewhere.job(job_id).job)
    assert not elsewhere.keeps_personal_data(elsewhere.job(failed(app, "mails")).job)


def test_the_api_hides_them_in_failed_jobs(app):
    job_id = failed(app, "mails")
    kept_id = failed(app, "support")
    api = create_api(app, options=ApiOptions(host="127.0.0.1"))
    with TestClient(api, base_url="http://127.0.0.1", client=("127.0.0.1", 1)) as client:
        job = client.get(f"/api/jobs/{job_id}").json()
        events = client.get(f"/api/jobs/{job_id}/events").json()
        letter = client.get(f"/api/dead-letters/{job_id}").json()
        kept = client.get(f"/api/jobs/{kept_id}").json()

    assert found_in({name: job[name] for name in ("payload", "error")}) == set()
    assert job["payload"]["to"].startswith("[email:")
    assert found_in(events) == set()
    assert found_in(letter) == set()
    assert kept["payload"]["to"] == ADDRESS


def test_a_redacted_export_hides_them_and_a_plain_one_can_be_replayed(app, tmp_path):
    failed(app, "mails")
    files = LetterFiles(app.store, clock=app.clock, dead=app.dead, submit=app.submit)

    list(files.export(tmp_path / "redacted", LetterFilter(), redact=True))
    list(files.export(tmp_path / "whole", LetterFilter()))

    redacted, whole = (
        "".join(path.read_text() for path in (tmp_path / folder).rglob("*.json"))
        for folder in ("redacted", "whole")
    )
    assert found_in(redacted) == set()
    assert "[email:" in redacted
    assert ADDRESS in whole


def test_logs_hide_them():
    record = logging.LogRecord("app", logging.INFO, "x.py", 1, SAID, None, None)

    assert found_in(Redacting().format(record)) == set()
