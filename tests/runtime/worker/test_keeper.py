"""Leases live while their worker does, and no longer."""

import pytest

from holdfast import JobState
from holdfast.errors import StoreUnavailable
from holdfast.runtime.attempts.attempt import Fate
from holdfast.runtime.worker.keeper import Keeper
from holdfast.testing import Script
from tests.runtime.crew import LEASE_US, Crew, pipeline_of


@pytest.fixture
def app(open_app):
    return open_app(pipeline_of(Script(then=1), Script(then=2)))


def test_a_lease_is_renewed_three_times_in_its_life(app):
    job = app.submit("p")
    crew = Crew(app)
    crew.claim()
    before = job.get().job

    crew.clock.advance(9)
    assert crew.renew() == LEASE_US // 3
    after = job.get().job
    assert after.lease_until == crew.clock.now() + LEASE_US
    assert after == before._replace(lease_until=after.lease_until)


def test_a_renewed_lease_is_not_swept(app):
    job = app.submit("p")
    crew, other = Crew(app), Crew(app, name="w2")
    crew.claim()
    for _ in range(5):
        crew.clock.advance(20)
        crew.renew()
        other.sweep()

    assert job.get().job.holder == "w1"
    assert job.get().job.attempt == 1


def test_a_lease_that_was_lost_stops_its_attempt(app, caplog):
    app.submit("p")
    crew, other = Crew(app), Crew(app, name="w2")
    crew.claim()
    crew.clock.advance(31)
    other.sweep()
    crew.renew()

    [(attempt, fate)] = crew.lane.stopped
    assert fate is Fate.LOST
    assert "lease lost" in caplog.text
    crew.lane.run()
    assert crew.reporter.pending() == 0
    assert len(crew.in_flight) == 0
    assert attempt.ended


def test_a_cancelled_job_stops_its_attempt(app):
    job = app.submit("p")
    crew = Crew(app)
    crew.claim()
    app.cancel(job.id, by="ada")
    crew.renew()

    assert [fate for _, fate in crew.lane.stopped] == [Fate.LOST]


def test_the_lease_of_an_attempt_that_has_ended_is_nobodys_loss(app, caplog):
    app.submit("p")
    crew = Crew(app)
    crew.claim()
    crew.lane.run()
    # Right after the commit and before the reporter lets go of the attempt.
    crew.store.do_first("renew", crew.report)
    crew.renew()

    assert crew.lane.stopped == []
    assert "lease lost" not in caplog.text


def test_an_outcome_that_waits_for_the_database_keeps_its_lease(app):
    job = app.submit("p")
    crew, other = Crew(app), Crew(app, name="w2")
    crew.claim()
    crew.lane.run()
    crew.store.refuse("apply")
    for _ in range(4):
        crew.clock.advance(20)
        crew.renew()
        other.sweep()
        with pytest.raises(StoreUnavailable):
            crew.report()
    crew.store.restore()
    crew.report()

    assert job.get().job.stage == "two"


def test_each_worker_reports_itself_alive(app):
    crew = Crew(app)
    crew.renew()
    crew.clock.advance(60)
    crew.renew()

    [worker] = app.workers()
    assert (worker.id, worker.seen_at) == ("w1", crew.clock.now())


def test_a_worker_that_is_told_to_end_hears_of_it_when_it_reports_itself(app):
    crew, other = Crew(app), Crew(app, name="w2")
    crew.renew()
    other.renew()
    app.drain_worker("w1", by="ada", reason="new machine")
    assert (crew.told_to_end, other.told_to_end) == ([], [])

    crew.renew()
    other.renew()
    assert (crew.told_to_end, other.told_to_end) == (["w1"], [])


@pytest.mark.parametrize("error", [None, ValueError("anything")])
def test_attempts_are_stopped_when_no_lease_could_be_renewed_for_a_lease(app, error, caplog):
    job = app.submit("p")
    crew = Crew(app)
    crew.claim()
    keeper = Keeper(
        crew.store,
        holder=crew.id,
        in_flight=crew.in_flight,
        clock=crew.clock,
        lease_us=1,
        stop_attempt=crew.lane.stop,
        describe=crew._describe,
        told_to_end=lambda: None,
    )
    crew.store.refuse("renew", error)
    with pytest.raises((StoreUnavailable, ValueError)):
        keeper.tick(crew.clock.now())

    assert [fate for _, fate in crew.lane.stopped] == [Fate.LOST]
    assert not keeper.healthy()
    assert "stopping 1 attempts" in caplog.text
    assert job.get().state is JobState.PROCESSING


def test_an_outage_shorter_than_a_lease_stops_nothing(app):
    app.submit("p")
    crew = Crew(app)
    crew.claim()
    crew.store.refuse("renew")
    with pytest.raises(StoreUnavailable):
        crew.renew()

    assert crew.lane.stopped == []
    assert crew.keeper.healthy()


def test_renewals_that_fail_make_the_worker_unhealthy_and_success_heals_it(app):
    crew = Crew(app)
    keeper = Keeper(
        crew.store,
        holder=crew.id,
        in_flight=crew.in_flight,
        clock=crew.clock,
        lease_us=LEASE_US,
        stop_attempt=crew.lane.stop,
        describe=crew._describe,
        told_to_end=lambda: None,
    )
    keeper._renewed_at_s -= 21
    assert not keeper.healthy()
    crew.store.refuse("record_worker")
    with pytest.raises(StoreUnavailable):
        keeper.tick(crew.clock.now())
    assert not keeper.healthy()

    crew.store.restore()
    keeper.tick(crew.clock.now())
    assert keeper.healthy()


def test_a_worker_that_cannot_renew_takes_no_more_jobs(app):
    job = app.submit("p")
    crew = Crew(app)
    crew.is_healthy = False
    crew.claim()

    assert job.get().state is JobState.QUEUED
    crew.is_healthy = True
    crew.claim()
    assert job.get().state is JobState.PROCESSING
