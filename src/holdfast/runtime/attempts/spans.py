"""One span for each attempt, around its handler; made only where an SDK of OpenTelemetry is."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from holdfast.classify import classify, is_failure
from holdfast.core.delivery.delivery import Delivery
from holdfast.core.values.instant import Instant
from holdfast.runtime import tracing
from holdfast.runtime.attempts.attempt import Attempt, Fate, JobContext, attempt_of
from holdfast.runtime.kernel.stage import BoundStage, LaneKind


def traced(bound: BoundStage) -> BoundStage:
    """Return the stage with a span around each call of its handler.

    What runs in a child process is spanned by the lane, which waits for the child.
    """
    inner = bound.call
    if bound.lane is LaneKind.PROCESS:
        return bound
    if bound.lane is LaneKind.LOOP:

        async def call_on_loop(job: JobContext) -> Any:  # noqa: ANN401 - as the handler returns
            with attempt_span(attempt_of(job)):
                return await inner(job)

        return replace(bound, call=call_on_loop)

    def call(job: JobContext) -> Any:  # noqa: ANN401 - as the handler returns
        with attempt_span(attempt_of(job)):
            return inner(job)

    return replace(bound, call=call)


@contextmanager
def attempt_span(attempt: Attempt) -> Generator[None]:
    """Make a span of an attempt, and say how the handler ended."""
    job = attempt.job
    attributes: dict[str, str | int] = {
        "holdfast.job_id": job.id,
        "holdfast.pipeline": job.pipeline,
        "holdfast.stage": job.stage,
        "holdfast.attempt": job.attempt,
        "holdfast.queue": job.queue,
        "holdfast.worker": job.holder or "",
    }
    if attempt.bound.upstream is not None:
        attributes["holdfast.upstream"] = attempt.bound.upstream.name
    with tracing.span(
        f"{job.pipeline}.{job.stage}", asked_by=job.trace, kind="consumer", attributes=attributes
    ) as span:
        try:
            yield
        except BaseException as error:
            if attempt.fate is not None:
                span.set_attribute("holdfast.stopped", attempt.fate.value)
            if attempt.fate is Fate.TIMED_OUT:
                tracing.fail(span, "STAGE_TIMEOUT")
            elif is_failure(error):
                # What it says is kept without secrets, as it is to be stored.
                failure = classify(error, attempt.bound.rules, now=Instant(job.attempt_at or 0))
                tracing.fail(span, failure.error_class, failure.message)
                if failure.http_status is not None:
                    span.set_attribute("http.response.status_code", failure.http_status)
            raise


@contextmanager
def delivery_span(delivery: Delivery) -> Generator[None]:
    """Make the call of a provider a part of the trace of the delivery's sender.

    Where no spans are made, the call carries on what was stored.
    """
    if not tracing.enabled():
        with tracing.passing_on(delivery.trace):
            yield
        return
    attributes: dict[str, str | int] = {
        "holdfast.delivery_id": delivery.id,
        "holdfast.provider": delivery.provider,
        "holdfast.attempt": delivery.attempts,
    }
    if delivery.job_id is not None:
        attributes["holdfast.job_id"] = delivery.job_id
    with tracing.span(
        f"deliver {delivery.provider}",
        asked_by=delivery.trace,
        kind="producer",
        attributes=attributes,
    ) as span:
        try:
            yield
        except BaseException as error:
            if is_failure(error):
                failure = classify(error, (), now=delivery.updated_at)
                tracing.fail(span, failure.error_class, failure.message)
            raise
