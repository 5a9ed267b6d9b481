"""How a job stands: what it does, why it waits, and what comes next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from holdfast.core.job.job import ACTIVE, Job, JobState
from holdfast.core.job.plan import Plan
from holdfast.core.values.instant import FAR_FUTURE, Instant
from holdfast.views.durations import span
from holdfast.views.explain.advice import whose_move
from holdfast.views.explain.retry import attempt_of, queued
from holdfast.views.explain.sentence import Sentence, number
from holdfast.views.explain.waiting import Reason, Waiting
from holdfast.views.job import HistoryLine, JobView


def remark(view: JobView) -> str:
    """Return the one thing worth knowing of a job in a list."""
    job, now = view.job, view.read_at
    if view.label == "overdue":
        return f"deadline passed {span(now - (job.deadline_at or now))} ago"
    waits_for = None if view.waits_for is None else view.waits_for.brief
    match job.state:
        case JobState.QUEUED:
            if job.run_at <= now:
                due = f"due for {span(now - job.run_at)}"
                return due if waits_for is None else f"{due}, {waits_for}"
            what = f"attempt {job.attempt + 1}" if job.attempt else "starts"
            return f"{what} in {span(job.run_at - now)}"
        case JobState.PROCESSING:
            where = "" if job.holder is None else f" on {job.holder}"
            ran = f"for {span(now - (job.attempt_at or now))}{where}"
            return f"attempt {job.attempt}, {waits_for or ran}"
        case JobState.WAITING:
            left = "" if job.run_at >= FAR_FUTURE else f", {span(job.run_at - now)} left"
            return waits_for or f"for an answer{left}"
        case JobState.COMPLETE:
            return f"took {span((job.finished_at or now) - (job.started_at or job.created_at))}"
        case JobState.FAILED:
            return str((view.error or {}).get("message", ""))
        case JobState.CANCELLED:
            return ""
    assert_never(job.state)


def situation(
    view: JobView,
    *,
    history: Sequence[HistoryLine],
    plan: Plan | None,
    waiting: Sequence[Waiting] = (),
    retry_refusal: str | None = None,
) -> list[Sentence]:
    """Return sentences: how the job stands, why it does not go on, and whose move it is.

    `waiting` are the reasons why it waits, `retry_refusal` why a failed one cannot be retried.
    """
    job, now = view.job, view.read_at
    match job.state:
        case JobState.QUEUED:
            # When it is due is said by the first sentence.
            others = [
                each for each in waiting if each.reason not in (Reason.SCHEDULED, Reason.RETRY)
            ]
            said = [Sentence(queued(job, history, now)), *_reasons(others)]
        case JobState.PROCESSING:
            said = [Sentence(_processing(job, plan, now)), *_reasons(waiting)]
        case JobState.WAITING:
            said = _reasons(waiting)
        case JobState.COMPLETE:
            took = (job.finished_at or now) - (job.started_at or job.created_at)
            said = [Sentence(f"Complete; it took {span(took)} from its first attempt.")]
        case JobState.FAILED:
            said = _failed(job, retry_refusal)
        case JobState.CANCELLED:
            said = [Sentence(_cancelled(history))]
        case _:
            assert_never(job.state)
    if job.state in ACTIVE and job.deadline_at is not None:
        left_us = job.deadline_at - now
        passed = "Its deadline has passed; a running worker will end it as failed."
        said.append(Sentence(passed if left_us < 0 else f"Its deadline is in {span(left_us)}."))
    return said


def _reasons(waiting: Sequence[Waiting]) -> list[Sentence]:
    said: list[Sentence] = []
    for each in waiting:
        whose = whose_move(each.whose)
        said += [Sentence(each.sentence), *([] if whose is None else [Sentence(whose)])]
        if each.move is not None:
            said.append(each.move)
    return said


def _processing(job: Job, plan: Plan | None, now: Instant) -> str:
    """Return for how long a stage has run, and where; or when it began, once its lease ended."""
    begun = span(now - (job.attempt_at or now))
    said = f"Stage {job.stage}, attempt {attempt_of(job, plan)},"
    if job.lease_until is None or job.lease_until >= now:
        return f"{said} has run for {begun} on {job.holder}."
    return f"{said} began {begun} ago on {job.holder}."


def _failed(job: Job, retry_refusal: str | None) -> list[Sentence]:
    said = [
        Sentence(f"Failed for good in stage {job.stage} after {number(job.attempt, 'attempt')}."),
        Sentence("What was done about it, and what comes next", f"holdfast dead show {job.id}"),
    ]
    if retry_refusal is None:
        return [*said, Sentence("To send it back", f"holdfast jobs retry {job.id}")]
    return [*said, Sentence(f"It cannot be retried by hand: {retry_refusal}.")]


def _cancelled(history: Sequence[HistoryLine]) -> str:
    """Return who cancelled a job, and why."""
    for line in reversed(history):
        if line.event == "cancelled":
            by, reason = line.meta.get("by"), line.meta.get("reason")
            return f"Cancelled by {by}" + (f": {reason}" if reason else ".") if by else "Cancelled."
    return "Cancelled."
