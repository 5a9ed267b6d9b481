"""Traces: what a submission stores, one span for each attempt, and what leaves with the trace."""

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from holdfast import Holdfast, JobState, Pipeline, Retry, Submit
from holdfast.bridges.webhook import Webhook
from holdfast.core.values.trace_context import read
from holdfast.deliveries import Notify
from holdfast.runtime import tracing
from tests.bridges.fake_receiver import SECRET, fake_receiver
from tests.runtime.tracing.handlers import apart

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
CANARY = "hunter2-is-a-secret"


def pipeline_of(handler, **options) -> Pipeline:
    pipeline = Pipeline("p", retry=Retry(attempts=3, base=0.01, factor=1, jitter="none"))
    pipeline.stage(name="one", **options)(handler)
    return pipeline


def ended(app: Holdfast, job_id: str) -> bool:
    return app.job(job_id).state in {JobState.COMPLETE, JobState.FAILED}


def hexed(span_context) -> tuple[str, str]:
    return f"{span_context.trace_id:032x}", f"{span_context.span_id:016x}"


def test_every_attempt_is_a_span_of_the_trace_that_submitted_the_job(
    open_app, spans, working, wait_until
):
    def twice(job):
        if job.attempt < 2:
            raise ConnectionResetError("reset by peer")

    app = open_app(pipeline_of(twice))
    with spans.provider.get_tracer("test").start_as_current_span("request") as request:
        job = app.submit("p")
    with working(app):
        wait_until(lambda: ended(app, job.id))

    [submitted] = spans.named("submit p")
    first, second = spans.named("p.one")
    assert submitted.parent.span_id == request.get_span_context().span_id
    assert submitted.kind is SpanKind.PRODUCER
    for number, attempt in enumerate((first, second), start=1):
        assert attempt.kind is SpanKind.CONSUMER
        assert attempt.parent.span_id == submitted.context.span_id
        assert [hexed(link.context) for link in attempt.links] == [hexed(submitted.context)]
        assert attempt.context.trace_id == request.get_span_context().trace_id
        assert attempt.attributes["holdfast.job_id"] == job.id
        assert attempt.attributes["holdfast.attempt"] == number
    assert first.status.status_code is StatusCode.ERROR
    assert first.attributes["error.type"] == "NETWORK"
    assert second.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_spans_of_a_handler_are_below_its_attempt(open_app, spans, working, wait_until, kind):
    tracer = spans.provider.get_tracer("test")

    def plain(job):
        with tracer.start_as_current_span("inside"):
            return job.trace_headers["traceparent"]

    async def on_loop(job):
        return plain(job)

    app = open_app(pipeline_of(plain if kind == "plain" else on_loop))
    job = app.submit("p")
    with working(app):
        wait_until(lambda: ended(app, job.id))

    [attempt], [inside] = spans.named("p.one"), spans.named("inside")
    assert inside.parent.span_id == attempt.context.span_id
    assert read(app.job(job.id).result).parent.split("-")[1:3] == list(hexed(inside.context))


def test_what_runs_in_a_child_process_carries_its_attempts_span_on(
    open_app, spans, working, wait_until
):
    app = open_app(apart)
    job = app.submit("apart")
    with working(app):
        wait_until(lambda: ended(app, job.id))

    [attempt] = spans.named("apart.headers")
    assert app.job(job.id).result["traceparent"].split("-")[1:3] == list(hexed(attempt.context))


def test_an_attempt_that_is_stopped_by_its_timeout_says_so(open_app, spans, working, wait_until):
    import asyncio  # noqa: PLC0415 - of this handler alone

    async def hang(job):
        await asyncio.sleep(60)

    app = open_app(pipeline_of(hang, timeout=0.05, retry=Retry(attempts=1)))
    job = app.submit("p")
    with working(app):
        wait_until(lambda: ended(app, job.id))

    [attempt] = spans.named("p.one")
    assert attempt.attributes["error.type"] == "STAGE_TIMEOUT"
    assert attempt.attributes["holdfast.stopped"] == "timed out"


def test_no_secret_and_no_stack_reaches_a_span(open_app, spans, working, wait_until):
    def leak(job):
        raise ValueError(f"password={CANARY} for {job.payload}")

    app = open_app(pipeline_of(leak), secrets=[CANARY])
    job = app.submit("p", {"card": CANARY})
    with working(app):
        wait_until(lambda: ended(app, job.id))

    told = "".join(span.to_json() for span in spans.exporter.get_finished_spans())
    assert CANARY not in told
    assert "Traceback" not in told
    assert "BUG" in told


def test_many_submissions_share_one_span_and_keep_what_they_were_given(open_app, spans):
    app = open_app(pipeline_of(lambda job: None))
    plain, given = app.submit_many("p", [Submit(), Submit(trace=TRACE)])

    [submitted] = spans.named("submit p")
    assert read(app.job(plain.job_id).job.trace).trace_id == hexed(submitted.context)[0]
    assert app.job(given.job_id).job.trace == TRACE


def test_a_message_leaves_with_the_attempt_that_published_it(open_app, spans, working, wait_until):
    app = open_app(pipeline_of(lambda job: job.publish("done", {"a": 1})))
    job = app.submit("p")
    with working(app):
        wait_until(lambda: ended(app, job.id))

    [attempt], [message] = spans.named("p.one"), app.outbox.find()
    assert read(message.trace).parent.split("-")[1:3] == list(hexed(attempt.context))


def test_a_delivery_carries_the_trace_of_its_job_to_the_provider(
    open_app, spans, working, wait_until
):
    api, ledger = fake_receiver()
    with api:
        message = {"type": "review.ready", "data": 1}
        url = f"{api.url}/hooks"
        app = open_app(
            pipeline_of(lambda job: Notify(subject="review-1", recipients=[url], message=message)),
            providers=[Webhook(SECRET)],
        )
        job = app.submit("p")
        with working(app):
            wait_until(lambda: ended(app, job.id))

    [submitted], [sent] = spans.named("submit p"), spans.named("deliver webhook")
    assert len(ledger.ids) == 1
    assert sent.parent.span_id == submitted.context.span_id
    assert api.requests[0].headers["traceparent"].split("-")[1:3] == list(hexed(sent.context))
    assert sent.attributes["holdfast.job_id"] == job.id


def test_without_an_sdk_no_span_is_made_and_the_trace_is_passed_on(open_app, working, wait_until):
    api, _ = fake_receiver()
    seen = []

    def tell(job):
        seen.append(job.trace_headers)
        job.publish("done")
        message = {"type": "review.ready", "data": 1}
        return Notify(subject="review-1", recipients=[f"{api.url}/hooks"], message=message)

    with api:
        app = open_app(pipeline_of(tell), providers=[Webhook(SECRET)])
        job = app.submit("p", trace=f"{TRACE};vendor=1")
        with working(app):
            wait_until(lambda: ended(app, job.id))

    assert not tracing.enabled()
    assert seen == [{"traceparent": TRACE, "tracestate": "vendor=1"}]
    assert app.outbox.find()[0].trace == f"{TRACE};vendor=1"
    assert api.requests[0].headers["traceparent"] == TRACE
    assert api.requests[0].headers["tracestate"] == "vendor=1"


def test_without_an_sdk_handlers_are_called_as_they_were_declared(open_app):
    pipeline = pipeline_of(lambda job: None)
    app = open_app(pipeline)
    worker = app.worker()

    assert worker._handlers["p", "one"] is pipeline.bound().stages[0]


def test_a_request_brings_its_trace_along(open_app):
    app = open_app(pipeline_of(lambda job: None))
    job = app.submit("p", trace=tracing.received({"traceparent": TRACE, "tracestate": "a=b"}))

    assert app.job(job.id).job.trace == f"{TRACE};a=b"
    assert tracing.received({"traceparent": "no trace at all"}) is None
