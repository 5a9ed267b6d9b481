"""Outcomes become decisions once, whatever happens to the job or the database meanwhile."""

import pytest

from holdfast import Holdfast, JobState
from holdfast.core.decision import Kind
from holdfast.core.instant import FAR_FUTURE, SECOND_US
from holdfast.errors import StoreUnavailable
from holdfast.runtime import reporter as reporting
from holdfast.runtime.attempt import Fate
from holdfast.testing import Script, failing
from tests.runtime.crew import LEASE_US, Crew, pipeline_of


def kinds_of(app: Holdfast, job) -> list[Kind]:
    return [item.entry.kind for item in app.store.ledger(job.id)]


@pytest.fixture
def announced():
    return []


@pytest.fixture
def make_crew(open_app, announced):
    def make(*scripts, limit=5, **options):
        app = open_app(pipeline_of(*scripts, **options))
        app.subscribe(lambda applied: announced.append(applied.decision.entry.kind))
        return app, Crew(app, limit=limit)

    return make


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
    crew.claim()
    crew.claim()
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


def test_outcomes_are_kept_during_an_outage(make_crew):
    app, crew = make_crew(Script(1, 2))
    jobs = [app.submit("p"), app.submit("p")]
    crew.claim()
    crew.lane.run()
    crew.store.refuse("apply")
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            crew.report()

    assert crew.reporter.pending() == 2
    crew.store.restore()
    crew.report()
    assert [job.get().result for job in jobs] == [1, 2]


def test_a_write_whose_reply_was_lost_is_recognised_as_its_own(make_crew, announced):
    app, crew = make_crew(Script(1))
    job = app.submit("p")
    crew.claim()
    crew.lane.run()
    crew.store.lose_reply("apply")
    with pytest.raises(StoreUnavailable):
        crew.report()
    crew.report()

    assert kinds_of(app, job) == [Kind.COMPLETED]
    assert announced == [Kind.COMPLETED]
    assert crew.reporter.stale == 0
    assert len(crew.in_flight) == 0


def test_a_retry_whose_reply_was_lost_keeps_its_delay(open_app, announced):
    app = open_app(pipeline_of(failing(9), retry=None))
    app.subscribe(lambda applied: announced.append(applied.decision.entry.kind))
    crew = Crew(app)
    job = app.submit("p")
    crew.claim()
    crew.lane.run()
    crew.store.lose_reply("apply")
    with pytest.raises(StoreUnavailable):
        crew.report()
    due_at = job.get().job.run_at
    crew.report()

    assert due_at > crew.clock.now()
    assert job.get().job.run_at == due_at
    assert announced == [Kind.RETRIED]
    assert crew.reporter.stale == 0


def test_a_worker_that_begins_to_drain_recognises_its_own_write_too(make_crew, announced):
    app, crew = make_crew(Script("a"), Script("b"))
    app.submit("p")
    crew.claim()
    crew.lane.run()
    crew.store.lose_reply("apply")
    with pytest.raises(StoreUnavailable):
        crew.report()
    crew.reporter.draining = True
    crew.report()

    assert announced == [Kind.ADVANCED]
    assert [attempt.job.stage for attempt in crew.in_flight.all()] == ["two"]


def test_the_next_stage_starts_once_although_the_database_failed_in_between(make_crew, announced):
    script = Script("b", "c")
    app, crew = make_crew(Script("a", "a"), script)
    changed, plain = app.submit("p"), app.submit("p")
    crew.claim()
    crew.lane.run()
    crew.store.do_first("apply", lambda: app.cancel(changed.id, by="ada"))
    crew.store.refuse("get")
    with pytest.raises(StoreUnavailable):
        crew.report()
    crew.store.restore()
    crew.report()
    crew.report()

    assert [attempt.job.id for attempt in crew.lane.waiting] == [plain.id]
    assert announced.count(Kind.ADVANCED) == 1
    assert announced.count(Kind.LATE) == 1


def test_a_harmless_change_meanwhile_means_deciding_again(make_crew):
    app, crew = make_crew(Script(1))
    job = app.submit("p")
    crew.claim()
    crew.lane.run()

    def touch():
        """Change the row as an operator's tool might, without taking the job away."""
        row = job.get().job
        entry = row._replace(deadline_at=crew.clock.now() + SECOND_US)
        _write(app, entry)

    crew.store.do_first("apply", touch)
    crew.report()
    assert job.get().state is JobState.PROCESSING
    assert crew.reporter.pending() == 1
    assert crew.report() == 0

    assert job.get().state is JobState.COMPLETE
    assert job.get().job.deadline_at is not None


def _write(app: Holdfast, row) -> None:
    """Bump the revision and set the deadline, directly in the database."""
    table = "holdfast_job" if app.store.url.startswith("sqlite") else "holdfast.job"
    with app.store.transaction() as connection:
        connection.execute(
            f"update {table} set revision = revision + 1, deadline_at = {row.deadline_at} "
            f"where id = '{row.id}'"
        )


def test_an_outcome_of_a_lost_lease_is_dropped(make_crew):
    app, crew = make_crew(Script(1))
    other = Crew(app, name="w2")
    job = app.submit("p")
    crew.claim()
    crew.lane.run()
    crew.clock.advance(31)
    other.sweep()
    crew.clock.advance(10)
    other.claim()
    crew.report()

    row = job.get().job
    assert (row.state, row.holder, row.attempt) == (JobState.PROCESSING, "w2", 2)
    assert crew.reporter.stale == 1
    assert len(crew.in_flight) == 0
    assert kinds_of(app, job) == [Kind.RETRIED]


def test_a_worker_that_lost_and_regained_a_job_finishes_only_the_new_attempt(make_crew):
    app, crew = make_crew(Script("old", "new"))
    job = app.submit("p")
    crew.claim()
    crew.lane.run()
    crew.clock.advance(31)
    crew.sweep()
    crew.clock.advance(10)
    crew.claim()
    crew.report()

    assert job.get().state is JobState.PROCESSING
    assert [attempt.lease.token for attempt in crew.in_flight.all()] == [2]
    crew.lane.run()
    crew.report()
    assert job.get().result == "new"


def test_a_result_after_the_deadline_is_kept_as_late(make_crew):
    app, crew = make_crew(Script(1))
    job = app.submit("p", deadline=60)
    crew.claim()
    crew.clock.advance(61)
    crew.lane.run()
    crew.report()

    view = job.get()
    assert (view.state, view.error["error_class"], view.late_result) == ("failed", "TIMEOUT", 1)


def test_a_result_after_the_sweeper_is_kept_as_late_and_flips_nothing(make_crew):
    app, crew = make_crew(Script(1))
    job = app.submit("p", deadline=60)
    crew.claim()
    crew.clock.advance(61)
    crew.sweep()
    crew.lane.run()
    crew.report()
    crew.report()

    view = job.get()
    assert (view.state, view.error["error_class"], view.late_result) == ("failed", "TIMEOUT", 1)
    assert kinds_of(app, job) == [Kind.EXPIRED, Kind.LATE]
    assert app.verify() == []


def test_a_completion_after_a_cancel_is_noted_and_flips_nothing(make_crew):
    app, crew = make_crew(Script(1))
    job = app.submit("p")
    crew.claim()
    app.cancel(job.id, by="ada")
    crew.lane.run()
    crew.report()
    crew.report()

    assert job.get().state is JobState.CANCELLED
    assert kinds_of(app, job) == [Kind.CANCELLED, Kind.LATE]
    assert app.verify() == []


def test_a_failure_after_a_cancel_is_dropped(make_crew):
    app, crew = make_crew(failing(1))
    job = app.submit("p")
    crew.claim()
    app.cancel(job.id, by="ada")
    crew.lane.run()
    crew.report()
    crew.report()

    assert kinds_of(app, job) == [Kind.CANCELLED]
    assert crew.reporter.stale == 1


def test_a_job_that_is_gone_is_dropped(make_crew):
    app, crew = make_crew(Script(1))
    job = app.submit("p")
    crew.claim()
    crew.lane.run()
    table = "holdfast_job" if app.store.url.startswith("sqlite") else "holdfast.job"
    with app.store.transaction() as connection:
        connection.execute(f"delete from {table}")
    crew.report()

    assert crew.reporter.pending() == 0
    assert crew.reporter.stale == 1
    assert app.jobs() == []
    assert job.id


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


def late_attempt(crew):
    """An attempt that was given up, and whose job has passed its deadline."""
    crew.claim()
    attempt = crew.lane.waiting.popleft()
    attempt.fate, attempt.ended = Fate.TIMED_OUT, True
    crew.clock.advance(61)
    crew.sweep()
    return attempt


def test_what_a_handler_returns_after_its_attempt_was_given_up_is_kept_as_late(
    make_crew, announced
):
    app, crew = make_crew(Script())
    job = app.submit("p", deadline=60)
    attempt = late_attempt(crew)
    crew.reporter.report_late(attempt, {"pages": 3})
    assert crew.reporter.wake.is_set()
    crew.report()

    assert job.get().late_result == {"pages": 3}
    assert job.get().state is JobState.FAILED
    assert announced == [Kind.EXPIRED, Kind.LATE]


def test_a_late_result_waits_for_the_database(make_crew):
    app, crew = make_crew(Script())
    job = app.submit("p", deadline=60)
    attempt = late_attempt(crew)
    crew.reporter.report_late(attempt, 1)
    crew.store.refuse("apply")
    with pytest.raises(StoreUnavailable):
        crew.report()
    crew.store.restore()
    crew.store.skip("apply", set())
    assert crew.report() == reporting.AGAIN_US
    crew.store.restore()
    crew.report()

    assert job.get().late_result == 1


def test_what_comes_late_for_a_job_that_others_run_by_now_is_nothing(make_crew):
    app, crew = make_crew(Script())
    job = app.submit("p")
    crew.claim()
    attempt = crew.lane.waiting.popleft()
    crew.clock.advance(31)
    crew.sweep()
    row = job.get().job
    crew.reporter.report_late(attempt, "late")
    crew.report()

    assert job.get().job == row


def test_what_comes_late_and_is_no_result_is_nothing(make_crew):
    app, crew = make_crew(Script())
    job = app.submit("p", deadline=60)
    attempt = late_attempt(crew)
    crew.reporter.report_late(attempt, object())
    crew.report()

    assert job.get().late_result is None


def test_an_attempt_stopped_right_before_the_deadline_is_left_to_the_sweeper(make_crew):
    """The clocks of the lane and the store may differ by a moment."""
    app, crew = make_crew(Script(TimeoutError()))
    job = app.submit("p", deadline=60)
    crew.claim()
    [attempt] = crew.lane.waiting
    crew.clock.advance(59)
    attempt.fate = Fate.TIMED_OUT
    crew.lane.run()
    attempt.ends_with_job = True
    crew.report()
    assert job.get().state is JobState.PROCESSING

    crew.clock.advance(2)
    crew.sweep()
    assert job.get().error["error_class"] == "TIMEOUT"


def test_while_many_end_at_a_time_it_waits_a_moment_for_more(make_crew):
    many = reporting.LINGER_FROM + 4
    app, crew = make_crew(Script(then=1), limit=many)
    for _ in range(many):
        app.submit("p")
    crew.claim()
    crew.lane.run(reporting.LINGER_FROM)
    crew.report()

    assert len(crew.in_flight) == 4
