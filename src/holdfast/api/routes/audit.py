"""`/api/audit`: who did what to what, when and why."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.access import ReaderOfAll, guarded_router
from holdfast.api.models.audit import AuditLine, AuditPage
from holdfast.api.models.values.texts import Plain
from holdfast.api.requests.paging import PageQuery, link_next
from holdfast.api.requests.positions import cut, number_position
from holdfast.api.serving import Engine

ROUTER: Final = guarded_router("audit")
KIND: Final = "audit"


class AuditQuery(PageQuery):
    """Which part of the audit log; what is left out matches everything."""

    subject_kind: Plain | None = None
    subject: Plain | None = None


@ROUTER.get("")
def list_audit(
    query: Annotated[AuditQuery, Query()],
    _who: ReaderOfAll,
    engine: Engine,
    request: Request,
    response: Response,
) -> AuditPage:
    """List what operators did and how breakers moved, newest first."""
    found = engine.audit(
        subject_kind=query.subject_kind,
        subject=query.subject,
        before=number_position(KIND, query.cursor),
        limit=query.limit + 1,
    )
    page, cursor = cut(found, limit=query.limit, kind=KIND, position=lambda entry: entry.id or 0)
    link_next(request, response, cursor)
    return AuditPage(items=[AuditLine.of(entry) for entry in page], next_cursor=cursor)
