"""Jobs as the API takes and tells them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from holdfast.api.models.values.acting import Request
from holdfast.api.models.values.moment import Moment, When, instant, told
from holdfast.api.models.values.texts import Plain, Text
from holdfast.api.models.values.whole import WHOLE
from holdfast.api.requests.paging import PageQuery
from holdfast.core.job.job import DEFAULT_PRIORITY, PRIORITIES, JobState
from holdfast.engine.submit.submission import MAX_VERSION, Submit
from holdfast.secrecy import (
    kept_value,
    private_value,
    redacted,
    redacted_value,
    without_names,
)
from holdfast.store.contract import JobFilter
from holdfast.views.disclosure import Disclosure
from holdfast.views.explain.advice import Mover
from holdfast.views.job import AttemptLine, HistoryLine, JobView

LONGEST_S: Final = 10 * 365 * 24 * 3600.0
MAX_AT_ONCE: Final = 1_000
"""How many jobs one request may change; the answer says where to go on."""

Seconds = Annotated[float, Field(ge=0, le=LONGEST_S, allow_inf_nan=False)]
States = Annotated[list[Annotated[JobState, Field(strict=False)]], Field(max_length=len(JobState))]


class Document(BaseModel):
    """A part of an answer, described field by field."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class JobSubmission(Request):
    """A job to be made; its key stands in the header `Idempotency-Key`."""

    pipeline: Plain
    payload: Any = None
    """What the first stage gets: any JSON that the pipeline accepts."""
    key_alone: bool = False
    """The key alone decides whether the job is there already; the payload is not compared."""
    version: Annotated[int, Field(ge=1, le=MAX_VERSION), WHOLE] = 1
    rerun: bool = False
    """Run the job of that key again, under a higher version."""
    queue: Plain | None = None
    priority: Annotated[int, Field(ge=min(PRIORITIES), le=max(PRIORITIES)), WHOLE] = (
        DEFAULT_PRIORITY
    )
    """0 is first, 3 is last."""
    delay: Seconds | None = None
    """Seconds from now until it is due; not together with `run_at`."""
    run_at: When | None = None
    deadline: Seconds | None = None
    """Seconds from now until it has failed by timeout; not together with `deadline_at`."""
    deadline_at: When | None = None
    owner: Plain | None = None
    """Whose job it is; your own owner's unless your token is for every owner."""

    def options(self) -> dict[str, Any]:
        """Return what `submit` takes under the names of the fields."""
        given = {name: getattr(self, name) for name in type(self).model_fields}
        deadline_at = given.pop("deadline_at")
        if deadline_at is not None:
            given["deadline"] = deadline_at
        return {name: value for name, value in given.items() if name in Submit._fields}

    @model_validator(mode="after")
    def _one_way_to_say_when(self) -> JobSubmission:
        if self.delay is not None and self.run_at is not None:
            raise ValueError("give delay or run_at, not both")
        if self.deadline is not None and self.deadline_at is not None:
            raise ValueError("give deadline or deadline_at, not both")
        return self


class WaitsForDocument(Document):
    """What a job waits for, in a word and in a few."""

    reason: str
    brief: str


class JobSummary(Document):
    """A job as lists show it: everything but its documents.

    What its pipeline adds of its own stands beside these fields.
    """

    model_config = ConfigDict(extra="allow")

    id: str
    pipeline: str
    state: JobState
    label: str
    """The state, or what time has made of it: due, scheduled, retrying, overdue; held where its
    upstream lets none pass."""
    stage: str
    attempt: int
    queue: str
    priority: int
    owner: str
    key: str | None
    version: int
    rerun_of: str | None
    created_at: Moment
    queued_at: Moment
    """When it was submitted, or last sent back by hand."""
    run_at: Moment | None
    """When it is due; null unless it is queued."""
    deadline_at: Moment | None
    started_at: Moment | None
    attempt_at: Moment | None
    finished_at: Moment | None
    updated_at: Moment
    holder: str | None
    """The worker that runs it; end users get a name that gives no machine away."""
    lease_until: Moment | None
    snoozes: int
    interruptions: int
    retries: int
    revision: int
    error_code: str | None
    """The public code of the failure, or its error class where the pipeline has no codes."""
    error_message: str | None
    """The same in one line; null to operators of a pipeline without public codes."""
    error_class: str | None
    """Of a job that failed; end users get the public code here too."""
    removed_at: Moment | None
    """When the job was removed, where its key alone is known; else null."""
    waits_for: WaitsForDocument | None = None
    """What it waits for, where it was looked for; null to end users."""

    @classmethod
    def of(cls, view: JobView, shown: Disclosure) -> JobSummary:
        """Return a job as lists show it."""
        return cls(**shown.own_fields(view) | _summary(view, shown))


class WaitingDocument(Document):
    """Why a job waits."""

    reason: str
    """answer, deliveries, scheduled, retry, queue_paused, upstream, rate, no_worker, no_handler,
    workers_busy, worker or takeover."""
    sentence: str
    brief: str
    """The same in a few words."""
    whose: Mover
    """Whose move it is: nobody's where it ends by itself."""
    until: Moment | None
    """When that ends by itself, as far as is known."""
    remedy: str | None
    """What can be done about it; null where there is nothing to do."""


class JobDocument(JobSummary):
    """A job with its documents, in which secrets are hidden."""

    plan: str
    trace: str | None
    payload: Any
    result: Any
    """What the last stage returned; null unless the job is complete."""
    error: dict[str, Any] | None
    """Why the job failed, null unless it did; end users get the public code and its line."""
    late_result: Any
    """What came after the deadline; it changes nothing."""
    waiting: WaitingDocument | None = None
    """Why it waits, for those who see every owner's jobs; null where it does not."""

    @classmethod
    def of(
        cls,
        view: JobView,
        shown: Disclosure,
        *,
        keeps: bool = False,
        without: Collection[str] = (),
    ) -> JobDocument:
        """Return a job with its documents; of a failed one without what is personal.

        Programs read the others, and a pipeline that `keeps` personal data wants it shown. What
        stands under the names in `without` is shown to nobody.
        """
        seen = shown.job(view)
        hide = redacted_value
        if view.state is JobState.FAILED:
            hide = kept_value if keeps else private_value
        documents = {
            "plan": seen.job.plan,
            "trace": None if seen.job.trace is None else redacted(seen.job.trace),
            "payload": hide(without_names(seen.payload, without)),
            "result": redacted_value(without_names(seen.result, without)),
            "error": hide(seen.error),
            "late_result": redacted_value(without_names(seen.late_result, without)),
        }
        return cls(**shown.own_fields(view) | _summary(view, shown) | documents)


def _summary(view: JobView, shown: Disclosure) -> dict[str, Any]:
    public, view = shown.public_error(view), shown.job(view)
    job = view.job
    error = view.error
    return {
        "id": job.id,
        "pipeline": job.pipeline,
        "state": job.state,
        "label": view.label,
        "stage": job.stage,
        "attempt": job.attempt,
        "queue": job.queue,
        "priority": job.priority,
        "owner": job.owner,
        "key": shown.key(view),
        "version": job.version,
        "rerun_of": job.rerun_of,
        "created_at": told(job.created_at),
        "queued_at": told(job.created_at if view.sent_back_at is None else view.sent_back_at),
        "run_at": told(job.run_at) if job.state is JobState.QUEUED else None,
        "deadline_at": told(job.deadline_at),
        "started_at": told(job.started_at),
        "attempt_at": told(job.attempt_at),
        "finished_at": told(job.finished_at),
        "updated_at": told(job.updated_at),
        "holder": job.holder,
        "lease_until": told(job.lease_until),
        "snoozes": job.snoozes,
        "interruptions": job.interruptions,
        "retries": job.retries,
        "revision": job.revision,
        "error_code": None if public is None else public.error_code,
        "error_message": None if public is None else public.error_message,
        "error_class": None if error is None else error.get("error_class"),
        "removed_at": told(view.gone_at),
        "waits_for": None if view.waits_for is None else view.waits_for._asdict(),
    }


class JobPage(Document):
    """Some jobs, newest first."""

    items: list[JobSummary]
    next_cursor: str | None


class JobEvent(Document):
    """One thing that happened to a job."""

    at: Moment
    event: str
    stage: str
    attempt: int
    meta: dict[str, Any]

    @classmethod
    def of(cls, line: HistoryLine) -> JobEvent:
        """Return a line of a job's history."""
        told = line.to_document()
        return cls(**told | {"meta": redacted_value(told["meta"])})


class JobEvents(Document):
    """All that happened to a job, oldest first."""

    items: list[JobEvent]


class JobAttempt(Document):
    """One run of one stage under one lease."""

    stage: str
    attempt: int
    worker: str
    started_at: Moment
    ended_at: Moment | None
    """null while it runs."""
    duration_ms: float | None
    outcome: str
    error_code: str | None
    error_class: str | None
    http_status: int | None

    @classmethod
    def of(cls, line: AttemptLine) -> JobAttempt:
        """Return an attempt."""
        return cls(**line.to_document())


class JobAttempts(Document):
    """Every attempt at a job's stages, oldest first."""

    items: list[JobAttempt]


class JobResults(Document):
    """What the finished stages of a job's current run returned, by stage; secrets are hidden."""

    results: dict[str, Any]


class RetryRequest(Request):
    """Why a job is sent back, and from where."""

    reason: Text | None = None
    from_start: bool = False
    """From the first stage, not from the one that failed."""


class JobSelection(Request):
    """Which jobs; what is left out matches everything."""

    state: States = Field(default=[])
    pipeline: Plain | None = None
    stage: Plain | None = None
    queue: Plain | None = None
    owner: Plain | None = None
    key: Plain | None = None
    error_class: Plain | None = None
    created_since: When | None = None
    created_until: When | None = None

    def filter(self) -> JobFilter:
        """Return the engine's filter."""
        return JobFilter(
            states=tuple(dict.fromkeys(self.state)),
            pipeline=self.pipeline,
            stage=self.stage,
            queue=self.queue,
            owner=self.owner,
            key=self.key,
            error_class=self.error_class,
            created_since=instant(self.created_since),
            created_until=instant(self.created_until),
        )


class JobQuery(PageQuery, JobSelection):
    """Which jobs to list, and which page of them."""

    model_config = ConfigDict(extra="forbid", strict=False)


class JobListQuery(JobQuery):
    """Which jobs to list, also by what time and their upstream have made of them."""

    label: Literal["held"] | None = None
    """`held`: due, and their upstream lets none pass."""


class BulkAction(Request):
    """Which jobs something is done to, and why."""

    filter: JobSelection
    reason: Text
    dry_run: bool = False
    """Only count."""
    limit: Annotated[int, Field(ge=1, le=MAX_AT_ONCE), WHOLE] = MAX_AT_ONCE
    cursor: Annotated[str, Field(max_length=512)] | None = None
    """`next_cursor` of the answer before, with everything else as it was."""


class BulkCancel(BulkAction):
    """Which jobs to end, and why; the filter must not be empty."""

    expected_count: Annotated[int, Field(ge=1), WHOLE] | None = None
    """How many jobs match, as `dry_run` answered; needed for more than 100."""


class BulkRetry(BulkAction):
    """Which jobs to send back, why, and from where."""

    everything: bool = False
    """Said on purpose: the filter is empty, and every job that has failed is meant."""
    from_start: bool = False


class BulkOutcome(Document):
    """What became of a part of a bulk action, or with `dry_run` what would."""

    action: str
    dry_run: bool
    matched: int
    """Jobs that the filter matches and that allow the action: all with `dry_run`, else the part."""
    at_least: bool
    """There are more than `matched`; counting stopped there."""
    changed: int
    refused: dict[str, int]
    """How many were left alone because their pipeline says so, by the reason; none are counted
    with `dry_run`."""
    next_cursor: str | None
    """Where to go on; null once all are done."""
