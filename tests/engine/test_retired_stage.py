"""A stage that is none of new jobs still runs those that were made with it."""

import pytest

from holdfast import JobState, Pipeline
from holdfast.errors import UsageError
from holdfast.testing import Script, drain


def reports(*names, retired=()):
    pipeline, ran = Pipeline("reports"), []
    for name in names:
        pipeline.stage(name=name, retired=name in retired)(_noting(name, ran))
    return pipeline, ran


def _noting(name, ran):
    return lambda job: ran.append(name)


def test_new_jobs_do_not_have_it(open_app):
    pipeline, ran = reports("check", "write", retired={"check"})
    app = open_app(pipeline)
    job = app.submit(pipeline)

    drain(app)

    assert job.get().state is JobState.COMPLETE
    assert ran == ["write"]
    assert repr(pipeline) == "Pipeline('reports', stages=['write'])"


def test_jobs_that_were_made_with_it_are_run_by_it_and_go_on_by_their_own_plan(open_app):
    before, never = reports("check", "write")
    job = open_app(before).submit(before)
    pipeline, ran = reports("check", "write", retired={"check"})
    app = open_app(pipeline)

    drain(app)

    assert app.job(job.id).state is JobState.COMPLETE
    assert (ran, never) == (["check", "write"], [])


def test_what_it_needs_is_not_asked_of_new_jobs(open_app):
    pipeline = Pipeline("reports")

    @pipeline.stage(retired=True)
    def check(job, language: str) -> None:
        raise AssertionError("no job is at this stage")

    @pipeline.stage
    def write(job, text: str) -> str:
        return text

    app = open_app(pipeline)
    job = app.submit(pipeline, {"text": "t"})
    drain(app)

    assert job.get().result == "t"


def test_its_name_is_taken():
    pipeline, _ = reports("check", retired={"check"})

    with pytest.raises(UsageError, match="already has a stage 'check'"):
        pipeline.stage(name="check")(Script(then=1).handler)


def test_it_alone_makes_no_pipeline():
    pipeline, _ = reports("check", retired={"check"})

    with pytest.raises(UsageError, match="has no stages"):
        pipeline.bound()
