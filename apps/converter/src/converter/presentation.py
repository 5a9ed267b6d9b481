"""How conversions appear in documents, histories, streams and logs: their fields and words."""

from __future__ import annotations

from typing import Any, Final

from converter.storage.names import XML
from holdfast import JobState, JobView

EVENTS: Final = {
    "completed": "complete",
    "retried": "retry",
    "refused": "failed",
    "expired": "failed",
    "revived": "queued",
    "interrupted": "queued",
    "held": "queued",
    "snoozed": "queued",
    "result_removed": "expired",
}
"""What an event of the engine is called: `queued`, `processing`, `retry`, `complete`, `failed`,
`expired`, and `cancelled`. A passed deadline is a failure; what is put back is queued."""


def fields_of(view: JobView) -> dict[str, Any]:
    """Return the fields of a conversion's document, besides those that every job has."""
    job, known = view.job, view.to_document()
    failed, complete = view.state is JobState.FAILED, view.state is JobState.COMPLETE
    waits = view.state is JobState.QUEUED and job.run_at > view.read_at
    return {
        "status": status_of(view),
        "attempt_count": job.attempt,
        "last_attempt_at": known["attempt_at"],
        "retry_after": known["run_at"] if waits else None,
        "queued_at": known["queued_at"],
        "started_at": known["started_at"],
        "failed_at": known["finished_at"] if failed else None,
        "leased_by": job.holder,
        "lease_expires_at": known["lease_until"],
        "manual_retry_count": job.retries,
        "result_path": result_name(view.id) if complete else None,
    }


def status_of(view: JobView) -> str:
    """Return the state as users know it: a conversion that waits for an answer is processed."""
    state = JobState.PROCESSING if view.state is JobState.WAITING else view.state
    return state.value


def result_name(job_id: str) -> str:
    """Return where the XML of a job is kept: one place for all of its attempts."""
    return f"{job_id}{XML}"


def job_of(result: str) -> str:
    """Return the id of the job whose XML is kept there."""
    return result.removesuffix(XML)
