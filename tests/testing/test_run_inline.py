"""`run_inline` and `drain`: jobs in the calling thread, on both databases."""

import asyncio

import pytest

from holdfast import (
    GiveUp,
    Holdfast,
    JobState,
    Pipeline,
    Retry,
    RetryLater,
    UsageError,
    Wait,
)
from holdfast.core.job.decision import Kind
from holdfast.testing import Script, drain, failing, run_inline

STEADY = Retry(attempts=3, base=10, factor=1, jitter="none")


def pipeline_of(script, **options):
    pipeline = Pipeline("work", retry=STEADY)
    pipeline.stage(name="step", **options)(script.handler)
    return pipeline


def test_due_jobs_run_to_their_end_in_this_thread(open_app):
    pipeline = pipeline_of(Script({"n": 1}, {"n": 2}))
    app = open_app(pipeline)
    jobs = [app.submit(pipeline), app.submit(pipeline)]

    happened = run_inline(app)

    assert [(ran.job_id, ran.event, ran.attempt) for ran in happened] == [
        (job.id, Kind.COMPLETED, 1) for job in jobs
    ]
    assert [job.get().result for job in jobs] == [{"n": 1}, {"n": 2}]
    assert app.verify() == []


def test_what_is_not_due_waits_until_the_clock_is_moved(open_app, clock):
    pipeline = pipeline_of(failing(1))
    app = open_app(pipeline)
    job = app.submit(pipeline)

    assert [ran.event for ran in run_inline(app)] == [Kind.RETRIED]
    clock.advance(9.999999)
    assert run_inline(app) == []
    clock.advance(0.000001)
    assert [ran.event for ran in run_inline(app)] == [Kind.COMPLETED]
    assert job.get().state is JobState.COMPLETE


def test_drain_jumps_from_retry_to_retry(open_app, clock):
    pipeline = pipeline_of(failing(9, TimeoutError("slow")))
    app = open_app(pipeline)
    job = app.submit(pipeline)
    began_at = clock.now()

    happened = drain(app)

    assert [(ran.event, ran.attempt, ran.at - began_at) for ran in happened] == [
        (Kind.RETRIED, 1, 0),
        (Kind.RETRIED, 2, 10_000_000),
        (Kind.FAILED, 3, 20_000_000),
    ]
    assert happened[-1].error_class == "NETWORK_TIMEOUT"
    assert job.get().error["message"] == "slow"


def test_stages_follow_each_other_and_see_earlier_results(open_app):
    pipeline = Pipeline("three")

    @pipeline.stage
    def fetch(job):
        return {"text": job.payload["name"].upper()}

    @pipeline.stage
    async def measure(job, fetch: dict):
        await asyncio.sleep(0)
        return len(fetch["text"])

    @pipeline.stage
    def show(job, measure: int):
        return f"{job.results['fetch']['text']}:{measure}"

    app = open_app(pipeline)
    job = app.submit(pipeline, {"name": "abc"})

    happened = run_inline(app)

    assert [ran.stage for ran in happened] == ["fetch", "measure", "show"]
    assert job.get().result == "ABC:3"


def test_it_stops_when_the_job_it_waits_for_has_ended(open_app):
    script = Script(then=1)
    pipeline = pipeline_of(script)
    app = open_app(pipeline)
    first = app.submit(pipeline)
    second = app.submit(pipeline)

    run_inline(app, until=first)

    assert first.get().state is JobState.COMPLETE
    assert second.get().state is JobState.QUEUED
    run_inline(app, until=second.id)
    assert second.get().state is JobState.COMPLETE


def test_it_stops_when_a_condition_holds(open_app):
    script = Script(then=1)
    pipeline = pipeline_of(script)
    app = open_app(pipeline)
    for _ in range(5):
        app.submit(pipeline)

    run_inline(app, until=lambda: len(script.calls) == 3)

    assert len(script.calls) == 3


def test_urgent_jobs_run_first_and_equals_in_the_order_of_submission(open_app):
    pipeline = pipeline_of(Script(then=1))
    app = open_app(pipeline)
    jobs = [app.submit(pipeline, priority=priority) for priority in (2, 0, 1, 0)]

    happened = run_inline(app)

    assert [ran.job_id for ran in happened] == [jobs[n].id for n in (1, 3, 2, 0)]


def test_a_plain_handler_times_out_by_the_apps_clock(open_app, clock):
    def slow(job):
        clock.advance(31)
        return "too late"

    pipeline = pipeline_of(Script(slow, "in time"), timeout=30)
    app = open_app(pipeline)
    job = app.submit(pipeline)

    happened = drain(app)

    assert [(ran.event, ran.error_class) for ran in happened] == [
        (Kind.RETRIED, "STAGE_TIMEOUT"),
        (Kind.COMPLETED, None),
    ]
    assert job.get().result == "in time"


def test_an_async_handler_is_stopped_when_its_time_is_up(open_app):
    pipeline = Pipeline("slow", retry=Retry(attempts=1))

    @pipeline.stage(timeout=0.01)
    async def hang(job):
        await asyncio.Event().wait()

    app = open_app(pipeline)
    job = app.submit(pipeline)

    run_inline(app)

    assert job.get().error["error_class"] == "STAGE_TIMEOUT"


def test_a_result_after_the_deadline_is_kept_as_late(open_app, clock):
    def slow(job):
        clock.advance(61)
        return "late"

    pipeline = pipeline_of(Script(slow))
    app = open_app(pipeline)
    job = app.submit(pipeline, deadline=60)

    run_inline(app)

    view = job.get()
    assert (view.state, view.error["error_class"]) == (JobState.FAILED, "TIMEOUT")
    assert view.late_result == "late"


def test_drain_passes_waits_and_deadlines(open_app):
    pipeline = Pipeline("ask", retry=Retry(attempts=1))
    pipeline.stage(name="step")(Script(Wait(timeout=60), Wait()).handler)
    app = open_app(pipeline)
    unanswered = app.submit(pipeline)
    overdue = app.submit(pipeline, deadline=3600)

    drain(app)

    assert unanswered.get().error["error_class"] == "CALLBACK_TIMEOUT"
    assert overdue.get().error["error_class"] == "TIMEOUT"


def test_a_wait_without_end_does_not_keep_drain_from_ending(open_app):
    pipeline = pipeline_of(Script(Wait()))
    app = open_app(pipeline)
    job = app.submit(pipeline)

    drain(app)

    assert job.get().state is JobState.WAITING


def test_signals_of_handlers_are_understood(open_app):
    pipeline = pipeline_of(Script(RetryLater(after=5), GiveUp("NOT_FOUND", "gone")))
    app = open_app(pipeline)
    job = app.submit(pipeline)

    assert [(ran.event, ran.attempt) for ran in drain(app)] == [
        (Kind.SNOOZED, 1),
        (Kind.FAILED, 1),
    ]
    assert job.get().error["error_class"] == "NOT_FOUND"


def test_a_handler_that_exits_has_failed_and_spends_an_attempt(open_app):
    pipeline = pipeline_of(Script(SystemExit, 1))
    app = open_app(pipeline)
    job = app.submit(pipeline)

    assert [ran.event for ran in drain(app)] == [Kind.RETRIED, Kind.COMPLETED]
    assert job.get().job.attempt == 2


def test_ctrl_c_hands_the_job_back_and_goes_on_to_the_caller(open_app):
    pipeline = pipeline_of(Script(KeyboardInterrupt))
    app = open_app(pipeline)
    job = app.submit(pipeline)

    with pytest.raises(KeyboardInterrupt):
        run_inline(app)
    assert job.get().state is JobState.QUEUED
    assert job.get().job.attempt == 0


def test_paused_queues_and_foreign_pipelines_are_left_alone(open_app):
    known, foreign = pipeline_of(Script(then=1)), Pipeline("foreign")
    foreign.stage(name="step")(Script().handler)
    both, app = open_app(known, foreign), open_app(known)
    waiting = app.submit(known, queue="paused")
    unknown = both.submit(foreign)
    app.pause_queue("paused", by="test")

    assert drain(app) == []
    assert waiting.get().state is JobState.QUEUED
    assert unknown.get().job.revision == both.job(unknown.id).job.revision == 0
    app.resume_queue("paused")
    assert [ran.job_id for ran in drain(app)] == [waiting.id]


def test_a_handler_that_postpones_itself_for_ever_is_pointed_out(open_app):
    pipeline = pipeline_of(Script(then=RetryLater(after=1)))
    app = open_app(pipeline)
    app.submit(pipeline)

    with pytest.raises(UsageError, match="still due"):
        drain(app, most=20)


def test_advancing_needs_a_manual_clock(tmp_path):
    with (
        Holdfast(f"sqlite:///{tmp_path / 'real.db'}") as app,
        pytest.raises(UsageError, match="ManualClock"),
    ):
        drain(app)


def test_nothing_stays_subscribed(open_app):
    pipeline = pipeline_of(Script(then=1))
    app = open_app(pipeline)
    before = app.announcer._subscribers

    run_inline(app)

    assert app.announcer._subscribers == before
