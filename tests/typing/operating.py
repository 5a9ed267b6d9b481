"""Submitting, reading, operating: what a program calls on an application."""

from __future__ import annotations

from typing import assert_type

from holdfast import (
    CircuitOpen,
    Guard,
    Holdfast,
    HoldfastError,
    JobFilter,
    JobHandle,
    JobState,
    JobView,
    Pipeline,
    Submit,
    UnavailableError,
    UsageError,
)
from holdfast.dead_letters import Cause, LetterFilter, LetterState, LetterView
from holdfast.deliveries import DeliveryFilter, DeliveryView
from holdfast.jobs import Submitted, Waiting
from holdfast.retention import Retention
from holdfast.workers import Worker, WorkerOptions

pages = Pipeline("pages")

with Holdfast("sqlite:///jobs.db", pipelines=[pages], retention=Retention(complete=3600)) as app:
    assert_type(app, Holdfast)
    handle = app.submit("pages", {"url": "https://example.test"}, key="example", delay=5)
    assert_type(handle, JobHandle)
    assert_type(str(handle.id), str)
    assert_type(handle.created, bool)
    assert_type(handle.wait(timeout=5), JobView)
    assert_type(app.submit_many("pages", [Submit({"url": ""}), {"url": ""}]), list[Submitted])

    view = app.job(handle.id)
    assert_type(view, JobView)
    assert_type(view.state, JobState)
    assert_type(app.jobs(JobFilter(states=(JobState.FAILED,)), limit=10), list[JobView])
    assert_type(app.waiting(view), list[Waiting])
    assert_type(app.cancel(handle.id, by="ada"), JobView)

    assert_type(app.dead.find(LetterFilter(states=(LetterState.OPEN,))), list[LetterView])
    assert_type(app.dead.triage(handle.id, cause=Cause.DATA, by="ada"), LetterView)
    assert_type(app.deliveries.find(DeliveryFilter(provider="mail")), list[DeliveryView])
    assert_type(app.worker(options=WorkerOptions(concurrency=4)), Worker)

    app.submit()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    app.submit("pages", {}, prioritty=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    app.submit("pages", {}, key=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    app.submits("pages")  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    app.cancel(handle.id)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    handle.id = "another"  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    JobFilter(state=JobState.FAILED)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    WorkerOptions(concurrency="four")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

guard = Guard("gateway", timeout=3)


@guard
def look_up(number: int) -> str:
    return str(number)


def parts(number: int) -> list[str]:
    return [str(number)]


assert_type(look_up(1), str)
assert_type(guard.call(parts, 1), list[str])
look_up("one")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
guard.call(parts, "one")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def said(error: HoldfastError) -> str:
    match error:
        case CircuitOpen():
            assert_type(error.wait_s, float | None)
            return error.upstream
        case UnavailableError() | UsageError():
            return str(error)
        case _:
            return str(error.fact)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
