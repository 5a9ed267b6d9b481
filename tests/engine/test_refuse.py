"""A job that is turned away as it comes: failed, told of, counted, and nobody has to see to it."""

import pytest

from holdfast import GiveUp, JobState, Submit
from holdfast.errors import InvalidValue, KeyConflict, UnknownPipeline, VersionConflict
from holdfast.testing import drain, run_inline

NOT_WANTED = GiveUp("NOT_WANTED", "only letters are taken")


def test_it_has_failed_with_its_reason_and_is_never_run(app, script):
    job = app.refuse("p", {"a": 1}, NOT_WANTED, owner="ada").get()

    assert (job.state, job.job.error_class, job.job.attempt) == (JobState.FAILED, "NOT_WANTED", 0)
    assert (job.payload, job.error["message"]) == ({"a": 1}, "only letters are taken")
    assert [(line.event, line.attempt) for line in app.history(job.id)] == [
        ("queued", 0),
        ("refused", 0),
    ]
    assert app.attempts(job.id) == []
    assert run_inline(app) == []
    assert script.calls == []


def test_nothing_about_it_waits_for_a_person(app):
    job = app.refuse("p", None, NOT_WANTED)

    assert app.dead.find() == []
    assert app.verify() == []
    assert app.job(job.id).state is JobState.FAILED


def test_whoever_looks_on_hears_that_it_failed(app):
    tail, heard = app.tail(), []
    app.subscribe(lambda applied: heard.append(applied.decision.entry.kind.value))
    job = app.refuse("p", None, NOT_WANTED)

    events = tail.read()

    assert [(event.name, event.job_id) for event in events] == [
        ("queued", job.id),
        ("failed", job.id),
    ]
    assert events[-1].data["meta"]["error_code"] == "NOT_WANTED"
    assert heard == ["refused"]


def test_a_key_that_names_a_job_already_still_names_that(app):
    first = app.submit("p", {"a": 1}, key="k")

    again = app.refuse("p", {"a": 1}, NOT_WANTED, key="k")

    assert (again.id, again.created) == (first.id, False)
    assert app.job(first.id).state is JobState.QUEUED
    with pytest.raises(KeyConflict):
        app.refuse("p", {"a": 2}, NOT_WANTED, key="k")
    assert app.refuse("p", {"a": 2}, NOT_WANTED, key="k", key_alone=True).id == first.id


def test_the_same_refusal_is_kept_once_by_its_key_and_submitting_again_finds_it(app):
    first = app.refuse("p", {"a": 1}, NOT_WANTED, key="k")

    assert first.created
    assert not app.refuse("p", {"a": 1}, NOT_WANTED, key="k").created
    assert app.submit("p", {"a": 1}, key="k").id == first.id
    assert app.verify() == []


def test_a_rerun_may_be_refused_too(app):
    first = app.submit("p", {"a": 1}, key="k")
    second = app.refuse("p", {"a": 1}, NOT_WANTED, key="k", version=2, rerun=True)

    assert second.created
    assert app.job(second.id).job.rerun_of == first.id
    with pytest.raises(VersionConflict):
        app.refuse("p", {"a": 1}, NOT_WANTED, key="k", version=1, rerun=True)
    assert app.job(second.id).state is JobState.FAILED
    assert app.verify() == []


def test_one_that_is_sent_back_after_all_runs(app, script):
    job = app.refuse("p", None, NOT_WANTED)

    app.retry(job.id, by="ada")
    drain(app)

    assert app.job(job.id).state is JobState.COMPLETE
    assert len(script.calls) == 1
    assert app.verify() == []


def test_no_queue_is_too_full_for_it(open_app, app):
    app.submit("p")
    app.limit_queues(1)

    assert app.refuse("p", None, NOT_WANTED).created


def test_what_could_not_be_submitted_cannot_be_refused(app):
    with pytest.raises(UnknownPipeline):
        app.refuse("q", None, NOT_WANTED)
    with pytest.raises(InvalidValue):
        app.refuse("p", None, NOT_WANTED, key="")
    assert app.jobs() == []


def test_a_secret_in_the_reason_is_not_kept(app):
    app.add_secrets(["correct-horse-battery"])

    job = app.refuse("p", None, GiveUp("NOT_WANTED", "no correct-horse-battery here")).get()

    assert "correct-horse-battery" not in job.job.error


def test_submissions_beside_it_are_as_ever(app):
    app.refuse("p", None, NOT_WANTED)
    results = app.submit_many("p", [Submit(key="a"), Submit(key="b")])

    assert [result.created for result in results] == [True, True]
    assert len(run_inline(app)) == 2
