"""How a job stands, in plain words: what it does, why it waits, and what comes next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from holdfast.core.job.job import ACTIVE, Job, JobState
from holdfast.core.job.plan import Plan
from holdfast.core.values.instant import FAR_FUTURE
from holdfast.engine.jobs.access import Obstacle
from holdfast.views import sentences
from holdfast.views.advice import whose_move
from holdfast.views.durations import span
from holdfast.views.job import HistoryLine, JobView
from holdfast.views.waiting import Reason, Waiting

STYLES: Final = {
    "processing": "cyan",
    "waiting": "magenta",
    "complete": "green",
    "failed": "red",
    "overdue": "red",
    "cancelled": "dim",
    "retrying": "yellow",
    "scheduled": "blue",
    "held": "yellow",
}
"""The colour of each state and label; a due job needs none."""


def remark(view: JobView) -> str:
    """Return the one thing worth knowing of a job in a list."""
    job, now = view.job, view.read_at
    if view.label == "overdue":
        return f"deadline passed {span(now - (job.deadline_at or now))} ago"
    match job.state:
        case JobState.QUEUED:
            if view.waits_for is not None:
                return view.waits_for.brief
            if job.run_at <= now:
                return ""
            what = f"attempt {job.attempt + 1}" if job.attempt else "starts"
            return f"{what} in {span(job.run_at - now)}"
        case JobState.PROCESSING:
            if view.waits_for is not None:
                return view.waits_for.brief
            return f"for {span(now - (job.attempt_at or now))} on {job.holder}"
        case JobState.WAITING:
            if view.waits_for is not None:
                return view.waits_for.brief
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
    waiting: Sequence[Waiting] = (),
    obstacle: Obstacle | None = None,
) -> list[str]:
    """Return sentences: how the job stands, why it does not go on, and whose move it is.

    `waiting` are the reasons why it waits, `obstacle` why a failed one cannot be retried.
    """
    job, now = view.job, view.read_at
    match job.state:
        case JobState.QUEUED:
            said = [sentences.queued(job, history, now), *_reasons(waiting)]
        case JobState.PROCESSING:
            said = [sentences.processing(job, plan, now), *_reasons(waiting)]
        case JobState.WAITING:
            said = _reasons(waiting)
        case JobState.COMPLETE:
            took = (job.finished_at or now) - (job.started_at or job.created_at)
            said = [f"Complete; it took {span(took)} from its first attempt."]
        case JobState.FAILED:
            said = [
                _failed(job, view),
                f"What was done about it, and what comes next: holdfast dead show {job.id}",
                f"To send it back: holdfast jobs retry {job.id}"
                if obstacle is None
                else f"It cannot be retried by hand: {obstacle.reason}.",
            ]
        case JobState.CANCELLED:
            said = [sentences.cancelled(history)]
        case _:
            assert_never(job.state)
    if job.state in ACTIVE and job.deadline_at is not None and job.deadline_at < now:
        said.append("Its deadline has passed; a running worker will end it as failed.")
    return said


def _reasons(waiting: Sequence[Waiting]) -> list[str]:
    """Return why it waits, and what can be done about it; when it is due was said before."""
    return [
        line
        for each in waiting
        if each.reason not in (Reason.SCHEDULED, Reason.RETRY)
        for line in (each.sentence, whose_move(each.whose), each.remedy)
        if line is not None
    ]


def _failed(job: Job, view: JobView) -> str:
    attempts = "1 attempt" if job.attempt == 1 else f"{job.attempt} attempts"
    return f"Failed in stage {job.stage} after {attempts}: {_error_line(view)}"


def _error_line(view: JobView) -> str:
    error = view.error or {}
    return f"{error.get('error_class', 'UNKNOWN')}: {error.get('message', '')}"
