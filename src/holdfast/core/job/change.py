"""The columns and the ledger entry that a decision writes, for each way a job may go on.

By position: these run for every attempt, and keywords cost as much again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, TypeAlias

from holdfast.core.job.decision import Change, Entry, Kind
from holdfast.core.job.job import Job, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from holdfast.core.values.failure import Failure
    from holdfast.core.values.instant import Instant

    Remark: TypeAlias = Mapping[str, str | int | None]
    """What a ledger entry says besides: who asked, why, for how long."""

_quoted: Final[Callable[[str], str]] = json.encoder.encode_basestring
_WORDS: Final[dict[int | None, str]] = {None: "null", True: "true", False: "false"}


def put_back(
    job: Job,
    *,
    run_at: Instant,
    attempt: int,
    state: JobState = JobState.QUEUED,
    snoozes: int | None = None,
    interruptions: int | None = None,
) -> Change:
    """Return the columns of a job that goes on later: no lease, no end."""
    return Change(
        state,
        job.stage,
        job.run,
        attempt,
        job.token,
        run_at,
        job.deadline_at,
        None,
        None,
        job.attempt_at,
        None,
        job.snoozes if snoozes is None else snoozes,
        job.interruptions if interruptions is None else interruptions,
        job.retries,
        None,
        None,
        None,
        None,
    )


def advanced(job: Job, stage: str, now: Instant, *, lease_until: Instant | None) -> Change:
    """Return the columns of a job that goes on to its next stage: at once under a new lease."""
    goes_on = lease_until is not None
    return Change(
        JobState.PROCESSING if goes_on else JobState.QUEUED,
        stage,
        job.run,
        1 if goes_on else 0,
        job.token + 1 if goes_on else job.token,
        now,
        job.deadline_at,
        job.holder if goes_on else None,
        lease_until,
        now if goes_on else job.attempt_at,
        None,
        0,
        job.interruptions,
        job.retries,
        None,
        None,
        None,
        None,
    )


def ended(
    job: Job,
    state: JobState,
    now: Instant,
    *,
    result: str | None = None,
    error: str | None = None,
    error_class: str | None = None,
    late_result: str | None = None,
) -> Change:
    """Return the columns of a job that ends at `now`."""
    return Change(
        state,
        job.stage,
        job.run,
        job.attempt,
        job.token,
        job.run_at,
        job.deadline_at,
        None,
        None,
        job.attempt_at,
        now,
        job.snoozes,
        job.interruptions,
        job.retries,
        result,
        error,
        error_class,
        late_result,
    )


def same(job: Job) -> Change:
    """Return the columns of a job that stays as it is."""
    return Change(
        job.state,
        job.stage,
        job.run,
        job.attempt,
        job.token,
        job.run_at,
        job.deadline_at,
        job.holder,
        job.lease_until,
        job.attempt_at,
        job.finished_at,
        job.snoozes,
        job.interruptions,
        job.retries,
        job.result,
        job.error,
        job.error_class,
        job.late_result,
    )


def entry(
    job: Job,
    kind: Kind,
    now: Instant,
    failure: Failure | None = None,
    remark: Remark | None = None,
    *,
    http_status: int | None = None,
) -> Entry:
    """Return the line that the job's history gets; a failure brings its own status."""
    if failure is None:
        detail = _object(_members(remark)) if remark else None
        return Entry(
            kind, now, job.stage, job.attempt, job.holder, job.attempt_at, None, http_status, detail
        )
    told = f',"message":{_quoted(failure.message)}'
    detail = _object(told if remark is None else told + _members(remark))
    return Entry(
        kind,
        now,
        job.stage,
        job.attempt,
        job.holder,
        job.attempt_at,
        failure.error_class,
        failure.http_status,
        detail,
    )


def _object(members: str) -> str:
    return f"{{{members[1:]}}}"


def _members(remark: Remark) -> str:
    """Return a remark's members as JSON, each after a comma.

    The encoder would take longer than the decision.
    """
    text = ""
    for name, value in remark.items():
        if type(value) is int:
            text = f'{text},"{name}":{value}'
        else:
            written = _quoted(value) if isinstance(value, str) else _WORDS[value]
            text = f'{text},"{name}":{written}'
    return text
