"""A filter of jobs, as SQLite's statements take it."""

from __future__ import annotations

import json
from typing import Any

from holdfast.core.job.job import JobState
from holdfast.store.contract import JobFilter, since_id


def filter_values(wanted: JobFilter) -> dict[str, Any]:
    """Return what the statements that look for jobs bind."""
    # A job has an error class exactly while it is failed.
    states = {JobState.FAILED} if wanted.error_class is not None else set(wanted.states)
    only = {f"only_{state}": True if states == {state} else None for state in JobState}
    return {
        **wanted._asdict(),
        **only,
        "states": json.dumps(wanted.states) if wanted.states else None,
        "any_owner": True if wanted.owner else None,
        "since_id": since_id(wanted),
    }
