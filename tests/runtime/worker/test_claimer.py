"""Which jobs a worker takes, when it looks again, and what it leaves alone."""

import pytest

from holdfast import Holdfast, JobState, Pipeline, Submit
from holdfast.core.job.decision import Kind
from holdfast.core.job.job import DEFAULT_QUEUE, Job
from holdfast.core.job.plan import Plan, StagePlan
from holdfast.core.values.instant import SECOND_US
from holdfast.core.values.retry import Retry
from holdfast.errors import StoreUnavailable
from holdfast.runtime.worker.claimer import AGAIN_US, MAX_UNAPPLIED
from holdfast.runtime.worker.pace import PREFETCH_US
from holdfast.runtime.worker.shares import REST_US
from holdfast.testing import Script, failing
from tests.runtime.crew import LEASE_US, Crew, pipeline_of


def row_of(app: Holdfast, job) -> Job:
    return app.job(job.id).job


def test_it_claims_as_many_as_there_is_room_for(open_app):
    app = open_app(pipeline_of(Script(then=1)))
    crew = Crew(app, limit=3)
    for _ in range(5):
        app.submit("p")

    assert crew.claim() == 0
    assert crew.lane.load() == 3
    assert crew.claim() == SECOND_US
    assert crew.lane.load() == 3
    crew.lane.run()
    crew.report()
    crew.claim()
    assert crew.lane.load() == 2


def test_a_place_that_becomes_free_wakes_it_only_when_places_were_missing(open_app):
    app = open_app(pipeline_of(Script(then=1)))
    crew = Crew(app, limit=1)
    app.submit("p")
    crew.work()

    assert not crew.claimer.wake.is_set()
    app.submit("p")
    app.submit("p")
    crew.claim()
    crew.claim()
    crew.lane.run()
    crew.report()
    assert crew.claimer.wake.is_set()


def test_a_job_that_goes_back_to_the_queue_wakes_it(open_app):
    app = open_app(pipeline_of(failing(1)))
    crew = Crew(app)
    app.submit("p")
    crew.work()

    assert crew.claimer.wake.is_set()


def test_it_looks_again_when_the_next_job_is_due(open_app):
    app = open_app(pipeline_of(Script(then=1)))
    crew = Crew(app)
    app.submit("p", delay=0.3)

    assert crew.claim() == 300_000
    crew.clock.advance(0.3)
    crew.claim()
    assert crew.lane.load() == 1


def test_with_nothing_due_it_polls_spread_around_its_interval(open_app):
    app = open_app(pipeline_of(Script(then=1)))
    crew = Crew(app)

    waits = {crew.claim() for _ in range(20)}

    assert all(0.75 * SECOND_US <= wait <= 1.25 * SECOND_US for wait in waits)
    assert len(waits) > 10


def test_a_due_job_it_could_not_get_is_not_looked_for_in_a_tight_loop(open_app):
    app = open_app(pipeline_of(Script(then=1)))
    crew = Crew(app)
    app.submit("p", deadline=1)
    crew.clock.advance(2)

    assert crew.claim() == AGAIN_US
    assert crew.lane.load() == 0


def test_no_stage_is_always_looked_at_first(open_app):
    """Within one priority the store goes by the order of the routes."""
    pipelines = [pipeline_of(Script(then=1), name=name) for name in ("a", "b", "c")]
    app = open_app(*pipelines)
    first = set()
    for seed in range(20):
        for pipeline in pipelines:
            app.submit(pipeline)
        crew = Crew(app, limit=1, seed=seed)
        crew.claim()
        [attempt] = crew.lane.waiting
        first.add(attempt.job.pipeline)

    assert first == {"a", "b", "c"}


def test_unknown_pipelines_and_stages_are_left_as_they_are(open_app):
    foreign, known = pipeline_of(Script(), name="foreign"), pipeline_of(Script(), Script())
    both, app = open_app(foreign, known), open_app(known)
    unknown_pipeline = both.submit(foreign)
    unknown_stage = both.submit(known)
    before = [row_of(both, unknown_pipeline), row_of(both, unknown_stage)]
    crew = Crew(app, stages=["two"])
    for _ in range(3):
        crew.claim()
        crew.sweep()
        crew.clock.advance(100)

    assert [row_of(both, unknown_pipeline), row_of(both, unknown_stage)] == before
    assert crew.lane.load() == 0


def test_jobs_nobody_can_run_are_pointed_out(open_app, caplog):
    foreign, known = pipeline_of(Script(), name="foreign"), pipeline_of(Script())
    both, app = open_app(foreign, known), open_app(known)
    both.submit(foreign)
    crew = Crew(app)
    crew.sweeper.tick(crew.clock.now())

    assert "wait for a worker" not in caplog.text
    crew.clock.advance(61)
    crew.sweeper.tick(crew.clock.now())
    assert "1 jobs wait for a worker that knows stage 'one' of pipeline 'foreign'" in caplog.text


def test_other_queues_and_paused_ones_are_left_alone(open_app):
    app = open_app(pipeline_of(Script(then=1)))
    elsewhere = app.submit("p", queue="elsewhere")
    here = app.submit("p")
    app.pause_queue(DEFAULT_QUEUE, by="ada")
    crew = Crew(app)
    crew.claim()

    assert crew.lane.load() == 0
    app.resume_queue(DEFAULT_QUEUE)
    crew.claim()
    assert [attempt.job.id for attempt in crew.lane.waiting] == [here.id]
    assert elsewhere.get().state is JobState.QUEUED


def test_a_draining_or_unhealthy_worker_claims_nothing(open_app):
    app = open_app(pipeline_of(Script(then=1)))
    job = app.submit("p")
    crew = Crew(app)
    crew.is_healthy = False
    crew.claim()
    crew.is_healthy = True
    crew.claimer.draining = True
    crew.claim()

    assert job.get().state is JobState.QUEUED
    assert crew.claimer.drain(timeout_s=0)


def test_jobs_of_a_claim_whose_reply_was_lost_are_run(open_app, caplog):
    app = open_app(pipeline_of(Script(then=1)))
    jobs = [app.submit("p"), app.submit("p")]
    crew = Crew(app)
    crew.store.lose_reply("claim")
    with pytest.raises(StoreUnavailable):
        crew.claim()
    assert crew.lane.load() == 0
    crew.claim()
    crew.lane.run()
    crew.report()

    assert [job.get().state for job in jobs] == [JobState.COMPLETE] * 2
    assert [row_of(app, job).attempt for job in jobs] == [1, 1]
    assert "a claim whose reply was lost" in caplog.text


def test_a_job_whose_lease_ended_meanwhile_is_not_adopted(open_app):
    app = open_app(pipeline_of(Script(then=1)))
    job = app.submit("p")
    crew = Crew(app)
    crew.store.lose_reply("claim")
    with pytest.raises(StoreUnavailable):
        crew.claim()
    crew.clock.advance(LEASE_US / SECOND_US)
    crew.claim()

    assert crew.lane.load() == 0
    assert (row_of(app, job).holder, row_of(app, job).attempt) == (crew.id, 1)


def test_the_shares_of_a_lane_together_claim_no_more_than_it_has_room_for(open_app):
    app = open_app(pipeline_of(Script(then=1)), pipeline_of(Script(then=1), name="q"))
    crew = Crew(app, limit=20)
    for _ in range(17):
        app.submit("p")
    crew.claim()
    assert crew.lane.load() == 17
    for _ in range(5):
        app.submit("p")
        app.submit("q")
    crew.claim()

    assert crew.lane.load() == 20


def test_a_claim_that_never_was_leaves_nothing_to_adopt(open_app, caplog):
    app = open_app(pipeline_of(Script(then=1)))
    job = app.submit("p")
    crew = Crew(app)
    crew.store.refuse("claim")
    with pytest.raises(StoreUnavailable):
        crew.claim()
    crew.store.restore()
    crew.work()

    assert job.get().state is JobState.COMPLETE
    assert "reply was lost" not in caplog.text


def test_an_outage_between_a_claim_and_its_start_costs_no_attempt(open_app):
    app = open_app(pipeline_of(Script("a"), Script("b")))
    job = app.submit("p")
    Crew(app, name="w0", stages=["one"]).work()
    crew = Crew(app)
    crew.store.refuse("checkpoints")
    with pytest.raises(StoreUnavailable):
        crew.claim()
    crew.store.restore()
    crew.work()

    assert job.get().result == "b"
    assert row_of(app, job).attempt == 1


def test_a_job_the_reporter_moves_on_is_not_adopted_as_well(open_app):
    app = open_app(pipeline_of(Script("a"), Script("b")))
    job = app.submit("p")
    crew = Crew(app)
    crew.claim()
    crew.lane.run()
    crew.store.lose_reply("apply")
    with pytest.raises(StoreUnavailable):
        crew.report()
    crew.store.refuse("claim")
    with pytest.raises(StoreUnavailable):
        crew.claim()
    crew.store.restore()
    crew.claim()
    crew.report()

    assert row_of(app, job).stage == "two"
    assert [attempt.job.stage for attempt in crew.lane.waiting] == ["two"]


def test_a_later_stage_gets_the_results_of_those_before(open_app):
    def show(job):
        return dict(job.results)

    app = open_app(pipeline_of(Script("a"), Script("b"), Script(show)))
    app.submit("p")
    Crew(app, name="w1", stages=["one"]).work()
    Crew(app, name="w2", stages=["two"]).work()
    Crew(app, name="w3", stages=["three"]).work()

    [view] = app.jobs()
    assert view.result == {"one": "a", "two": "b"}


def test_one_plan_that_cannot_be_read_spares_the_jobs_of_others(open_app, caplog):
    sound, odd = pipeline_of(Script(then=1)), pipeline_of(Script(then=1), name="odd")
    app = open_app(sound, odd)
    jobs = [app.submit(pipeline) for pipeline in (sound, odd, sound, odd)]
    table = "holdfast_plan" if app.store.url.startswith("sqlite") else "holdfast.plan"
    with app.store.transaction() as connection:
        connection.execute(
            f"""update {table} set body = '{{"stages": 1}}' where pipeline = 'odd'"""
        )
    crew = Crew(app)
    crew.work()

    assert [job.get().state for job in jobs] == ["complete", "processing"] * 2
    assert caplog.text.count("plan cannot be used") == 1


def test_a_job_runs_by_the_plan_it_was_made_with(open_app):
    """An older declaration had other stages: the job goes on by their names."""
    older = pipeline_of(Script("a"), Script(), Script("c"))
    app = open_app(older)
    job = app.submit(older)
    newer = Pipeline("p", retry=Retry(attempts=1))
    newer.stage(name="three")(Script("c").handler)
    newer.stage(name="one")(Script("a").handler)
    newer_app = open_app(newer)
    crew = Crew(newer_app)
    crew.work()
    crew.lane.run()
    crew.report()

    row = row_of(app, job)
    assert (row.state, row.stage) == (JobState.QUEUED, "two")
    assert [item.entry.stage for item in app.store.ledger(job.id)] == ["one"]
    crew.claim()
    assert crew.lane.load() == 0


def test_a_job_whose_stage_its_own_plan_lacks_is_left_to_its_lease(open_app, caplog):
    app = open_app(pipeline_of(Script(), Script()))
    job = app.submit("p")
    other = Plan("p", (StagePlan("two", Retry()),))
    app.store.save_plan(other, now=app.clock.now())
    table = "holdfast_job" if app.store.url.startswith("sqlite") else "holdfast.job"
    with app.store.transaction() as connection:
        connection.execute(f"update {table} set plan = '{other.digest}'")
    crew = Crew(app)
    crew.work()

    assert "it has no stage 'one'" in caplog.text
    assert job.get().state is JobState.PROCESSING
    assert app.store.ledger(job.id) == []


def test_a_lease_is_as_long_as_it_was_asked_for(open_app):
    app = open_app(pipeline_of(Script()))
    job = app.submit("p")
    Crew(app).claim()

    row = row_of(app, job)
    assert (row.lease_until, row.holder) == (app.clock.now() + LEASE_US, "w1")


def test_fast_lanes_are_filled_ahead(open_app):
    app = open_app(pipeline_of(Script(then=1)))
    crew = Crew(app, limit=1)
    for _ in range(10):
        app.submit("p")
    crew.claim()
    assert crew.lane.load() == 1
    crew.claimer.freed(1_000_000, requeued=False)
    crew.clock.advance(PREFETCH_US / SECOND_US)
    crew.claim()

    assert crew.lane.load() == 10


def test_a_fast_lane_gets_more_when_it_runs_low_before_what_it_did_is_applied(open_app):
    app = open_app(pipeline_of(Script(then=1)))
    crew = Crew(app, limit=2)
    app.submit_many("p", [Submit()] * 30)
    crew.claim()
    crew.claimer.freed(10, requeued=False)
    crew.clock.advance(PREFETCH_US / SECOND_US)
    crew.claim()
    crew.claim()
    assert crew.lane.load() == 12

    crew.lane.run(5)
    assert not crew.claimer.wake.is_set()
    crew.lane.run(1)
    assert crew.claimer.wake.is_set()
    crew.claim()
    assert crew.lane.load() == 12


def test_attempts_that_ended_do_not_pile_up_while_they_wait_to_be_applied(open_app):
    app = open_app(pipeline_of(Script(then=1)))
    app.submit_many("p", [Submit()] * 2 * MAX_UNAPPLIED)
    crew = Crew(app, limit=600)
    for _ in range(10):
        crew.claim()
        crew.lane.run()

    assert MAX_UNAPPLIED <= crew.reporter.pending() <= MAX_UNAPPLIED + 600
    assert not crew.lane.waiting
    crew.claimer.wake.clear()
    while crew.reporter.pending():
        crew.report()
    assert crew.claimer.wake.is_set()
    crew.claim()
    assert crew.lane.waiting


def test_a_slow_lane_gets_more_once_what_it_did_is_applied(open_app):
    app = open_app(pipeline_of(Script(then=1)))
    crew = Crew(app, limit=2)
    app.submit_many("p", [Submit()] * 3)
    crew.claim()
    crew.claim()

    crew.lane.run(1)
    assert not crew.claimer.wake.is_set()
    crew.report()
    assert crew.claimer.wake.is_set()


def test_two_workers_share_the_jobs_and_no_job_twice(open_app):
    app = open_app(pipeline_of(Script(then=1)))
    for _ in range(8):
        app.submit("p")
    crews = [Crew(app, name="w1", limit=5), Crew(app, name="w2", limit=5)]
    for crew in crews:
        crew.work()

    kinds = [item.entry.kind for view in app.jobs() for item in app.store.ledger(view.job.id)]
    assert kinds == [Kind.COMPLETED] * 8


def test_nothing_runs_before_it_is_due(open_app, clock):
    app = open_app(pipeline_of(Script(then=1)))
    job = app.submit("p", delay=60)
    clock.advance(59.999999)
    crew = Crew(app)
    crew.claim()

    assert crew.lane.load() == 0
    clock.advance(0.000001)
    crew.claim()
    assert [attempt.job.id for attempt in crew.lane.waiting] == [job.id]


def test_a_pipeline_without_due_jobs_is_not_looked_for_at_every_turn_of_a_busy_one(open_app):
    app = open_app(*(pipeline_of(Script(then=1), name=name) for name in ("busy", "idle")))
    crew = Crew(app, limit=20)
    for _ in range(17):
        app.submit("busy")
    crew.claim()
    app.submit("busy")
    crew.claim()
    assert crew.lane.load() == 18

    app.submit("idle")
    crew.claim()
    assert crew.lane.load() == 18
    crew.clock.advance(REST_US / SECOND_US)
    crew.claim()
    assert crew.lane.load() == 19
