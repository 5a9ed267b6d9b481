"""Jobs and their history as people and programs outside the engine read them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from holdfast.core.job.job import DEFAULT_PRIORITY, Job, JobState, PlanDigest, label
from holdfast.core.values.instant import Instant, to_datetime, to_rfc3339
from holdfast.runtime.events.presentation import (
    PLAIN,
    PROCESSING,
    QUEUED,
    Presentation,
    meta_of,
    whole_meta,
)
from holdfast.store.contract import ExistingJob, LedgerEntry


class WaitsFor(NamedTuple):
    """What a job waits for, as lists say it."""

    reason: str
    brief: str
    """In a few words."""


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as it stood when it was read."""

    job: Job
    read_at: Instant
    sent_back_at: Instant | None = None
    """When it was last sent back by hand after it had failed; None if it never was."""
    held: bool = False
    """Whether its upstream keeps it from being taken, where that was looked for."""
    waits_for: WaitsFor | None = None
    """What it waits for, where that was looked for; None for one that does not wait."""
    gone_at: Instant | None = None
    """When the job was removed: then its key is all that is kept, and what came of it."""
    memo: Any = None
    """Of a job that was removed: what its pipeline remembers of the payload."""

    @property
    def id(self) -> str:
        """The job's id."""
        return self.job.id

    @property
    def state(self) -> JobState:
        """The stored state."""
        return self.job.state

    @property
    def label(self) -> str:
        """The state, or what time has made of it: due, scheduled, retrying, overdue; or held."""
        return "held" if self.held and self.is_due else label(self.job, self.read_at)

    @property
    def is_due(self) -> bool:
        """Whether a worker might take it now."""
        return label(self.job, self.read_at) == "due"

    @property
    def payload(self) -> Any:  # noqa: ANN401 - JSON of any shape
        """The payload as submitted."""
        return _value(self.job.payload)

    @property
    def result(self) -> Any:  # noqa: ANN401 - JSON of any shape
        """What the last stage returned; None unless the job is complete."""
        return _value(self.job.result)

    @property
    def late_result(self) -> Any:  # noqa: ANN401 - JSON of any shape
        """The result that came after the deadline, kept for audit."""
        return _value(self.job.late_result)

    @property
    def error(self) -> dict[str, Any] | None:
        """Why the job failed; None unless it did."""
        found = _value(self.job.error)
        return found if isinstance(found, dict) else None

    @property
    def created_at(self) -> datetime:
        """When the job was submitted."""
        return to_datetime(self.job.created_at)

    @property
    def queued_at(self) -> datetime:
        """When the job was submitted, or last sent back by hand."""
        return to_datetime(self.job.created_at if self.sent_back_at is None else self.sent_back_at)

    @property
    def run_at(self) -> datetime:
        """When the job is, or was, due."""
        return to_datetime(self.job.run_at)

    @property
    def finished_at(self) -> datetime | None:
        """When the job ended; None while it has not."""
        instant = self.job.finished_at
        return None if instant is None else to_datetime(instant)

    @property
    def removed_at(self) -> datetime | None:
        """When the job was removed; None while it is stored."""
        return None if self.gone_at is None else to_datetime(self.gone_at)

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values; times are RFC 3339 in UTC."""
        job = self.job
        return {
            "id": job.id,
            "pipeline": job.pipeline,
            "state": job.state.value,
            "label": self.label,
            "stage": job.stage,
            "attempt": job.attempt,
            "queue": job.queue,
            "priority": job.priority,
            "owner": job.owner,
            "key": job.key,
            "version": job.version,
            "rerun_of": job.rerun_of,
            "created_at": _time(job.created_at),
            "queued_at": _time(job.created_at if self.sent_back_at is None else self.sent_back_at),
            "run_at": _time(job.run_at) if job.state is JobState.QUEUED else None,
            "deadline_at": _time(job.deadline_at),
            "started_at": _time(job.started_at),
            "attempt_at": _time(job.attempt_at),
            "finished_at": _time(job.finished_at),
            "updated_at": _time(job.updated_at),
            "holder": job.holder,
            "lease_until": _time(job.lease_until),
            "snoozes": job.snoozes,
            "interruptions": job.interruptions,
            "retries": job.retries,
            "revision": job.revision,
            "plan": job.plan,
            "payload": self.payload,
            "result": self.result,
            "error": self.error,
            "late_result": self.late_result,
            "removed_at": _time(self.gone_at),
            "waits_for": None if self.waits_for is None else self.waits_for._asdict(),
        }


def removed_job(
    twin: ExistingJob, *, pipeline: str, owner: str, key: str, read_at: Instant
) -> JobView:
    """Return what is known of a job that was removed: its key, its state and its times."""
    ended_at = twin.created_at if twin.finished_at is None else twin.finished_at
    job = Job(
        id=twin.job_id,
        pipeline=pipeline,
        plan=PlanDigest(""),
        queue="",
        priority=DEFAULT_PRIORITY,
        owner=owner,
        key=key,
        version=twin.version,
        rerun_of=None,
        payload="null",
        trace=None,
        created_at=twin.created_at,
        state=twin.state,
        stage="",
        run=1,
        attempt=0,
        token=0,
        revision=0,
        run_at=twin.created_at,
        deadline_at=None,
        holder=None,
        lease_until=None,
        started_at=None,
        attempt_at=None,
        finished_at=twin.finished_at,
        updated_at=ended_at,
        snoozes=0,
        interruptions=0,
        retries=0,
        result=None,
        error=None,
        error_class=None,
        late_result=None,
    )
    return JobView(job, read_at, gone_at=twin.removed_at, memo=_value(twin.memo))


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One thing that happened to a job."""

    at: Instant
    event: str
    """As the engine calls it."""
    stage: str
    attempt: int
    meta: dict[str, Any]
    word: str = ""
    """As the job's pipeline calls it, where that has a word of its own."""

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values; the event is called as the pipeline calls it."""
        return {
            "at": to_rfc3339(self.at),
            "event": self.word or self.event,
            "stage": self.stage,
            "attempt": self.attempt,
            "meta": whole_meta(self.attempt, self.meta),
        }


@dataclass(frozen=True, slots=True)
class AttemptLine:
    """One run of one stage under one lease."""

    stage: str
    attempt: int
    worker: str
    started_at: Instant
    ended_at: Instant | None
    """None while it runs."""
    outcome: str
    """What the ledger says came of it, or `processing` while it runs."""
    error_class: str | None = None
    http_status: int | None = None
    error_code: str | None = None
    """The public code of the failure, or its error class where the pipeline has none."""
    word: str = ""
    """What the job's pipeline calls the outcome, where that has a word of its own."""

    @property
    def duration_ms(self) -> float | None:
        """How long it took; None while it runs."""
        return None if self.ended_at is None else _took_ms(self.started_at, self.ended_at)

    def to_document(self) -> dict[str, Any]:
        """Return plain JSON values; times are RFC 3339 in UTC."""
        return {
            "stage": self.stage,
            "attempt": self.attempt,
            "worker": self.worker,
            "started_at": to_rfc3339(self.started_at),
            "ended_at": _time(self.ended_at),
            "duration_ms": self.duration_ms,
            "outcome": self.word or self.outcome,
            "error_code": self.error_code,
            "error_class": self.error_class,
            "http_status": self.http_status,
        }


def attempts(
    job: Job, ledger: Sequence[LedgerEntry], shown: Presentation = PLAIN
) -> list[AttemptLine]:
    """Return every attempt, oldest first: as the ledger says they ended, and the one under way."""
    lines = [
        AttemptLine(
            stage=entry.stage,
            attempt=entry.attempt,
            worker=entry.holder,
            started_at=entry.started_at,
            ended_at=entry.at,
            outcome=entry.kind.value,
            error_class=entry.error_class,
            http_status=entry.http_status,
            error_code=shown.facts(entry).get("error_code"),
            word=shown.words.get(entry.kind, ""),
        )
        for entry in (item.entry for item in ledger)
        if entry.holder is not None and entry.started_at is not None
    ]
    if job.holder is not None and job.attempt_at is not None:
        running = AttemptLine(
            job.stage, job.attempt, job.holder, job.attempt_at, None, JobState.PROCESSING.value
        )
        # It may have ended between the reading of the job and that of its ledger.
        if all(line.started_at != running.started_at for line in lines):
            lines.append(running)
    return lines


def history(
    job: Job, ledger: Sequence[LedgerEntry], shown: Presentation = PLAIN
) -> list[HistoryLine]:
    """Return all that happened, oldest first, in the words of the job's pipeline.

    The ledger holds how each attempt ended and says when and where it began; that it was queued
    and began are lines worked out from that.
    """
    first_stage = ledger[0].entry.stage if ledger else job.stage
    lines = [HistoryLine(job.created_at, QUEUED, first_stage, 0, {}, shown.words.get(QUEUED, ""))]
    begun: tuple[str, int, Instant] | None = None
    for item in ledger:
        entry = item.entry
        if entry.holder is not None and entry.started_at is not None:
            begun = (entry.stage, entry.attempt, entry.started_at)
            lines.append(_start(*begun, entry.holder, shown))
        meta = {"state": item.state.value, **meta_of(entry, shown)}
        word = shown.words.get(entry.kind, "")
        kind = entry.kind.value
        lines.append(HistoryLine(entry.at, kind, entry.stage, entry.attempt, meta, word))
    if job.holder is not None and job.attempt_at is not None:
        now = (job.stage, job.attempt, job.attempt_at)
        if now != begun:
            lines.append(_start(*now, job.holder, shown))
    return lines


def _start(stage: str, attempt: int, at: Instant, holder: str, shown: Presentation) -> HistoryLine:
    word = shown.words.get(PROCESSING, "")
    return HistoryLine(at, PROCESSING, stage, attempt, {"worker": holder}, word)


def _value(text: str | None) -> Any:  # noqa: ANN401 - JSON of any shape
    """Return what the text holds, or the text when something else than holdfast wrote it."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return text


def _took_ms(started_at: Instant, ended_at: Instant) -> float:
    return round((ended_at - started_at) / 1000, 3)


def _time(instant: Instant | None) -> str | None:
    return None if instant is None else to_rfc3339(instant)
