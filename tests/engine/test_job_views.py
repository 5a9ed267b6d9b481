"""What a view of a job tells of its time."""

from holdfast import Pipeline
from holdfast.core.values.instant import to_datetime
from holdfast.testing import run_inline


def test_a_view_says_when_the_job_was_made_and_when_it_ended(app, clock):
    made_at = to_datetime(clock.now())
    job = app.submit("p")
    before = job.get()
    clock.advance(7)
    run_inline(app)
    after = job.get()

    assert (before.created_at, before.finished_at) == (made_at, None)
    assert (after.created_at, after.finished_at) == (made_at, to_datetime(clock.now()))


def test_the_results_of_many_jobs_are_those_of_each(open_app):
    ship = Pipeline("ship")
    ship.stage(name="pack")(lambda job: 10 * job.payload)
    ship.stage(name="send")(lambda job: 100 // job.payload)
    app = open_app(ship)
    done, failed = app.submit("ship", 5), app.submit("ship", 0)
    run_inline(app)
    queued = app.submit("ship", 1)
    views = [each.get() for each in (done, failed, queued)]

    found = app.results_of(views)

    assert found == {
        done.id: {"pack": 50, "send": 20},
        failed.id: {"pack": 0},
        queued.id: {},
    }
    assert app.results(done.id) == found[done.id]
    assert app.results_of([]) == {}
