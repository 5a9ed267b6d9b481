"""Mails as documents: a line of a list, and all that is known of one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from collabiq.failures.errors import ErrorRecords
from collabiq.records.dlq_entry import DLQ_FORM
from collabiq.rows import EmailRow
from holdfast import Holdfast, JobState, JobView
from holdfast.errors import UnknownJob, UnknownLetter

_US: Final = 1_000_000
_ACTIVE: Final = frozenset({JobState.QUEUED, JobState.PROCESSING, JobState.WAITING})
_MAX_ERRORS: Final = 50
_WAITS: Final = "waits for its turn"
_ERROR: Final = (
    "timestamp",
    "severity",
    "category",
    "message",
    "error_type",
    "http_status",
    "retry_count",
    "context",
)
"""What a mail's page has of a record: not where in the code it came about."""
_MAIL: Final = (
    "subject",
    "from",
    "to",
    "cc",
    "date",
    "received_at",
    "message_id",
    "thread_id",
    "attachments",
    "size_bytes",
    "authentication",
    "limits_met",
)


class Views:
    """Makes documents of rows, with what the engine knows of their jobs."""

    def __init__(self, engine: Holdfast, errors: ErrorRecords | None) -> None:
        self._engine, self._errors = engine, errors

    def item(self, row: EmailRow) -> dict[str, Any]:
        """Return a mail as lists have it."""
        job = self._job(row.job_id) if _may_move(row) or row.status == "failed" else None
        return self._item(row, job)

    def whole(self, row: EmailRow, *, end_user: bool = False) -> dict[str, Any]:
        """Return all that is known of a mail; of failures end users see less than operators."""
        disclosure = self._engine.disclosure(end_user=end_user)
        job, correction = self._job(row.job_id), self._job(row.correction_id)
        found = self.results(row)
        fetched = found.get("fetched") or {}
        match = found.get("match")
        written = found.get("written") or {}
        return {
            **self._item(row, job),
            "mail": {name: fetched.get(name) for name in _MAIL} if fetched else None,
            "cleaned": found.get("cleaned"),
            "extraction": found.get("extraction"),
            "matches": None
            if match is None
            else {name: value for name, value in match.items() if name != "properties"},
            "page": {
                "page_id": row.page_id,
                "url": row.page_url,
                "outcome": written.get("outcome"),
            },
            "correction": None if correction is None else _correction(correction),
            "history": [
                {**line.to_document(), "run": run}
                for run, view in (("processing", job), ("correction", correction))
                if view is not None
                for line in disclosure.history(self._engine.history(view.id))
            ],
            "errors": self._records(row.email_id),
        }

    def results(self, row: EmailRow) -> dict[str, Any]:
        """Return what the stages of a mail have found, with a person's correction in it."""
        job, correction = self._job(row.job_id), self._job(row.correction_id)
        views = [view for view in (job, correction) if view is not None]
        found = self._engine.results_of(views)
        own = found.get(job.id, {}) if job is not None else {}
        result = {
            "fetched": own.get("gmail_fetch") or own.get("read"),
            "cleaned": own.get("clean"),
            "extraction": own.get("gemini_extract"),
            "match": own.get("match"),
            "written": own.get("notion_write"),
        }
        if correction is None or (job is not None and correction.created_at < job.created_at):
            return result
        later = found[correction.id]
        payload = correction.payload if isinstance(correction.payload, Mapping) else {}
        if correction.state is JobState.COMPLETE:
            result["extraction"] = payload.get("extraction") or result["extraction"]
            result["match"] = later.get("match") or result["match"]
            result["written"] = later.get("notion_write") or result["written"]
        return result

    def status_of(self, row: EmailRow) -> str:
        """Return how a mail stands now; its row may be a moment behind its job."""
        return _status(row, self._job(row.job_id) if _may_move(row) else None)

    def is_under_way(self, job_id: str | None) -> bool:
        """Return whether a job has not ended."""
        job = self._job(job_id)
        return job is not None and job.state in _ACTIVE

    def _item(self, row: EmailRow, job: JobView | None) -> dict[str, Any]:
        status = _status(row, job)
        return {
            "email_id": row.email_id,
            "subject": row.subject,
            "from": row.sender,
            "received_at": _time(row.received_at),
            "noticed_at": _time(row.noticed_at),
            "updated_at": _time(row.updated_at),
            "source": row.source,
            "version": row.version,
            "status": status,
            "stage": _stage(job, status),
            "reason": _reason(row, job, status),
            "review": list(row.review),
            "startup_name": row.startup_name,
            "partner_org": row.partner_org,
            "person_in_charge": row.person_in_charge,
            "date": row.happened_on,
            "details": row.details,
            "confidence": row.confidence,
            "page_url": row.page_url,
            "dlq_id": self._dlq_id(row) if status == "failed" else None,
        }

    def _dlq_id(self, row: EmailRow) -> str | None:
        if row.job_id is None:
            return None
        try:
            letter = self._engine.dead.get(row.job_id).letter
        except (UnknownLetter, UnknownJob):
            return None
        moment = datetime.fromtimestamp(letter.first_failure_at / _US, UTC)
        return DLQ_FORM.id_of(moment, row.email_id)

    def _job(self, job_id: str | None) -> JobView | None:
        if job_id is None:
            return None
        try:
            return self._engine.job(job_id)
        except UnknownJob:
            return None  # kept no longer

    def _records(self, email_id: str) -> list[dict[str, Any]]:
        if self._errors is None:
            return []
        found = self._errors.list(email_id=email_id, limit=_MAX_ERRORS)["errors"]
        return [{name: record[name] for name in _ERROR} for record in found]


def _may_move(row: EmailRow) -> bool:
    return row.status in {"pending", "processing"}


def _status(row: EmailRow, job: JobView | None) -> str:
    if job is None or not _may_move(row):
        return row.status
    match job.state:
        case JobState.FAILED | JobState.CANCELLED:
            return "failed"
        case JobState.PROCESSING | JobState.WAITING:
            return "processing"
        case _:
            return row.status


def _stage(job: JobView | None, status: str) -> str | None:
    if job is not None and status in {"pending", "processing", "failed"}:
        return job.job.stage
    return None


def _reason(row: EmailRow, job: JobView | None, status: str) -> str | None:
    if row.reason is not None:
        return row.reason
    if status == "pending" and row.job_id is None:
        return _WAITS
    if status == "failed" and job is not None and job.error is not None:
        return str(job.error.get("message") or "") or None
    return None


def _correction(view: JobView) -> dict[str, Any]:
    payload = view.payload if isinstance(view.payload, Mapping) else {}
    return {
        "state": view.state.value,
        "by": payload.get("by"),
        "at": view.created_at.isoformat(),
        "error": None if view.error is None else view.error.get("message"),
    }


def _time(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()
