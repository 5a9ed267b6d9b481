"""The same key and body are the same job: per owner and pipeline, under races, in every state."""

import threading

import pytest

from holdfast import GiveUp, Pipeline, Submit
from holdfast.errors import InvalidValue, KeyConflict, VersionConflict
from holdfast.testing import Script, run_inline


def test_the_same_key_and_body_name_the_same_job(app):
    first = app.submit("p", {"a": 1, "b": 2}, key="k")
    again = app.submit("p", {"b": 2, "a": 1}, key="k")

    assert (again.id, first.created, again.created) == (first.id, True, False)
    assert len(app.jobs()) == 1


def test_another_body_under_the_same_key_is_a_conflict_that_names_the_job(app):
    first = app.submit("p", {"a": 1}, key="k")

    with pytest.raises(KeyConflict) as caught:
        app.submit("p", {"a": 2}, key="k")
    assert (caught.value.key, caught.value.job_id) == ("k", first.id)
    assert first.id in str(caught.value)
    assert len(app.jobs()) == 1


@pytest.mark.parametrize("body", [{"a": 1.0}, {"a": True}, {"a": "1"}, {"a": None}, {}, [1], 1])
def test_bodies_that_differ_in_type_differ(app, body):
    app.submit("p", {"a": 1}, key="k")

    with pytest.raises(KeyConflict):
        app.submit("p", body, key="k")


def test_the_key_alone_may_decide(app):
    first = app.submit("p", {"a": 1}, key="k")

    assert app.submit("p", {"a": 2}, key="k", key_alone=True).id == first.id


def test_options_other_than_the_body_do_not_make_another_job(app):
    first = app.submit("p", key="k")

    assert app.submit("p", key="k", priority=0, queue="fast", delay=60).id == first.id


def test_owners_and_pipelines_have_keys_of_their_own(open_app):
    pipelines = [Pipeline(name) for name in ("p", "q")]
    for pipeline in pipelines:
        pipeline.stage(name="one")(Script(then=1).handler)
    app = open_app(*pipelines)

    ids = {
        app.submit(pipeline, {"body": number}, key="k", owner=owner).id
        for number, (pipeline, owner) in enumerate(
            [("p", ""), ("p", "ada"), ("p", "bob"), ("q", ""), ("q", "ada")]
        )
    }

    assert len(ids) == 5


def test_without_a_key_every_submission_is_a_job(app):
    assert app.submit("p", {"a": 1}).id != app.submit("p", {"a": 1}).id


@pytest.mark.parametrize("state", ["queued", "processing", "complete", "failed", "cancelled"])
def test_a_known_key_names_its_job_in_every_state(app, script, state):
    seen = []

    def look(job):
        seen.append(app.submit("p", key="k").id)
        if state == "failed":
            raise GiveUp("NO")

    script._then = look
    first = app.submit("p", key="k")
    if state == "cancelled":
        app.cancel(first.id, by="ada")
    if state != "queued":
        run_inline(app)
    again = app.submit("p", key="k")

    assert (again.id, again.created) == (first.id, False)
    assert seen in ([], [first.id])
    assert again.get().state == ("complete" if state == "processing" else state)


def test_a_complete_job_is_not_run_again_for_its_version(app, script):
    app.submit("p", key="k")
    run_inline(app)
    app.submit("p", key="k")
    run_inline(app)

    assert len(script.calls) == 1


def test_a_higher_version_needs_to_be_asked_for_as_a_rerun(app):
    first = app.submit("p", key="k")

    with pytest.raises(InvalidValue, match="rerun=True"):
        app.submit("p", key="k", version=2)
    assert [view.id for view in app.jobs()] == [first.id]


def test_one_of_many_submissions_at_once_makes_the_job(open_app, app):
    apps = [app, *(open_app(*app.pipelines.values()) for _ in range(3))]
    barrier = threading.Barrier(12)
    handles = []

    def submit(number):
        barrier.wait()
        handles.append(apps[number % 4].submit("p", {"same": True}, key="k"))

    threads = [threading.Thread(target=submit, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({handle.id for handle in handles}) == 1
    assert sum(handle.created for handle in handles) == 1
    assert len(app.jobs()) == 1


def test_of_different_bodies_at_once_one_wins_and_the_others_are_told(app):
    barrier = threading.Barrier(8)
    handles, conflicts = [], []

    def submit(number):
        barrier.wait()
        try:
            handles.append(app.submit("p", {"n": number}, key="k"))
        except KeyConflict as error:
            conflicts.append(error.job_id)

    threads = [threading.Thread(target=submit, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(handles) == 1
    assert conflicts == [handles[0].id] * 7


def test_a_rerun_is_a_new_job_linked_to_the_first(app):
    first = app.submit("p", {"a": 1}, key="k")
    second = app.submit("p", {"a": 2}, key="k", version=2, rerun=True)
    third = app.submit("p", {"a": 3}, key="k", version=5, rerun=True)

    assert second.created
    assert third.created
    assert [job.get().job.rerun_of for job in (first, second, third)] == [
        None,
        first.id,
        first.id,
    ]
    assert [job.get().job.version for job in (first, second, third)] == [1, 2, 5]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_rerun_needs_a_strictly_higher_version(app, version):
    app.submit("p", key="k")
    standing = app.submit("p", key="k", version=3, rerun=True)

    with pytest.raises(VersionConflict, match="4 or higher") as caught:
        app.submit("p", {"other": True}, key="k", version=version, rerun=True)
    assert (caught.value.job_id, caught.value.found) == (standing.id, 3)
    assert len(app.jobs()) == 2


def test_each_version_stands_for_its_own_job(app):
    first = app.submit("p", {"a": 1}, key="k")
    second = app.submit("p", {"a": 2}, key="k", version=2, rerun=True)

    assert app.submit("p", {"a": 1}, key="k").id == first.id
    assert app.submit("p", {"a": 2}, key="k", version=2).id == second.id
    with pytest.raises(KeyConflict):
        app.submit("p", {"a": 1}, key="k", version=2)


def test_a_version_that_was_skipped_is_too_low(app):
    app.submit("p", key="k", version=1)
    app.submit("p", key="k", version=3, rerun=True)

    with pytest.raises(VersionConflict):
        app.submit("p", key="k", version=2)


def test_a_rerun_of_nothing_is_a_first_job(app):
    job = app.submit("p", key="k", version=4, rerun=True)

    assert (job.created, job.get().job.rerun_of) == (True, None)


def test_one_of_many_reruns_at_once_gets_the_version(app):
    app.submit("p", key="k")
    barrier = threading.Barrier(6)
    made, refused = [], []

    def rerun(number):
        barrier.wait()
        try:
            made.append(app.submit("p", {"n": number}, key="k", version=2, rerun=True).id)
        except VersionConflict as error:
            refused.append(error.found)

    threads = [threading.Thread(target=rerun, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(made) == 1
    assert refused == [2] * 5
    assert app.verify() == []


def test_bulk_and_single_submissions_agree_about_keys(app):
    first = app.submit("p", {"a": 1}, key="k")
    [same, other, new] = app.submit_many(
        "p",
        [
            Submit(payload={"a": 1}, key="k"),
            Submit(payload={"a": 2}, key="k"),
            Submit(payload={"a": 3}, key="l"),
        ],
    )

    assert (same.job_id, same.created, same.error) == (first.id, False, None)
    assert isinstance(other.error, KeyConflict)
    assert other.job_id is None
    assert new.created
    assert app.submit("p", {"a": 3}, key="l").id == new.job_id
