"""`/api/exports`: lists as tables for spreadsheets, page by page."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Query
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.access import Reader, ReaderOfAll, guarded_router, shown_to
from holdfast.api.auth.owners import owner_for
from holdfast.api.models.audit import AuditLine
from holdfast.api.models.jobs import JobQuery, JobSummary
from holdfast.api.models.letter_selection import LetterQuery
from holdfast.api.requests.csv_text import MEDIA_TYPE, csv_of
from holdfast.api.requests.paging import link_next
from holdfast.api.requests.positions import cut, id_position, number_position
from holdfast.api.routes import audit, dead_letters, deliveries, jobs
from holdfast.api.serving import Engine

ROUTER: Final = guarded_router("exports")
LONGEST: Final = 1_000
_A_TABLE: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "A table, its names in the first row; the header `Link` names the next.",
        "content": {"text/csv": {"schema": {"type": "string"}}},
    }
}
_OF_JOBS: Final = [
    "id",
    "pipeline",
    "state",
    "label",
    "stage",
    "attempt",
    "queue",
    "priority",
    "owner",
    "key",
    "version",
    "rerun_of",
    "created_at",
    "run_at",
    "deadline_at",
    "started_at",
    "finished_at",
    "retries",
    "error_code",
    "error_class",
]
_OF_LETTERS: Final = [
    "id",
    "standing",
    "state",
    "escalated",
    "pipeline",
    "stage",
    "queue",
    "owner",
    "error_code",
    "error_class",
    "category",
    "severity",
    "http_status",
    "attempts",
    "deaths",
    "first_failure_at",
    "last_failure_at",
    "message",
    "exception_type",
    "fingerprint",
    "cause",
    "evidence",
    "note",
    "replayed_at",
    "resolved_at",
]
_OF_DELIVERIES: Final = [
    "id",
    "subject",
    "recipient",
    "version",
    "provider",
    "state",
    "required",
    "job_id",
    "stage",
    "attempts",
    "lookups",
    "created_at",
    "run_at",
    "notification_id",
    "notified_at",
    "error_class",
    "error",
]
_OF_AUDIT: Final = ["id", "at", "by", "action", "subject_kind", "subject", "reason"]


class JobExport(JobQuery):
    """Which jobs."""

    limit: int = Field(default=LONGEST, ge=1, le=LONGEST, description="How many rows at most.")


class LetterExport(LetterQuery):
    """Which dead letters."""

    limit: int = Field(default=LONGEST, ge=1, le=LONGEST, description="How many rows at most.")


class DeliveryExport(deliveries.DeliveryQuery):
    """Which deliveries."""

    limit: int = Field(default=LONGEST, ge=1, le=LONGEST, description="How many rows at most.")


class AuditExport(audit.AuditQuery):
    """Which part of the audit log."""

    limit: int = Field(default=LONGEST, ge=1, le=LONGEST, description="How many rows at most.")


@ROUTER.get("/jobs.csv", responses=_A_TABLE, response_class=Response)
def export_jobs(
    query: Annotated[JobExport, Query()], who: Reader, engine: Engine, request: Request
) -> Response:
    """Return jobs as a table, newest first, without their documents."""
    kind = jobs.CURSOR
    before = id_position(kind, query.cursor)
    found = engine.jobs(jobs.scoped(query.filter(), who), before=before, limit=query.limit + 1)
    page, cursor = cut(found, limit=query.limit, kind=kind, position=lambda view: view.id)
    shown = shown_to(who, engine)
    rows = [JobSummary.of(view, shown).model_dump() for view in page]
    return _table(request, "jobs", csv_of(_OF_JOBS, rows), cursor)


@ROUTER.get("/dead-letters.csv", responses=_A_TABLE, response_class=Response)
def export_dead_letters(
    query: Annotated[LetterExport, Query()], who: Reader, engine: Engine, request: Request
) -> Response:
    """Return dead letters as a table, newest job first."""
    kind = dead_letters.KIND
    found = engine.dead.find(
        query.filter(),
        before=id_position(kind, query.cursor),
        limit=query.limit + 1,
        owner=owner_for(who, query.owner),
    )
    page, cursor = cut(found, limit=query.limit, kind=kind, position=lambda view: view.id)
    shown = shown_to(who, engine)
    rows = [shown.letter(view).to_document() for view in page]
    return _table(request, "dead-letters", csv_of(_OF_LETTERS, rows), cursor)


@ROUTER.get("/deliveries.csv", responses=_A_TABLE, response_class=Response)
def export_deliveries(
    query: Annotated[DeliveryExport, Query()], who: Reader, engine: Engine, request: Request
) -> Response:
    """Return deliveries as a table, newest first."""
    kind = deliveries.KIND
    found = engine.deliveries.find(
        query.filter(),
        before=id_position(kind, query.cursor),
        limit=query.limit + 1,
        owner=who.owner,
    )
    page, cursor = cut(found, limit=query.limit, kind=kind, position=lambda view: view.id)
    shown = shown_to(who, engine)
    rows = [shown.delivery(view).to_document() for view in page]
    return _table(request, "deliveries", csv_of(_OF_DELIVERIES, rows), cursor)


@ROUTER.get("/audit.csv", responses=_A_TABLE, response_class=Response)
def export_audit(
    query: Annotated[AuditExport, Query()], _who: ReaderOfAll, engine: Engine, request: Request
) -> Response:
    """Return the audit log as a table, newest first."""
    kind = audit.KIND
    found = engine.audit(
        subject_kind=query.subject_kind,
        subject=query.subject,
        before=number_position(kind, query.cursor),
        limit=query.limit + 1,
    )
    page, cursor = cut(found, limit=query.limit, kind=kind, position=lambda entry: entry.id or 0)
    rows = [AuditLine.of(entry).model_dump() for entry in page]
    return _table(request, "audit", csv_of(_OF_AUDIT, rows), cursor)


def _table(request: Request, name: str, text: str, cursor: str | None) -> Response:
    response = Response(text, media_type=MEDIA_TYPE)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    link_next(request, response, cursor)
    return response
