"""Between values and rows: what SQLite binds fastest, in the order the statements name it."""

from __future__ import annotations

from typing import Any, Final

from holdfast.core.job.decision import Decision, Kind
from holdfast.core.job.job import Job, JobState

JOB_COLUMNS: Final = ", ".join(f"job.{name}" for name in Job._fields)

# The driver binds a plain str directly and sends everything else through its adapters.
_STATE_TEXT: Final = {state: state.value for state in JobState}
_KIND_TEXT: Final = {kind: kind.value for kind in Kind}


def complete_values(decision: Decision) -> tuple[Any, ...]:
    """Return what `complete` binds."""
    at = decision.entry.at
    return at, at, decision.change.result, decision.job_id, decision.expected


def retry_values(decision: Decision) -> tuple[Any, ...]:
    """Return what `retry` binds."""
    change = decision.change
    return change.attempt, change.run_at, decision.entry.at, decision.job_id, decision.expected


def apply_values(decision: Decision) -> tuple[Any, ...]:
    """Return what `apply` binds: the change, when, and the row it was decided from."""
    change = decision.change
    return (
        _STATE_TEXT[change.state],
        *change[1:],
        decision.entry.at,
        decision.job_id,
        decision.expected,
    )


def ledger_values(decision: Decision) -> tuple[Any, ...]:
    """Return what `apply_ledger` binds; its time once more, below which its position never is."""
    entry = decision.entry
    return (
        decision.job_id,
        decision.expected + 1,
        _KIND_TEXT[entry.kind],
        entry.at,
        _STATE_TEXT[decision.change.state],
        *entry[2:],
        entry.at,
    )


def checkpoint_values(decision: Decision) -> tuple[Any, ...]:
    """Return what `apply_checkpoint` binds."""
    entry = decision.entry
    return decision.job_id, decision.change.run, entry.stage, decision.checkpoint, entry.at
