"""A key outlives its job: whoever submits it later gets what is known of that job, and no other."""

import pytest

from holdfast import Holdfast, JobState, Pipeline, Submit
from holdfast.core.values.instant import to_datetime
from holdfast.errors import InvalidPolicy, KeyConflict, UnknownJob, VersionConflict
from holdfast.retention import Retention
from holdfast.testing import drain

DAY = 86_400


@pytest.fixture
def kept(open_app, clock):
    """An app, and a job of the key `k` in version 2 that completed and is gone."""
    pipeline = Pipeline("p", remembers=["change"])
    pipeline.stage(name="one")(lambda job, change: change)
    app: Holdfast = open_app(pipeline)
    job = app.submit("p", {"change": "cl-1"}, key="k", version=2)
    drain(app)
    clock.advance(8 * DAY)
    assert app.purge()["jobs"] == 1
    with pytest.raises(UnknownJob):
        app.job(job.id)
    return app, job


BODY = {"change": "cl-1"}


def test_the_same_key_names_the_removed_job_and_what_became_of_it(kept, clock):
    app, job = kept
    again = app.submit("p", BODY, key="k", version=2)

    view = again.get()
    assert (again.id, again.created) == (job.id, False)
    assert (view.id, view.state, view.label) == (job.id, JobState.COMPLETE, "complete")
    assert (view.job.pipeline, view.job.key, view.job.version) == ("p", "k", 2)
    assert view.created_at <= view.finished_at
    assert view.removed_at == to_datetime(clock.now())
    assert (view.payload, view.result, view.error) == (None, None, None)
    assert again.wait(0) == view
    assert app.jobs() == []


def test_in_bulk_and_inside_a_transaction_alike(kept):
    app, job = kept
    one, other = app.submit_many("p", [Submit(BODY, key="k", version=2), Submit(BODY, key="other")])
    with app.store.transaction() as connection:
        inside = app.submit("p", BODY, key="k", version=2, connection=connection)

    assert (one.job_id, one.created, one.error) == (job.id, False, None)
    assert other.created
    assert (inside.id, inside.created) == (job.id, False)
    assert [view.job.key for view in app.jobs()] == ["other"]


def test_another_body_is_a_conflict_still_unless_the_key_alone_decides(kept):
    app, job = kept

    with pytest.raises(KeyConflict) as caught:
        app.submit("p", {"change": "cl-2"}, key="k", version=2)
    assert caught.value.job_id == job.id
    named = app.submit("p", {"change": "cl-2"}, key="k", version=2, key_alone=True)
    assert (named.id, named.created) == (job.id, False)


@pytest.mark.parametrize("rerun", [False, True])
def test_a_lower_version_is_refused(kept, rerun):
    app, job = kept

    with pytest.raises(VersionConflict) as caught:
        app.submit("p", BODY, key="k", version=1, rerun=rerun)
    assert (caught.value.found, caught.value.job_id) == (2, job.id)
    assert app.jobs() == []


def test_a_rerun_needs_a_higher_version_than_the_removed_one_and_then_is_a_job(kept):
    app, job = kept

    with pytest.raises(VersionConflict):
        app.submit("p", BODY, key="k", version=2, rerun=True)
    made = app.submit("p", BODY, key="k", version=3, rerun=True)
    drain(app)
    assert (made.created, made.get().state) == (True, JobState.COMPLETE)
    assert [(view.id, view.job.version) for view in app.of_key("p", "k")] == [
        (job.id, 2),
        (made.id, 3),
    ]
    with pytest.raises(VersionConflict):
        app.submit("p", BODY, key="k", version=3, rerun=True)
    assert app.verify() == []


def test_a_full_queue_still_finds_it(kept):
    app, job = kept
    app.submit("p", BODY)
    app.limit_queues(1)

    assert app.submit("p", BODY, key="k", version=2).id == job.id


def test_what_a_pipeline_remembers_is_with_the_key_and_nothing_else_is(kept):
    app, _ = kept
    (view,) = app.of_key("p", "k")

    assert view.memo == {"change": "cl-1"}
    assert app.of_key("p", "k", owner="ada") == app.of_key("p", "unknown") == []


def test_a_key_is_forgotten_when_the_operator_says_so(kept, clock):
    app, job = kept
    app.retention = Retention(keys=30 * DAY)
    clock.advance(31 * DAY)
    assert app.purge()["keys"] == 1

    again = app.submit("p", BODY, key="k")
    assert again.created
    assert again.id != job.id


def test_keys_of_a_pipeline_that_keeps_none_are_free(open_app, clock):
    pipeline = Pipeline("p", keep_keys=False)
    pipeline.stage(name="one")(lambda job: 1)
    app = open_app(pipeline)
    first = app.submit("p", key="k")
    drain(app)
    clock.advance(8 * DAY)
    app.purge()

    again = app.submit("p", key="k")
    assert (again.created, again.id != first.id) == (True, True)


@pytest.mark.parametrize("wrong", ["change", [1], [""], 7])
def test_what_cannot_be_remembered_is_refused(wrong):
    with pytest.raises(InvalidPolicy, match="remembers"):
        Pipeline("p", remembers=wrong)
