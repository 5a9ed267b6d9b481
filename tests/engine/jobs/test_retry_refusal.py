"""A pipeline says which of its failed jobs it is no use to send back."""

import pytest

from holdfast import GiveUp, JobFilter, JobState, Pipeline
from holdfast.errors import RetryRefused, WrongState
from holdfast.testing import Script, drain

GONE = "the page is gone; submit another"


@pytest.fixture
def app(open_app):
    gone: set[int] = set()
    pages = Pipeline("pages", retry_refusal=lambda payload: GONE if payload["n"] in gone else None)
    pages.stage(name="fetch")(Script(then=GiveUp("NOT_FOUND", "no")).handler)
    made = open_app(pages)
    made.gone = gone
    return made


def failed(app, *numbers):
    ids = [app.submit("pages", {"n": n}, key=f"k-{n}").id for n in numbers]
    drain(app)
    return ids


def test_whoever_sends_such_a_job_back_is_told_why_not(app):
    fine, useless = failed(app, 1, 2)
    app.gone.add(2)

    assert app.retry(fine, by="ada").state is JobState.QUEUED
    with pytest.raises(RetryRefused, match=GONE):
        app.retry(useless, by="ada")
    assert app.job(useless).state is JobState.FAILED
    assert app.history(useless)[-1].event == "failed"


def test_of_many_those_stay_as_they_are(app):
    fine, useless = failed(app, 1, 2)
    app.gone.add(2)

    chunk = app.retry_many(JobFilter(pipeline="pages"), by="ada")

    assert (chunk.matched, chunk.changed) == (2, 1)
    assert app.job(fine).state is JobState.QUEUED
    assert app.job(useless).state is JobState.FAILED


def test_a_dead_letter_of_such_a_job_is_not_replayed(app):
    (useless,) = failed(app, 2)
    app.gone.add(2)
    app.dead.triage(useless, cause="data", by="ada")
    app.dead.remediate(useless, evidence="looked", by="ada")

    with pytest.raises(RetryRefused):
        app.dead.replay(useless, by="ada")
    assert app.job(useless).state is JobState.FAILED


def test_what_has_not_failed_is_refused_for_that(app):
    app.gone.add(2)
    job = app.submit("pages", {"n": 2}, delay=60)

    with pytest.raises(WrongState):
        app.retry(job.id, by="ada")
