"""How a job stands, in plain words: what it does, why it waits, and what comes next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from holdfast.cli.liveness import serves
from holdfast.core.instant import FAR_FUTURE, SECOND_US, Instant, to_datetime
from holdfast.core.job import ACTIVE, Job, JobState
from holdfast.core.plan import Plan
from holdfast.store.contract import QueueCounts, WorkerRow
from holdfast.view import HistoryLine, JobView

STYLES: Final = {
    "processing": "cyan",
    "waiting": "magenta",
    "complete": "green",
    "failed": "red",
    "overdue": "red",
    "cancelled": "dim",
    "retrying": "yellow",
    "scheduled": "blue",
}
"""The colour of each state and label; a due job needs none."""

_MILLISECOND_US: Final = 1_000
_MINUTE_US: Final = 60 * SECOND_US
_HOUR_US: Final = 60 * _MINUTE_US
_DAY_US: Final = 24 * _HOUR_US


def span(length_us: int) -> str:
    """Return a length of time as people say it."""
    us = abs(length_us)
    if us < SECOND_US:
        return f"{us // _MILLISECOND_US} ms"
    if us < 10 * SECOND_US:
        return f"{us / SECOND_US:.1f} s"
    for unit_us, unit, below_us, below in (
        (_DAY_US, "d", _HOUR_US, "h"),
        (_HOUR_US, "h", _MINUTE_US, "min"),
        (_MINUTE_US, "min", SECOND_US, "s"),
    ):
        if us >= unit_us:
            rest = us % unit_us // below_us
            return f"{us // unit_us} {unit}" + (f" {rest} {below}" if rest else "")
    return f"{us // SECOND_US} s"


def short(length_us: int) -> str:
    """Return a length of time for a column: its largest unit only."""
    us = abs(length_us)
    for unit_us, unit in ((_DAY_US, "d"), (_HOUR_US, "h"), (_MINUTE_US, "m"), (SECOND_US, "s")):
        if us >= unit_us:
            return f"{us // unit_us}{unit}"
    return "0s"


def clock(instant: Instant) -> str:
    """Return an instant as date and time in UTC."""
    return to_datetime(instant).strftime("%Y-%m-%d %H:%M:%S UTC")


def when(instant: Instant | None, now: Instant) -> str | None:
    """Return an instant as date and time, and how far away it is."""
    if instant is None:
        return None
    if instant >= FAR_FUTURE:
        return "never"
    away = f"in {span(instant - now)}" if instant > now else f"{span(now - instant)} ago"
    return f"{clock(instant)} ({away})"


def remark(view: JobView) -> str:
    """Return the one thing worth knowing of a job in a list."""
    job, now = view.job, view.read_at
    if view.label == "overdue":
        return f"deadline passed {span(now - (job.deadline_at or now))} ago"
    match job.state:
        case JobState.QUEUED:
            if job.run_at <= now:
                return ""
            what = f"attempt {job.attempt + 1}" if job.attempt else "starts"
            return f"{what} in {span(job.run_at - now)}"
        case JobState.PROCESSING:
            return f"for {span(now - (job.attempt_at or now))} on {job.holder}"
        case JobState.WAITING:
            return "for an answer" + (
                "" if job.run_at >= FAR_FUTURE else f", {span(job.run_at - now)} left"
            )
        case JobState.COMPLETE:
            return f"took {span((job.finished_at or now) - (job.started_at or job.created_at))}"
        case JobState.FAILED:
            return _error_line(view)
        case JobState.CANCELLED:
            return ""
    assert_never(job.state)


def situation(
    view: JobView,
    *,
    history: Sequence[HistoryLine],
    plan: Plan | None,
    queue: QueueCounts | None,
    workers: Sequence[WorkerRow],
) -> list[str]:
    """Return sentences: how the job stands, why it does not go on, and whose move it is."""
    job, now = view.job, view.read_at
    match job.state:
        case JobState.QUEUED:
            said = [_queued(job, history, now), *_obstacles(job, queue, workers, now)]
        case JobState.PROCESSING:
            said = [_processing(job, plan, now)]
        case JobState.WAITING:
            until = "as long as it takes" if job.run_at >= FAR_FUTURE else clock(job.run_at)
            said = [f"Waits in stage {job.stage} for an answer from outside, until {until}."]
        case JobState.COMPLETE:
            took = (job.finished_at or now) - (job.started_at or job.created_at)
            said = [f"Complete; it took {span(took)} from its first attempt."]
        case JobState.FAILED:
            said = [
                _failed(job, view),
                f"What was done about it, and what comes next: holdfast dead show {job.id}",
                f"To send it back: holdfast jobs retry {job.id}",
            ]
        case JobState.CANCELLED:
            said = [_cancelled(history)]
        case _:
            assert_never(job.state)
    if job.state in ACTIVE and job.deadline_at is not None and job.deadline_at < now:
        said.append("Its deadline has passed; a running worker will end it as failed.")
    return said


def attempt_of(job: Job, plan: Plan | None) -> str:
    """Return the attempt and how many the stage allows."""
    stage = plan.stage(job.stage) if plan is not None else None
    return f"{job.attempt} of {stage.retry.attempts}" if stage is not None else str(job.attempt)


def _queued(job: Job, history: Sequence[HistoryLine], now: Instant) -> str:
    last = history[-1] if history else None
    away = "now" if job.run_at <= now else f"in {span(job.run_at - now)}"
    if last is not None and last.event == "retried":
        code = last.meta.get("error_code", "an error")
        return (
            f"Attempt {job.attempt} of stage {job.stage} failed with {code}; "
            f"attempt {job.attempt + 1} is due {away}."
        )
    if last is not None and last.event == "snoozed":
        return f"Stage {job.stage} asked to be run again later; it is due {away}."
    if job.run_at > now:
        return f"Scheduled; stage {job.stage} starts {away}."
    return f"Due for {span(now - job.run_at)}; stage {job.stage} has not started."


def _obstacles(
    job: Job, queue: QueueCounts | None, workers: Sequence[WorkerRow], now: Instant
) -> list[str]:
    if queue is not None and queue.paused_at is not None:
        since = span(now - queue.paused_at)
        return [
            f"Queue {job.queue} was paused by {queue.paused_by}, {since} ago.",
            f"To let it go on: holdfast queues resume {job.queue}",
        ]
    if not any(serves(worker, job.queue, now) for worker in workers):
        return [
            f"No live worker serves queue {job.queue}.",
            f"To start one: holdfast -A module:app worker --queues {job.queue}",
        ]
    if job.run_at <= now:
        return ["It waits for a free worker that knows its pipeline."]
    return []


def _processing(job: Job, plan: Plan | None, now: Instant) -> str:
    begun = span(now - (job.attempt_at or now))
    sentence = (
        f"Stage {job.stage}, attempt {attempt_of(job, plan)}, has run for {begun} on {job.holder}."
    )
    if job.lease_until is not None and job.lease_until < now:
        return (
            f"{sentence} Its lease ended {span(now - job.lease_until)} ago; "
            "a running worker will take it over."
        )
    return sentence


def _failed(job: Job, view: JobView) -> str:
    attempts = "1 attempt" if job.attempt == 1 else f"{job.attempt} attempts"
    return f"Failed in stage {job.stage} after {attempts}: {_error_line(view)}"


def _error_line(view: JobView) -> str:
    error = view.error or {}
    return f"{error.get('error_class', 'UNKNOWN')}: {error.get('message', '')}"


def _cancelled(history: Sequence[HistoryLine]) -> str:
    for line in reversed(history):
        if line.event == "cancelled":
            reason = line.meta.get("reason")
            return f"Cancelled by {line.meta.get('by')}" + (f": {reason}" if reason else ".")
    return "Cancelled."
