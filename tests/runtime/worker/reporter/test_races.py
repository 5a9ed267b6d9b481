"""Outcomes become decisions once, whatever happens to the job or the database meanwhile."""

import pytest

from holdfast import Holdfast, JobState
from holdfast.core.job.decision import Kind
from holdfast.core.values.instant import SECOND_US
from holdfast.errors import StoreUnavailable
from holdfast.testing import Script, failing
from tests.runtime.crew import Crew, pipeline_of
from tests.runtime.worker.reporter.ledgers import kinds_of


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


def test_what_was_applied_is_not_applied_again_when_announcing_it_is_broken_off(make_crew):
    app, crew = make_crew(Script("a"), Script("b"))
    job = app.submit("p")
    crew.claim()
    crew.lane.run()

    def stop(applied):
        raise SystemExit

    cancel = app.subscribe(stop)
    with pytest.raises(SystemExit):
        crew.report()
    cancel()
    writes = crew.store.calls.count("apply")
    crew.report()

    assert crew.reporter.pending() == 0
    assert crew.store.calls.count("apply") == writes
    assert [attempt.job.stage for attempt in crew.lane.waiting] == ["two"]
    assert job.get().job.stage == "two"


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
