"""Pipelines, stages and policies, as a program declares them."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_type

from holdfast import Breaker, GiveUp, JobContext, Pipeline, Rate, Retry, RetryLater, Upstream, Wait
from holdfast.classify import Category, Rule, Verdict
from holdfast.policies import BreakerMode, Jitter

gateway = Upstream(
    "gateway",
    timeout=30,
    retry=Retry(attempts=5, base=2, jitter=Jitter.FULL),
    rules=[Rule(KeyError, Verdict("NO_SUCH_KEY", retryable=False, category=Category.PERMANENT))],
    breaker=Breaker(consecutive=5, cooldown=30, mode=BreakerMode.HOLD),
    rate=Rate(10, per=1),
)
pages = Pipeline("pages", queue="web", deadline=3600, retry=Retry(attempts=3))


@pages.stage
def fetch(job: JobContext, url: str) -> dict[str, str]:
    assert_type(job.id, str)
    assert_type(job.attempt, int)
    assert_type(job.time_left, float | None)
    if not url:
        raise GiveUp("URL_MISSING")
    if job.last_attempt:
        raise RetryLater(after=60, reason="it is the last one")
    return {"url": url}


@pages.stage(name="ask", calls=gateway, timeout=timedelta(minutes=1))
async def ask(job: JobContext, fetch: dict[str, str]) -> Wait:
    return Wait(timeout=60)


# A stage's function stays as it is.
assert_type(fetch({}, "https://example.test"), dict[str, str])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

Pipeline()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
Pipeline("pages", retries=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
Upstream("gateway", retry=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Retry(attempts="three")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Rate("ten", per=1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
GiveUp()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
RetryLater(60)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
pages.stage(name=5)(fetch)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
