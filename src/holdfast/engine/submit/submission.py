"""From what a caller submits to a row, and from a taken key to what that means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from holdfast.core.job.idempotency import Verdict, judge
from holdfast.core.job.job import DEFAULT_OWNER, DEFAULT_PRIORITY, PRIORITIES
from holdfast.core.values.document import fingerprint
from holdfast.core.values.ids import IdSequence, JobId, marked
from holdfast.core.values.instant import FAR_FUTURE, Instant, from_datetime, later
from holdfast.errors import (
    HoldfastError,
    InvalidValue,
    KeyConflict,
    VersionConflict,
)
from holdfast.pipeline.declaration import Pipeline
from holdfast.pipeline.names import Span, checked_name, span_us
from holdfast.runtime.kernel.clock import Chance
from holdfast.store.contract import ExistingJob, NewJob

MAX_KEY_LENGTH: Final = 255
MAX_VERSION: Final = 2_147_483_647
_ID_BITS: Final = 62


class Submit(NamedTuple):
    """One job to be made: its payload and how it is to be treated.

    `key` makes the submission safe to repeat: the same key and body name the same job, per owner
    and pipeline, also one that was removed since. With `key_alone` the body is not compared.
    `version` starts at 1; a job for a key that is known needs a higher one and `rerun=True`.
    """

    payload: Any = None
    key: str | None = None
    key_alone: bool = False
    owner: str = DEFAULT_OWNER
    version: int = 1
    rerun: bool = False
    queue: str | None = None
    priority: int = DEFAULT_PRIORITY
    delay: Span | None = None
    run_at: datetime | None = None
    deadline: Span | datetime | None = None
    trace: str | None = None


class Submitted(NamedTuple):
    """What became of one submission: the job it stands for, or why there is none."""

    job_id: JobId | None
    created: bool
    error: HoldfastError | None = None


class Named(NamedTuple):
    """The job that a submission stands for."""

    job_id: JobId
    created: bool
    removed: ExistingJob | None = None
    """What is kept of it, where the job itself was removed."""

    @classmethod
    def known(cls, twin: ExistingJob) -> Named:
        """Return what a submission stands for whose job was there before."""
        return cls(twin.job_id, created=False, removed=twin if twin.removed_at else None)


def as_submits(given: object) -> list[Submit]:
    """Return what `submit_many` was given, each plain payload as a `Submit` of its own.

    Raises `InvalidValue` for what cannot be a list of jobs, and for the first item that is neither
    a payload nor a `Submit`; a tuple might be meant as either.
    """
    if isinstance(given, _NOT_MANY) or not isinstance(given, Iterable):
        raise InvalidValue("submit_many", field="submits", value=given, limit=_MANY)
    submits: list[Submit] = []
    for index, item in enumerate(given):
        if type(item) is Submit:
            submits.append(item)
        elif type(item) in _NEITHER:
            raise InvalidValue("submit_many", field=f"submits[{index}]", value=item, limit=_ONE)
        else:
            submits.append(Submit(item))
    return submits


_NOT_MANY: Final = (str, bytes, Mapping, Submit, Submitted)
"""What can be iterated over, and is not a list of jobs."""
_NEITHER: Final = (tuple, Submitted)
_ONE: Final = "a payload, or Submit(payload, key=…, …)"
_MANY: Final = f"a list of jobs to make, each {_ONE}"


class RowMaker:
    """Checks submissions and makes rows of them."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self._ids = IdSequence()

    def row(self, pipeline: Pipeline, submit: Submit, *, now: Instant) -> NewJob:
        """Return the row of a submission, or raise a `UsageError` that names the field."""
        bound = pipeline.bound()
        plan = bound.plan
        check = pipeline.payload_check
        owner, key = submit.owner, submit.key
        document = check.document(submit.payload)
        payload = check.encode(document)
        self._check(submit)
        is_due = submit.delay is None and submit.run_at is None
        has_deadline = submit.deadline is not None or plan.deadline_us is not None
        job_id = self._ids.next(now=now, chance=self._chance.bits(_ID_BITS))
        # By position: this runs for every job of a bulk submission.
        return NewJob(
            job_id if owner == DEFAULT_OWNER else marked(job_id, owner),
            pipeline.name,
            plan.digest,
            bound.queue if submit.queue is None else checked_name(submit.queue, what="queue"),
            submit.priority,
            owner,
            key,
            submit.version,
            None,
            payload,
            None if key is None else fingerprint(document),
            submit.trace,
            now,
            plan.stages[0].name,
            now if is_due else _run_at(submit, now),
            _deadline_at(submit, plan.deadline_us, now) if has_deadline else None,
        )

    @staticmethod
    def _check(submit: Submit) -> None:
        if submit.key is not None:
            checked_text("submit", field="key", text=submit.key)
        if submit.owner != DEFAULT_OWNER:
            checked_text("submit", field="owner", text=submit.owner)
        if submit.trace is not None:
            checked_text("submit", field="trace", text=submit.trace)
        priority: object = submit.priority
        if type(priority) is not int or priority not in PRIORITIES:
            raise InvalidValue(
                "submit", field="priority", value=submit.priority, limit="0 (first) to 3 (last)"
            )
        version: object = submit.version
        if (
            isinstance(version, bool)
            or not isinstance(version, int)
            or not 1 <= version <= MAX_VERSION
        ):
            raise InvalidValue(
                "submit", field="version", value=submit.version, limit=f"from 1 to {MAX_VERSION}"
            )
        if submit.rerun and submit.key is None:
            raise InvalidValue(
                "submit", field="rerun", value=True, limit="used with the key of an earlier job"
            )


def resolve(job: NewJob, submit: Submit, twins: Sequence[ExistingJob]) -> ExistingJob:
    """Return the job that a submission with a known key stands for, or raise a conflict."""
    verdict = judge(
        version=job.version,
        fingerprint=job.fingerprint,
        stored={twin.version: twin.fingerprint for twin in twins},
        key_alone_decides=submit.key_alone,
    )
    newest = twins[-1]
    of_version = {twin.version: twin for twin in twins}
    match verdict:
        case Verdict.SAME:
            return of_version[job.version]
        case Verdict.OTHER_BODY:
            raise KeyConflict(job.key or "", job_id=of_version[job.version].job_id)
        case Verdict.NEEDS_RERUN:
            raise InvalidValue(
                "submit",
                field="version",
                value=job.version,
                limit=f"{newest.version}, as job {newest.job_id} has it, "
                "or given with rerun=True to run it again",
            )
        case Verdict.TOO_LOW:
            raise VersionConflict(newest.job_id, requested=job.version, found=newest.version)


def checked_text(owner: str, *, field: str, text: object) -> str:
    """Return a short text that both databases can hold and a line can show."""
    if not isinstance(text, str) or not text.isprintable() or not 1 <= len(text) <= MAX_KEY_LENGTH:
        raise InvalidValue(
            owner,
            field=field,
            value=text,
            limit=f"1 to {MAX_KEY_LENGTH} printable characters",
        )
    return text


def _run_at(submit: Submit, now: Instant) -> Instant:
    if submit.run_at is not None and submit.delay is not None:
        raise InvalidValue(
            "submit", field="run_at", value=submit.run_at, limit="left out: delay is given"
        )
    if submit.run_at is not None:
        return _instant("run_at", submit.run_at)
    if submit.delay is None or submit.delay == 0:
        return now
    return later(now, span_us(submit.delay, owner="submit", field="delay") or 0)


def _deadline_at(submit: Submit, plan_us: int | None, now: Instant) -> Instant | None:
    if isinstance(submit.deadline, datetime):
        return _instant("deadline", submit.deadline)
    span = span_us(submit.deadline, owner="submit", field="deadline")
    given_us = plan_us if span is None else span
    return None if given_us is None else later(now, given_us)


def _instant(field: str, moment: datetime) -> Instant:
    try:
        instant = from_datetime(moment)
    except ValueError as error:
        raise InvalidValue("submit", field=field, value=moment, limit=str(error)) from error
    if not 0 <= instant <= FAR_FUTURE:
        raise InvalidValue("submit", field=field, value=moment, limit="between 1970 and 9999")
    return instant
