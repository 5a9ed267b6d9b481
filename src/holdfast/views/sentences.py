"""Sentences about jobs and dead letters that the command line and the console both say."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.job.job import Job
from holdfast.core.job.plan import Plan
from holdfast.core.values.instant import Instant
from holdfast.views.dead_letter import LetterView
from holdfast.views.durations import span
from holdfast.views.job import HistoryLine


def attempt_of(job: Job, plan: Plan | None) -> str:
    """Return the attempt and how many the stage allows."""
    stage = plan.stage(job.stage) if plan is not None else None
    if stage is None:
        return str(job.attempt)
    return f"{job.attempt} of {stage.retry.allowed_at(job.attempt)}"


def queued(job: Job, history: Sequence[HistoryLine], now: Instant) -> str:
    """Say since when, or until when, a queued job waits for its stage."""
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


def processing(job: Job, plan: Plan | None, now: Instant) -> str:
    """Say for how long a stage has run, and where; or when it began, once its lease has ended."""
    begun = span(now - (job.attempt_at or now))
    said = f"Stage {job.stage}, attempt {attempt_of(job, plan)},"
    if job.lease_until is None or job.lease_until >= now:
        return f"{said} has run for {begun} on {job.holder}."
    return f"{said} began {begun} ago on {job.holder}."


def cancelled(history: Sequence[HistoryLine]) -> str:
    """Say who cancelled a job, and why."""
    for line in reversed(history):
        if line.event == "cancelled":
            by, reason = line.meta.get("by"), line.meta.get("reason")
            return f"Cancelled by {by}" + (f": {reason}" if reason else ".") if by else "Cancelled."
    return "Cancelled."


def letter_past(view: LetterView) -> list[str]:
    """Say what happened to a dead letter."""
    letter = view.letter
    attempts = "1 attempt" if letter.attempts == 1 else f"{letter.attempts} attempts"
    said = [f"Failed in stage {letter.stage} after {attempts}: {letter.error_class}."]
    if letter.deaths > 1:
        said.append(f"It has failed for good {letter.deaths} times.")
    if view.escalated:
        said.append(
            "It was sent back and failed for the same reason, which repeating does not cure: "
            "show it to whoever wrote the code."
        )
    if not letter.outcome_known:
        said.append("It is not known whether the last attempt had an effect outside.")
    return said
