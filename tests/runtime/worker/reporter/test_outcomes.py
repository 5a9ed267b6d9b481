"""Outcomes are written together, and one that is bad spares the others."""

from holdfast import JobState
from holdfast.core.job.decision import Kind
from holdfast.core.values.instant import FAR_FUTURE
from holdfast.runtime.worker import reporter as reporting
from holdfast.testing import Script
from tests.runtime.crew import LEASE_US, Crew, pipeline_of


def test_outcomes_at_hand_share_one_write(make_crew):
    app, crew = make_crew(Script(then=1))
    jobs = [app.submit("p") for _ in range(4)]
    crew.claim()
    crew.lane.run()

    assert crew.reporter.pending() == 4
    assert crew.report() == 0
    assert crew.store.calls.count("apply") == 1
    assert [job.get().state for job in jobs] == [JobState.COMPLETE] * 4
    assert len(crew.in_flight) == 0
    assert crew.report() == FAR_FUTURE - crew.clock.now()


def test_one_write_takes_no_more_than_a_batch(make_crew):
    app, crew = make_crew(Script(then=1), limit=reporting.BATCH + 1)
    for _ in range(reporting.BATCH + 1):
        app.submit("p")
    while crew.claim() == 0:
        pass
    crew.lane.run()

    assert len(crew.in_flight) == reporting.BATCH + 1
    crew.report()
    assert len(crew.in_flight) == 1
    crew.report()
    assert len(crew.in_flight) == 0


def test_a_report_wakes_the_reporter(make_crew):
    app, crew = make_crew(Script(1))
    app.submit("p")
    crew.claim()
    crew.lane.run()

    assert crew.reporter.wake.is_set()


def test_the_next_stage_starts_at_once_under_a_new_lease(make_crew, announced):
    app, crew = make_crew(Script("a"), Script("b"))
    job = app.submit("p")
    crew.work()

    row = job.get().job
    assert (row.state, row.stage, row.attempt, row.token) == (JobState.PROCESSING, "two", 1, 2)
    assert row.lease_until == crew.clock.now() + LEASE_US
    assert [attempt.lease.token for attempt in crew.in_flight.all()] == [2]
    crew.lane.run()
    crew.report()
    assert (job.get().state, job.get().result) == (JobState.COMPLETE, "b")
    assert announced == [Kind.ADVANCED, Kind.COMPLETED]


def test_a_draining_worker_leaves_the_next_stage_to_others(make_crew):
    app, crew = make_crew(Script("a"), Script("b"))
    job = app.submit("p")
    crew.reporter.draining = True
    crew.work()

    assert (job.get().state, job.get().job.stage) == (JobState.QUEUED, "two")
    assert len(crew.in_flight) == 0


def test_a_stage_this_worker_has_no_handler_for_is_left_to_others(open_app):
    app = open_app(pipeline_of(Script("a"), Script("b")))
    crew = Crew(app, stages=["one"])
    job = app.submit("p")
    crew.work()

    assert (job.get().state, job.get().job.stage) == (JobState.QUEUED, "two")
    Crew(app, name="w2", stages=["two"]).work()
    assert job.get().result == "b"


def test_one_outcome_that_cannot_be_stored_spares_the_others(make_crew, caplog):
    app, crew = make_crew(Script(1, 2, 3))
    jobs = [app.submit("p") for _ in range(3)]
    crew.claim()
    attempt = crew.lane.waiting[1]
    unstorable = attempt.bound.__class__(
        attempt.bound.pipeline,
        attempt.bound.name,
        attempt.bound.lane,
        attempt.bound.call,
        # No encoder of ours lets this through; the database refuses it all the same.
        lambda _: '"\ud800"',
    )
    attempt.bound = unstorable
    crew.lane.run()
    crew.report()
    crew.report()

    assert [job.get().state for job in jobs] == ["complete", "failed", "complete"]
    assert jobs[1].get().error["error_class"] == "RESULT_INVALID"
    assert "cannot be stored" in caplog.text
    assert len(crew.in_flight) == 0


def test_what_cannot_be_stored_at_all_is_dropped_in_the_end(make_crew):
    app, crew = make_crew(Script(1))
    job = app.submit("p")
    crew.claim()
    crew.lane.run()
    crew.store.refuse("apply", ValueError("no"))
    crew.report()
    crew.report()

    assert crew.reporter.pending() == 0
    assert crew.reporter.stale == 1
    assert job.get().state is JobState.PROCESSING


def test_a_subscriber_that_fails_costs_nothing(make_crew, caplog):
    app, crew = make_crew(Script("a"), Script("b"))

    def fail(_):
        raise RuntimeError("subscriber")

    app.subscribe(fail)
    job = app.submit("p")
    crew.work()
    crew.lane.run()
    crew.report()

    assert job.get().state is JobState.COMPLETE
    assert "a subscriber failed" in caplog.text


def test_an_outcome_that_cannot_be_read_is_a_bug_of_the_handler(make_crew):
    class Unreadable(Exception):
        @property
        def __cause__(self):
            raise RuntimeError("no cause for you")

    app, crew = make_crew(Script(Unreadable()))
    job = app.submit("p")
    crew.work()

    assert job.get().error["error_class"] == "BUG"


def test_while_many_are_under_way_what_has_ended_is_applied_all_the_same(make_crew):
    many = reporting.LINGER_FROM + 1
    app, crew = make_crew(Script(then=1), limit=many)
    for _ in range(many):
        app.submit("p")
    crew.claim()
    crew.lane.run(1)
    crew.report()

    assert len(crew.in_flight) == reporting.LINGER_FROM


def test_while_many_end_at_a_time_it_waits_a_moment_for_more(make_crew):
    many = reporting.LINGER_FROM + 4
    app, crew = make_crew(Script(then=1), limit=many)
    for _ in range(many):
        app.submit("p")
    crew.claim()
    crew.lane.run(reporting.LINGER_FROM)
    crew.report()

    assert len(crew.in_flight) == 4
