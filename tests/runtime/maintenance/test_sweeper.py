"""What time changes is found and settled once, and one bad row holds up nobody."""

import pytest

from holdfast import Holdfast, JobState, Submit, Wait
from holdfast.core.job.decision import Kind
from holdfast.core.job.event import CancelRequested
from holdfast.core.values.instant import SECOND_US, Instant
from holdfast.errors import StaleRevision, StoreUnavailable
from holdfast.runtime.events import settle
from holdfast.runtime.events.announce import Announcer
from holdfast.runtime.kernel.clock import Chance
from holdfast.runtime.kernel.plans import PlanCache
from holdfast.runtime.maintenance import sweeper
from holdfast.runtime.maintenance.sweeper import ANSWER_GRACE_US, Sweeper
from holdfast.testing import ManualClock, Script
from tests.runtime.crew import LEASE_US, Crew, pipeline_of


def kinds_of(app: Holdfast, job_id: str) -> list[Kind]:
    return [item.entry.kind for item in app.store.ledger(job_id)]


def lose_plan_of(app: Holdfast, job_id: str) -> None:
    table = "holdfast_job" if app.store.url.startswith("sqlite") else "holdfast.job"
    with app.store.transaction() as connection:
        connection.execute(f"update {table} set plan = 'lost' where id = '{job_id}'")


@pytest.fixture
def app(open_app):
    return open_app(pipeline_of(Script(then=1)))


def test_a_lost_worker_spends_an_attempt(app):
    job = app.submit("p")
    dead, crew = Crew(app, name="dead"), Crew(app)
    dead.claim()
    crew.clock.advance(30)
    crew.sweep()
    assert job.get().state is JobState.PROCESSING

    crew.clock.advance(0.000001)
    crew.sweep()
    row = job.get().job
    assert (row.state, row.attempt, row.holder) == (JobState.QUEUED, 1, None)
    [entry] = app.store.ledger(job.id)
    assert (entry.entry.error_class, entry.entry.holder) == ("WORKER_LOST", "dead")


def test_a_job_that_kills_its_worker_every_time_fails_in_the_end(app):
    job = app.submit("p")
    crew = Crew(app)
    for number in range(5):
        Crew(app, name=f"victim-{number}").claim()
        crew.clock.advance(31)
        crew.sweep()
        crew.clock.advance(11)

    view = job.get()
    assert (view.state, view.error["error_class"]) == (JobState.FAILED, "WORKER_LOST")
    assert kinds_of(app, job.id) == [Kind.RETRIED, Kind.RETRIED, Kind.FAILED]


def test_a_passed_deadline_ends_queued_running_and_waiting_jobs(open_app):
    app = open_app(pipeline_of(Script(Wait(), 1)))
    crew = Crew(app, limit=1)
    waiting, running = app.submit("p", deadline=60), app.submit("p", deadline=60)
    crew.work()
    crew.claim()
    queued = app.submit("p", deadline=60)
    jobs = [waiting, running, queued]
    assert [job.get().state for job in jobs] == ["waiting", "processing", "queued"]
    crew.clock.advance(60.000001)
    crew.sweep()

    assert [job.get().error["error_class"] for job in jobs] == ["TIMEOUT"] * 3
    assert [kinds_of(app, job.id)[-1] for job in jobs] == [Kind.EXPIRED] * 3


def test_a_deadline_goes_before_an_ended_lease(app):
    job = app.submit("p", deadline=20)
    Crew(app, name="dead").claim()
    crew = Crew(app)
    crew.clock.advance(31)
    crew.sweep()

    assert kinds_of(app, job.id) == [Kind.EXPIRED]


def test_a_wait_nobody_answered_is_a_failed_attempt(open_app):
    app = open_app(pipeline_of(Script(Wait(timeout=5), 1)))
    job = app.submit("p")
    crew = Crew(app)
    crew.work()
    crew.clock.advance(4.9)
    crew.sweep()
    assert job.get().state is JobState.WAITING

    crew.clock.advance(0.1)
    crew.sweep()
    assert job.get().state is JobState.QUEUED
    assert app.store.ledger(job.id)[-1].entry.error_class == "CALLBACK_TIMEOUT"


def test_two_sweepers_reclaim_once(app):
    job = app.submit("p")
    Crew(app, name="dead").claim()
    first, second = Crew(app, name="w1"), Crew(app, name="w2")
    first.clock.advance(31)
    second.store.do_first("apply", first.sweep)
    second.sweep()

    assert kinds_of(app, job.id) == [Kind.RETRIED]
    assert job.get().job.attempt == 1


def test_a_job_that_ended_after_it_was_read_is_left_alone(app):
    job = app.submit("p")
    slow, crew = Crew(app, name="slow"), Crew(app)
    slow.claim()
    slow.lane.run()
    crew.clock.advance(31)
    crew.store.do_first("apply", slow.report)
    crew.sweep()

    assert job.get().state is JobState.COMPLETE
    assert kinds_of(app, job.id) == [Kind.COMPLETED]


def test_a_job_that_another_took_back_and_runs_is_left_to_its_new_worker(app):
    job = app.submit("p")
    Crew(app, name="dead").claim()
    first, second, runner = (Crew(app, name=name) for name in ("w1", "w2", "runner"))
    first.clock.advance(31)

    def take_back_and_run():
        first.sweep()
        first.clock.advance(11)
        runner.claim()

    second.store.do_after("expired", take_back_and_run)
    second.sweep()

    row = job.get().job
    assert (row.state, row.holder, row.attempt) == (JobState.PROCESSING, "runner", 2)


def test_what_was_not_applied_is_not_announced(app):
    app.submit("p")
    Crew(app, name="dead").claim()
    first, second = Crew(app, name="w1"), Crew(app, name="w2")
    first.clock.advance(31)
    announced = []
    app.subscribe(lambda applied: announced.append(applied.decision.entry.kind))
    second.store.do_first("apply", first.sweep)
    second.sweep()

    assert announced == [Kind.RETRIED]


def test_a_job_without_a_plan_holds_up_nobody(app, caplog):
    bad, good = app.submit("p"), app.submit("p")
    dead, crew = Crew(app, name="dead"), Crew(app)
    dead.claim()
    lose_plan_of(app, bad.id)
    before = bad.get().job
    crew.clock.advance(31)
    crew.sweep()

    assert good.get().state is JobState.QUEUED
    assert bad.get().job == before
    assert "plan is not stored" in caplog.text


def test_more_bad_jobs_than_a_chunk_hold_up_nobody(app):
    many = sweeper.CHUNK + 3
    app.submit_many("p", [Submit() for _ in range(many)])
    bad = [view.id for view in app.jobs(limit=many)]
    dead = Crew(app, name="dead", limit=many + 1)
    while dead.lane.load() < many:
        dead.claim()
    table = "holdfast_job" if app.store.url.startswith("sqlite") else "holdfast.job"
    with app.store.transaction() as connection:
        connection.execute(f"update {table} set plan = 'lost'")
    dead.clock.advance(1)
    good = app.submit("p")
    dead.claim()
    crew = Crew(app)
    crew.clock.advance(31)
    crew.sweep()

    assert good.get().state is JobState.QUEUED
    assert {view.state for view in app.jobs(limit=many + 1) if view.id in bad} == {"processing"}


def test_one_decision_that_cannot_be_stored_spares_the_others(app, caplog):
    jobs = [app.submit("p") for _ in range(3)]
    Crew(app, name="dead").claim()
    crew = Crew(app)
    crew.clock.advance(31)

    def refuse_one(decisions):
        return any(decision.job_id == jobs[1].id for decision in decisions)

    crew.store.refuse_if("apply", refuse_one, ValueError("this row is cursed"))
    crew.sweep()

    assert [job.get().state for job in jobs] == ["queued", "processing", "queued"]
    assert "the decision cannot be stored" in caplog.text


@pytest.mark.parametrize("method", ["expired", "load_plan", "apply"])
def test_an_outage_ends_the_sweep_and_is_no_fault_of_the_jobs(app, method):
    job = app.submit("p")
    Crew(app, name="dead").claim()
    crew = Crew(app)
    crew.clock.advance(31)
    crew.store.refuse(method)
    with pytest.raises(StoreUnavailable):
        crew.sweep()

    assert job.get().state is JobState.PROCESSING
    crew.store.restore()
    crew.sweep()
    assert job.get().state is JobState.QUEUED


def test_leases_are_spared_while_the_stores_clock_has_just_been_set(open_app):
    class JumpedClock(ManualClock):
        jumped = True

        def steady_for(self, span_us):
            return not self.jumped

    clock = JumpedClock()
    app = open_app(pipeline_of(Script(then=1)), clock=clock)
    job, overdue = app.submit("p"), app.submit("p", deadline=10)
    Crew(app, name="w0").claim()
    crew = Crew(app)
    clock.advance(3600)
    crew.sweep()

    assert job.get().state is JobState.PROCESSING
    assert overdue.get().state is JobState.FAILED
    clock.jumped = False
    crew.sweep()
    assert job.get().state is JobState.QUEUED


def test_it_sweeps_again_after_its_interval_spread_a_little(app):
    crew = Crew(app)

    waits = set()
    for _ in range(20):
        waits.add(crew.sweeper.tick(crew.clock.now()) - crew.clock.now())
        crew.clock.advance(1.25)

    assert all(0.75 * SECOND_US <= wait <= 1.25 * SECOND_US for wait in waits)
    assert len(waits) > 10


def paced(app: Holdfast, crew: Crew, **options: int) -> Sweeper:
    """A sweeper with paces of its own."""
    return Sweeper(
        crew.store,
        settler=settle.Settler(
            crew.store, plans=PlanCache(crew.store), chance=Chance(1), announcer=app.announcer
        ),
        chance=Chance(1),
        clock=crew.clock,
        lease_us=LEASE_US,
        **{"every_us": SECOND_US, "deadlines_every_us": SECOND_US, **options},
    )


def test_deadlines_and_leases_are_looked_for_each_at_their_own_pace(open_app):
    app = open_app(pipeline_of(Script(Wait(timeout=40), Wait(), then=1)))
    crew = Crew(app, limit=1)
    unanswered, overdue = app.submit("p"), app.submit("p", deadline=40)
    crew.work()
    crew.work()
    lost = app.submit("p")
    crew.claim()
    slow = paced(app, crew, deadlines_every_us=60 * SECOND_US)
    slow.tick(crew.clock.now())
    crew.clock.advance(41)
    slow.tick(crew.clock.now())

    assert [job.get().state for job in (lost, unanswered)] == ["queued", "queued"]
    assert overdue.get().state == "waiting"
    crew.clock.advance(60 * 1.25 - 41)
    slow.tick(crew.clock.now())
    assert overdue.get().error["error_class"] == "TIMEOUT"


def test_leases_may_be_reclaimed_more_slowly_than_deadlines(app):
    crew = Crew(app, limit=1)
    lost, overdue = app.submit("p"), app.submit("p", deadline=40)
    crew.claim()
    slow = paced(app, crew, every_us=60 * SECOND_US)
    slow.tick(crew.clock.now())
    crew.clock.advance(41)
    slow.tick(crew.clock.now())

    assert (lost.get().state, overdue.get().state) == ("processing", "failed")


def test_the_pace_survives_a_clock_that_is_set_back(app):
    crew = Crew(app)
    sweeping = paced(app, crew, deadlines_every_us=60 * SECOND_US)
    job = app.submit("p", deadline=10)
    now = crew.clock.now()
    sweeping.tick(Instant(now + 3600 * SECOND_US))
    assert job.get().state == "failed"

    other = app.submit("p", deadline=10)
    sweeping.tick(Instant(now + 11 * SECOND_US))

    assert other.get().state == "failed"


def test_an_answer_received_in_time_is_left_a_moment_to_be_written(open_app):
    app = open_app(pipeline_of(Script(Wait(), Wait(timeout=60), then=1)))
    crew = Crew(app, limit=2)
    overdue, unanswered = app.submit("p", deadline=60), app.submit("p")
    crew.work()
    patient = paced(app, crew, grace_us=ANSWER_GRACE_US)
    crew.clock.advance(60.2)
    patient.sweep(crew.clock.now())
    assert [job.get().state for job in (overdue, unanswered)] == ["waiting", "waiting"]

    crew.clock.advance(0.1)
    patient.sweep(crew.clock.now())
    assert [job.get().state for job in (overdue, unanswered)] == ["failed", "queued"]


def test_an_event_is_decided_again_while_others_change_the_job(app):
    job = app.submit("p")
    crew = Crew(app)
    store = crew.store
    settler = settle.Settler(store, plans=PlanCache(store), chance=Chance(1), announcer=Announcer())
    store.do_first("apply", crew.claim)
    settled = settler.settle(job.id, lambda _: CancelRequested("ada"), now=crew.clock.now())

    assert settled.ignored is None
    assert settled.job == job.get().job
    assert settled.job.state is JobState.CANCELLED


def test_an_event_that_never_meets_the_job_at_rest_is_given_up(app):
    job = app.submit("p")
    crew = Crew(app)
    settler = settle.Settler(
        crew.store, plans=PlanCache(crew.store), chance=Chance(1), announcer=Announcer()
    )

    def disturb():
        table = "holdfast_job" if app.store.url.startswith("sqlite") else "holdfast.job"
        with app.store.transaction() as connection:
            connection.execute(f"update {table} set revision = revision + 1")
        crew.store.do_first("apply", disturb)

    crew.store.do_first("apply", disturb)
    with pytest.raises(StaleRevision, match="at revision 8, not at revision 7"):
        settler.settle(job.id, lambda _: CancelRequested("ada"), now=crew.clock.now())
    assert crew.store.calls.count("apply") == settle.TRIES


def test_a_job_that_somebody_has_locked_is_said_to_be_locked(app):
    job = app.submit("p")
    crew = Crew(app)
    settler = settle.Settler(
        crew.store, plans=PlanCache(crew.store), chance=Chance(1), announcer=Announcer()
    )
    crew.store.skip("apply", set())

    with pytest.raises(StoreUnavailable, match=f"locked job {job.id}"):
        settler.settle(job.id, lambda _: CancelRequested("ada"), now=crew.clock.now())
    assert job.get().state is JobState.QUEUED
