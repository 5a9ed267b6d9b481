"""How often a stage was tried, and when a queued job is due."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.job.job import Job
from holdfast.core.job.plan import Plan
from holdfast.core.values.instant import Instant
from holdfast.views.durations import span
from holdfast.views.job import HistoryLine


def attempt_of(job: Job, plan: Plan | None) -> str:
    """Return the attempt and how many the stage allows."""
    stage = plan.stage(job.stage) if plan is not None else None
    if stage is None:
        return str(job.attempt)
    return f"{job.attempt} of {stage.retry.allowed_at(job.attempt)}"


def queued(job: Job, history: Sequence[HistoryLine], now: Instant) -> str:
    """Return since when, or until when, a queued job waits for its stage."""
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
    if job.run_at > now and job.attempt:
        attempts = f"Attempt {job.attempt} of stage {job.stage} failed; attempt {job.attempt + 1}"
        return f"{attempts} is due {away}."
    if job.run_at > now:
        return f"Scheduled; stage {job.stage} starts {away}."
    return f"Due for {span(now - job.run_at)}; stage {job.stage} has not started."
