"""What the surfaces read of the whole store: who did what, and how much happened when."""

import subprocess
import sys
from datetime import timedelta

import pytest

from holdfast import GiveUp, Holdfast, JobFilter
from holdfast.core.values.instant import to_datetime
from holdfast.errors import InvalidValue
from holdfast.testing import run_inline


def actions(app, **which):
    return [(entry.subject_kind, entry.action, entry.done_by) for entry in app.audit(**which)]


def test_whatever_people_do_is_in_the_record_with_their_name_and_reason(app, script):
    script._outcomes = (GiveUp("NO"),)
    failed = app.submit("p", key="k")
    run_inline(app)
    app.retry(failed.id, by="ada", reason="mended")
    queued = app.submit("p", delay=60)
    app.cancel(queued.id, by="bob", reason="a mistake")
    app.pause_queue("default", by="eve", reason="too fast")
    app.resume_queue("default", by="eve")
    app.tokens.create("shop", role="reader", by="ada")

    assert actions(app) == [
        ("token", "created", "ada"),
        ("queue", "resumed", "eve"),
        ("queue", "paused", "eve"),
        ("job", "cancelled", "bob"),
        ("dead_letter", "replayed", "ada"),
    ]
    reasons = [entry.reason for entry in app.audit()]
    assert reasons == [None, None, "too fast", "a mistake", "mended"]


def test_what_changes_nothing_is_not_in_the_record(app):
    job = app.submit("p")
    app.cancel(job.id, by="ada")
    app.cancel(job.id, by="bob")
    app.resume_queue("default", by="bob")

    assert actions(app) == [("job", "cancelled", "ada")]


def test_a_bulk_cancel_is_in_the_record_of_every_job(app):
    jobs = {app.submit("p", delay=60).id for _ in range(3)}
    app.cancel_many(JobFilter(), by="ada", reason="closing down")

    found = app.audit(subject_kind="job")
    assert {entry.subject for entry in found} == jobs
    assert {(entry.done_by, entry.reason) for entry in found} == {("ada", "closing down")}


def test_the_record_is_read_page_by_page_and_by_subject(app):
    for number in range(5):
        app.pause_queue(f"q{number}", by="ada")

    first = app.audit(limit=2)
    rest = app.audit(before=first[-1].id, limit=100)
    assert [entry.subject for entry in (*first, *rest)] == ["q4", "q3", "q2", "q1", "q0"]
    assert actions(app, subject_kind="queue", subject="q3") == [("queue", "paused", "ada")]
    assert actions(app, subject_kind="job") == []


@pytest.mark.parametrize(
    "given",
    [{"limit": 0}, {"limit": 10**6}, {"before": -1}, {"before": 2**63}, {"subject": "\x00"}],
)
def test_the_record_is_asked_for_sensibly(app, given):
    with pytest.raises(InvalidValue):
        app.audit(**given)


def test_every_attempt_is_told_with_its_worker_time_and_outcome(app, script, clock):
    def fail(job):
        clock.advance(2)
        raise ConnectionResetError("reset")

    script._outcomes = (fail, lambda job: app.attempts(job.id)[-1].to_document())
    job = app.submit("p")
    run_inline(app)
    clock.advance(60)
    run_inline(app)

    first, second = app.attempts(job.id)
    assert (first.stage, first.attempt, first.outcome) == ("one", 1, "retried")
    assert (first.duration_ms, first.error_class) == (2000, "NETWORK")
    assert (second.attempt, second.outcome, second.error_class) == (2, "completed", None)
    assert first.worker
    running = job.get().result
    assert (running["outcome"], running["ended_at"], running["duration_ms"]) == (
        *("processing", None),
        None,
    )


def test_figures_tell_how_much_happened_in_each_minute(app, script, clock):
    script._outcomes = (GiveUp("NO"),)
    for _ in range(3):
        app.submit("p")
    run_inline(app)
    clock.advance(60)
    app.submit("p")
    run_inline(app)

    rows = [row for row in app.activity(since=timedelta(hours=1)) if row.event != "submitted"]
    assert [(row.event, row.error_class, row.count) for row in rows] == [
        ("completed", None, 1),
        ("completed", None, 2),
        ("failed", "NO", 1),
    ]
    assert {(row.pipeline, row.stage) for row in rows} == {("p", "one")}
    assert rows[0].minute - rows[1].minute == 60_000_000
    latest = app.activity(since=to_datetime(rows[0].minute))
    assert {row.minute for row in latest} == {rows[0].minute}


def test_figures_add_up_over_programs_and_outlive_them(open_app, app):
    other = open_app()
    jobs = [app.submit("p", delay=60) for _ in range(3)]
    app.cancel(jobs[0].id, by="ada")
    for job in jobs[1:]:
        other.cancel(job.id, by="bob")
    app.close()
    other.close()

    (row,) = [row for row in open_app().activity(since=600) if row.event == "cancelled"]
    assert row.count == 3


def test_figures_tell_how_long_attempts_took(app, script, clock):
    script._then = lambda job: clock.advance(1.5)
    app.submit("p")
    run_inline(app)

    (row,) = [row for row in app.activity(since=600) if row.event == "completed"]
    assert row.duration_us == 1_500_000
    assert row.to_document()["duration_ms"] == 1500


@pytest.mark.parametrize("since", [-1, float("nan"), float("inf"), timedelta(seconds=-5)])
def test_figures_are_asked_for_sensibly(app, since):
    with pytest.raises(InvalidValue, match="seconds"):
        app.activity(since=since)


SUBMITS_AND_ENDS = """
import os, sys
from holdfast import Holdfast, Pipeline

letters = Pipeline("letters")

@letters.stage
def draft(job):
    return 1

app = Holdfast(sys.argv[1], pipelines=[letters])
for n in range(7):
    app.submit(letters, {"n": n})
if os.fork() == 0:
    sys.exit(0)
os.wait()
"""


def test_submissions_of_a_program_that_ends_without_closing_are_counted_once(database_url):
    subprocess.run([sys.executable, "-c", SUBMITS_AND_ENDS, database_url], check=True, timeout=50)

    with Holdfast(database_url) as app:
        counted = [row.count for row in app.activity(since=3600) if row.event == "submitted"]
    assert counted == [7]
