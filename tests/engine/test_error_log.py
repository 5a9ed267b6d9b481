"""An attached error log has a record of every failed attempt, and no job ever notices it."""

import json
import logging
import subprocess
import sys
import threading

import pytest

from holdfast import GiveUp, Pipeline, Retry, RetryLater
from holdfast.error_log import ErrorLog
from holdfast.secrecy import keep_secret
from holdfast.testing import Script, drain, run_inline

SECRET = "Nd8-in-an-error-log-4Fy"


def records_of(folder):
    found = [
        json.loads(line)
        for path in sorted((folder / "logs").glob("*/error_*.json"))
        for line in path.read_text().splitlines()
    ]
    return sorted(found, key=lambda record: record["timestamp"])


@pytest.fixture
def play(open_app, tmp_path):
    """Runs one job by a script, under an app with an error log, and returns the records."""

    def play(*outcomes, attempts=3, deadline=None, key=None, error_log=None):
        pipeline = Pipeline("letters", retry=Retry(attempts=attempts, base=1, jitter="none"))
        pipeline.stage(name="send")(Script(*outcomes).handler)
        app = open_app(pipeline, error_log=error_log or ErrorLog(tmp_path))
        job = app.submit(pipeline, key=key, deadline=deadline)
        run_inline(app, until=job, advance=True)
        ended = job.get()
        app.close()
        return ended, records_of(tmp_path)

    return play


def test_every_failed_attempt_leaves_a_record(play):
    job, records = play(TimeoutError("slow"), TimeoutError("slow again"), "sent", key="letter-7")

    assert [record["message"] for record in records] == ["slow", "slow again"]
    first, second = records
    assert (first["severity"], first["category"]) == ("WARNING", "TRANSIENT")
    assert (first["error_type"], first["http_status"]) == ("TimeoutError", None)
    assert "test_error_log.py" in first["stack_trace"] or "scripted.py" in first["stack_trace"]
    assert (first["retry_count"], second["retry_count"]) == (0, 1)
    assert first["context"] == {
        "job_id": job.id,
        "operation": "send",
        "pipeline": "letters",
        "attempt": 1,
        "error_class": "NETWORK_TIMEOUT",
        "event": "retried",
        "key": "letter-7",
    }


def test_the_last_failure_and_the_deadline_leave_records_too(play):
    _, records = play(TimeoutError("slow"), GiveUp("NO_SUCH_ADDRESS", "moved"))

    assert [record["context"]["event"] for record in records] == ["retried", "failed"]
    assert [record["severity"] for record in records] == ["WARNING", "ERROR"]


def test_a_deadline_that_passes_leaves_a_record(play):
    _, records = play(RetryLater(after=100), deadline=5)

    assert [record["context"]["error_class"] for record in records] == ["TIMEOUT"]
    assert records[0]["context"]["event"] == "expired"


def test_what_is_no_failure_leaves_no_record(play):
    _, records = play(RetryLater(after=1, reason="not yet"), "sent")

    assert records == []


def test_records_hold_no_secrets(play, tmp_path):
    keep_secret([SECRET])
    log = ErrorLog(
        tmp_path, context=lambda job: {"note": f"for {SECRET}", "password": "hunter2", SECRET: 1}
    )
    _, records = play(ValueError(f"bad key {SECRET}"), error_log=log)

    text = json.dumps(records)
    assert len(records) == 1
    assert SECRET not in text
    assert "hunter2" not in text
    assert "[redacted:known" in records[0]["message"]


def test_a_program_says_what_its_records_are_about(play, tmp_path):
    log = ErrorLog(tmp_path, subject="mail", context=lambda job: {"mail": "19a3f3f856f0b4d4"})
    play(GiveUp("REFUSED"), error_log=log)

    (path,) = (tmp_path / "logs" / "ERROR").iterdir()
    assert path.name.endswith("_19a3f3f856f0b4d4.json")


def test_a_program_that_cannot_say_it_has_its_records_all_the_same(play, tmp_path):
    def broken(job):
        raise RuntimeError(SECRET)

    _, records = play(GiveUp("REFUSED"), error_log=ErrorLog(tmp_path, context=broken))

    assert records[0]["context"]["context_failed"] == "RuntimeError"
    assert SECRET not in json.dumps(records)


def test_a_log_that_cannot_be_written_fails_no_job(play, tmp_path, caplog):
    (tmp_path / "logs").write_text("a file where the folder should be")

    with caplog.at_level(logging.WARNING):
        job, records = play(TimeoutError("slow"), TimeoutError("slow"), "sent")

    assert job.state == "complete"
    assert records == []
    told = [record for record in caplog.records if getattr(record, "event", "") == "left_out"]
    assert [record.service for record in told] == ["error-log"]


def test_a_log_that_hangs_holds_no_job_up(open_app, tmp_path):
    reached, goes_on = threading.Event(), threading.Event()

    def hang(document):
        reached.set()
        goes_on.wait(30)
        return document

    pipeline = Pipeline("letters", retry=Retry(attempts=3, base=1, jitter="none"))
    pipeline.stage(name="send")(Script(TimeoutError("slow"), then="sent").handler)
    app = open_app(pipeline, error_log=ErrorLog(tmp_path, redact=hang))
    job = app.submit(pipeline)
    run_inline(app, until=job, advance=True)

    assert reached.wait(30)
    assert job.get().state == "complete"
    assert records_of(tmp_path) == []
    goes_on.set()
    app.close()
    assert len(records_of(tmp_path)) == 1


def test_records_are_written_once_a_test_has_drained_its_jobs(open_app, tmp_path):
    def write_slowly(document):
        threading.Event().wait(0.05)
        return document

    pipeline = Pipeline("letters")
    pipeline.stage(name="send")(Script(GiveUp("REFUSED")).handler)
    app = open_app(pipeline, error_log=ErrorLog(tmp_path, redact=write_slowly))
    app.submit(pipeline)
    drain(app)

    assert len(records_of(tmp_path)) == 1


def test_a_log_may_be_attached_later(open_app, tmp_path):
    pipeline = Pipeline("letters")
    pipeline.stage(name="send")(Script(GiveUp("REFUSED")).handler)
    app = open_app(pipeline)
    app.log_errors(ErrorLog(tmp_path))
    job = app.submit(pipeline)
    run_inline(app, until=job)
    app.close()

    assert len(records_of(tmp_path)) == 1


PROGRAM = """
import sys
from holdfast import GiveUp, Holdfast, Pipeline
from holdfast.error_log import ErrorLog
from holdfast.testing import Script, run_inline

letters = Pipeline("letters")
letters.stage(name="send")(Script(GiveUp("REFUSED")).handler)
app = Holdfast("sqlite://:memory:", pipelines=[letters], error_log=ErrorLog(sys.argv[1]))
job = app.submit(letters)
run_inline(app, until=job)
"""


def test_a_program_that_ends_without_closing_has_its_last_records(tmp_path):
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], check=True, timeout=50)

    assert len(records_of(tmp_path)) == 1
