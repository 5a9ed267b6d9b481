"""Lines about jobs as a worker writes them: every field that whoever is paged looks for."""

import logging

import httpx
import pytest

from holdfast import Breaker, JobState, Pipeline, Retry, Upstream
from holdfast.workers import WorkerOptions
from tests.runtime.worker.test_worker import QUICK, wait_until

FIELDS = {
    "event",
    "job_id",
    "status",
    "attempt",
    "duration_ms",
    "gateway_status",
    "error_code",
    "breaker",
}
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
def failed_lines(open_app, caplog):
    """Runs a job whose gateway answers 503 twice, and returns the lines about it."""
    caplog.set_level(logging.DEBUG, logger="holdfast.worker")
    gateway = Upstream("gateway", breaker=Breaker(consecutive=50, cooldown=60))
    pipeline = Pipeline("p", retry=Retry(attempts=2, base=0.01, factor=1, jitter="none"))

    @pipeline.stage(calls=gateway)
    def convert(job):
        request = httpx.Request("POST", "http://gateway.test/")
        response = httpx.Response(503, request=request)
        raise httpx.HTTPStatusError("busy", request=request, response=response)

    app = open_app(pipeline, clock=None, chance=None)
    job = app.submit("p", trace=f"00-{TRACE_ID}-b7ad6b7169203331-01")
    worker = app.worker(options=WorkerOptions(**{**QUICK, "poll": 0.05}))
    worker.start()
    wait_until(lambda: app.job(job.id).state is JobState.FAILED)
    worker.request_stop()
    worker.drain()
    return [line for line in caplog.records if getattr(line, "job_id", None) == job.id]


def test_every_line_about_an_attempt_has_every_field(failed_lines):
    ended = [line for line in failed_lines if line.event != "processing"]

    assert [line.event for line in ended] == ["retried", "failed"]
    for line in ended:
        assert vars(line).keys() >= FIELDS
        assert (line.gateway_status, line.error_code) == (503, "UPSTREAM_5XX")
        assert line.breaker == "closed"
        assert line.duration_ms >= 0
        assert line.trace_id == TRACE_ID


def test_the_beginning_of_every_attempt_is_told_at_debug_level(failed_lines):
    begun = [line for line in failed_lines if line.event == "processing"]

    assert [(line.levelno, line.attempt) for line in begun] == [
        (logging.DEBUG, 1),
        (logging.DEBUG, 2),
    ]
