"""Between rows and values, for both databases: columns are selected in the order of the tuples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, Final

from holdfast.core.job.decision import Entry, Kind
from holdfast.core.job.job import Job, JobState, WorkerId
from holdfast.core.values.ids import JobId
from holdfast.core.values.instant import Instant
from holdfast.store.contract import ExistingJob, LedgerEntry, NewJob

_STATES: Final = {state.value: state for state in JobState}
_KINDS: Final = {kind.value: kind for kind in Kind}
_STATE: Final = Job._fields.index("state")
_urgency: Final = itemgetter(4, 17, 0)
"""Priority, instant and id of a row that a claim returns."""


def job_from_row(row: Sequence[Any]) -> Job:
    """Return the job of a row that holds the fields of `Job` in their order."""
    return Job._make((*row[:_STATE], _STATES[row[_STATE]], *row[_STATE + 1 :]))


def as_stored(new: NewJob) -> Job:
    """Return the row that a new job becomes."""
    return Job(
        id=new.id,
        pipeline=new.pipeline,
        plan=new.plan,
        queue=new.queue,
        priority=new.priority,
        owner=new.owner,
        key=new.key,
        version=new.version,
        rerun_of=new.rerun_of,
        payload=new.payload,
        trace=new.trace,
        created_at=new.created_at,
        state=JobState.QUEUED,
        stage=new.stage,
        run=1,
        attempt=0,
        token=0,
        revision=0,
        run_at=new.run_at,
        deadline_at=new.deadline_at,
        holder=None,
        lease_until=None,
        started_at=None,
        attempt_at=None,
        finished_at=None,
        updated_at=new.created_at,
        snoozes=0,
        interruptions=0,
        retries=0,
        result=None,
        error=None,
        error_class=None,
        late_result=None,
    )


def claimed_jobs(
    rows: Iterable[Sequence[Any]], *, holder: WorkerId, lease_until: Instant, now: Instant
) -> list[Job]:
    """Return the jobs a claim has just leased, in the order in which they should start.

    The claim returns only what it did not itself set.
    """
    processing = JobState.PROCESSING
    return [
        Job._make(
            (
                *row[:12],
                processing,
                *row[12:19],
                holder,
                lease_until,
                row[19],
                now,
                None,
                now,
                *row[20:],
                None,
                None,
                None,
                None,
            )
        )
        for row in sorted(rows, key=_urgency)
    ]


def ledger_entry_from_row(job_id: JobId, row: Sequence[Any]) -> LedgerEntry:
    """Return the ledger entry of a row: revision, state, then the columns of an entry."""
    revision, state, kind, *rest = row
    return LedgerEntry(job_id, revision, _STATES[state], Entry(_KINDS[kind], *rest))


def twin_from_row(row: Sequence[Any]) -> ExistingJob:
    """Return the twin of a row that holds the fields of `ExistingJob` in their order."""
    twin = ExistingJob._make(row)
    return twin._replace(state=_STATES[twin.state])
