"""What a process tells of itself: durations, calls, its places, and the store's times."""

import threading

import pytest

from holdfast import Breaker, JobState, Pipeline, Retry, Upstream
from holdfast.metrics import Scope
from holdfast.metrics.accumulators import MAX_SERIES, OTHER, Distributions, Sums
from holdfast.testing import Script, drain, run_inline
from holdfast.workers import WorkerOptions
from tests.runtime.tracing.conftest import PATIENCE_S, wait_until  # noqa: F401 - a fixture


def test_durations_are_told_as_the_clock_saw_them(open_app, scrapes, clock):
    def work(job):
        clock.advance(0.2)
        if job.attempt == 1:
            raise ConnectionResetError

    pipeline = Pipeline("p", retry=Retry(attempts=2, base=10, jitter="none"))
    pipeline.stage(name="one")(work)
    app = open_app(pipeline)
    counted = scrapes(app)
    app.submit("p")
    clock.advance(3)
    run_inline(app)
    clock.advance(10)
    run_inline(app)

    found = counted.samples(Scope.PROCESS)
    assert found["holdfast_attempt_duration_seconds_count"] == {
        ("retried", "p", "one"): 1,
        ("completed", "p", "one"): 1,
    }
    assert found["holdfast_attempt_duration_seconds_sum"][("completed", "p", "one")] == (
        pytest.approx(0.2)
    )
    buckets = found["holdfast_attempt_duration_seconds_bucket"]
    assert buckets[("0.1", "completed", "p", "one")] == 0
    assert buckets[("0.25", "completed", "p", "one")] == 1
    assert buckets[("+Inf", "completed", "p", "one")] == 1
    assert found["job_processing_duration_seconds_sum"][("complete", "p")] == pytest.approx(10.4)
    assert found["holdfast_job_wait_seconds_sum"][("p",)] == pytest.approx(3.0, abs=0.5)


def test_a_worker_tells_its_calls_its_places_and_its_store(open_app, scrapes, wait_until):  # noqa: F811
    gateway = Upstream("gateway", breaker=Breaker(consecutive=50), retry_budget=0.5)
    pipeline = Pipeline("p")
    release = threading.Event()

    @pipeline.stage(calls=gateway)
    def call(job):
        release.wait(PATIENCE_S)

    app = open_app(pipeline, clock=None)
    counted = scrapes(app)
    worker = app.worker(options=WorkerOptions(concurrency=7, poll=0.05))
    worker.start()
    job = app.submit("p")
    wait_until(lambda: app.job(job.id).state is JobState.PROCESSING)
    wait_until(lambda: counted.samples()["holdfast_worker_slots_busy"] == {("thread",): 1})
    during = counted.samples()
    release.set()
    wait_until(lambda: app.job(job.id).state is JobState.COMPLETE)
    wait_until(lambda: ("p",) in counted.samples().get("holdfast_jobs_completed_total", {}))
    after = counted.samples()
    worker.request_stop()
    worker.drain()
    ended = counted.samples()

    assert during["holdfast_worker_slots"] == {("thread",): 7}
    assert during["holdfast_workers"][("running",)] == 1
    assert during["holdfast_retry_budget_ratio"] == {("gateway",): 1}
    assert during["holdfast_stuck_threads"] == {(): 0}
    assert after["holdfast_upstream_call_seconds_count"] == {("fine", "gateway"): 1}
    assert after["holdfast_store_operation_seconds_count"][("claim",)] >= 1
    assert after["holdfast_store_operation_seconds_count"][("apply",)] == 1
    assert "holdfast_worker_slots" not in ended


def test_what_ends_listening_listens_no_more(open_app, scrapes):
    pipeline = Pipeline("p")
    pipeline.stage(name="one")(Script(then=1).handler)
    app = open_app(pipeline)
    counted = scrapes(app)
    counted.exposition.close()
    app.submit("p")
    drain(app)

    assert "holdfast_attempt_duration_seconds_count" not in counted.samples(Scope.PROCESS)


def test_labels_that_do_not_end_are_counted_as_one():
    sums, durations = Sums(), Distributions()
    for number in range(MAX_SERIES + 50):
        sums.add((f"CLASS_{number}",))
        durations.add((f"CLASS_{number}",), 1)

    assert len(sums.items()) == MAX_SERIES + 1
    assert dict(sums.items())[(OTHER,)] == 50
    assert len(durations.histograms()) == MAX_SERIES + 1
