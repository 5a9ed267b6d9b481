"""After the commit: log lines with their fields, and subscribers that can break nothing."""

import logging

import pytest

from holdfast import GiveUp, RetryLater
from holdfast.core.job.decision import Kind
from holdfast.runtime.events import announce
from holdfast.testing import Script, drain, run_inline
from tests.runtime.crew import pipeline_of


class Refused(Exception):
    status_code = 503


def lines(caplog):
    return [record for record in caplog.records if record.name == "holdfast.worker"]


def test_a_failed_attempt_is_logged_with_every_field(open_app, clock, caplog):
    caplog.set_level(logging.INFO, logger="holdfast.worker")

    def fail(job):
        clock.advance(1.5)
        raise ConnectionResetError("reset by peer")

    app = open_app(pipeline_of(Script(fail)))
    job = app.submit("p")
    run_inline(app)

    [line] = lines(caplog)
    assert line.getMessage() == "job retried"
    assert line.levelno == logging.INFO
    assert (line.event, line.job_id, line.status) == ("retried", job.id, "queued")
    assert (line.pipeline, line.stage, line.attempt) == ("p", "one", 1)
    assert line.duration_ms == 1500
    assert line.error_code == "NETWORK"
    assert line.detail == {"message": "reset by peer", "delay_us": 10_000_000}
    assert line.gateway_status is None
    assert line.breaker is None


def test_the_status_of_the_upstream_is_in_the_line(open_app, caplog):
    caplog.set_level(logging.INFO, logger="holdfast.worker")
    app = open_app(pipeline_of(Script(Refused("no"))))
    app.submit("p")
    run_inline(app)

    assert lines(caplog)[0].gateway_status == 503


@pytest.mark.parametrize(
    ("outcome", "level", "status"),
    [
        (1, logging.DEBUG, "complete"),
        (TimeoutError(), logging.INFO, "queued"),
        (RetryLater(after=1), logging.INFO, "queued"),
        (SystemExit(), logging.INFO, "queued"),
        (GiveUp("NO"), logging.ERROR, "failed"),
    ],
)
def test_what_needs_a_person_is_louder(open_app, caplog, outcome, level, status):
    caplog.set_level(logging.DEBUG, logger="holdfast.worker")
    app = open_app(pipeline_of(Script(outcome)))
    app.submit("p")
    run_inline(app)

    begun, line = (line for line in lines(caplog) if hasattr(line, "status"))
    assert (begun.event, begun.status, begun.attempt) == ("processing", "processing", 1)
    assert (line.levelno, line.status) == (level, status)


def test_every_kind_of_entry_has_a_level():
    assert set(announce._LEVELS) == set(Kind)


def test_a_line_about_a_job_nobody_ran_has_no_duration(open_app, caplog):
    caplog.set_level(logging.INFO)
    app = open_app(pipeline_of(Script()))
    job = app.submit("p")
    app.cancel(job.id, by="ada", reason="a mistake")

    [line] = lines(caplog)
    assert line.event == "cancelled"
    assert line.detail == {"by": "ada", "reason": "a mistake"}
    assert line.duration_ms is None
    assert line.error_code is None


def test_subscribers_are_told_after_the_commit_until_they_leave(open_app):
    app = open_app(pipeline_of(Script(then=1)))
    seen = []
    leave = app.subscribe(
        lambda applied: seen.append((applied.decision.entry.kind, app.job(applied.job.id).state))
    )
    app.submit("p")
    drain(app)
    leave()
    app.submit("p")
    drain(app)

    assert seen == [(Kind.COMPLETED, "complete")]


def test_a_subscriber_that_fails_keeps_nothing_from_the_others(open_app, caplog):
    app = open_app(pipeline_of(Script(then=1)))
    seen = []

    def fail(_):
        raise RuntimeError("mine")

    app.subscribe(fail)
    app.subscribe(seen.append)
    app.submit("p")
    drain(app)

    assert len(seen) == 1
    assert "a subscriber failed" in caplog.text


def test_a_subscriber_may_leave_while_it_is_told(open_app):
    app = open_app(pipeline_of(Script(then=1)))
    seen = []

    def once(applied):
        seen.append(applied)
        leave()

    leave = app.subscribe(once)
    app.subscribe(seen.append)
    app.submit("p")
    app.submit("p")
    drain(app)

    assert len(seen) == 3


def failed_again(app) -> str:
    job = app.submit("p")
    run_inline(app)
    app.retry(job.id, by="ada")
    run_inline(app)
    return job.id


def test_what_fails_again_for_the_same_reason_is_cried_out_once(open_app, caplog):
    app = open_app(pipeline_of(Script(then=GiveUp("NO"))))
    job_id = failed_again(app)

    (line,) = [line for line in lines(caplog) if line.levelno == logging.CRITICAL]
    assert (line.event, line.job_id, line.error_code) == ("escalated", job_id, "NO")
    assert (line.deaths, len(line.fingerprint)) == (2, 16)


def test_letters_are_looked_up_only_for_jobs_that_were_sent_back(open_app):
    asked = []
    app = open_app(pipeline_of(Script(GiveUp("NO"), GiveUp("NO"), then=1)))
    app.announcer._escalated = lambda ids: asked.append(set(ids)) or ()
    job_id = failed_again(app)
    app.submit("p")
    run_inline(app)

    assert asked == [{job_id}]


def test_a_letter_that_cannot_be_looked_up_fails_nothing(open_app, caplog):
    def unreachable(ids):
        raise OSError("gone")

    app = open_app(pipeline_of(Script(then=GiveUp("NO"))))
    app.announcer._escalated = unreachable
    job_id = failed_again(app)

    assert app.job(job_id).state == "failed"
    assert "it cannot be told which dead letters are escalated" in caplog.text
