"""`/api/upload`, `/api/conversions`, and what a conversion adds to `/api/jobs/{id}`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Annotated, Final, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from converter.conversions import Conversions, Taken, upload_of
from converter.http.document import Conversion, ConversionList, document_of
from converter.http.problems import told_as_problems
from converter.http.upload_form import UploadForm
from converter.payload import xml_filename
from converter.pipeline import GATEWAY, PIPELINE
from converter.presentation import fields_of
from converter.sending import PRIORITIES, HighPriority
from holdfast import Holdfast, JobFilter, JobView
from holdfast.api.access import (
    OwnerOrOperator,
    ReaderOrAnonymous,
    SubmitterOrWalkIn,
    guarded_router,
    shown_to,
)

MAX_LISTED: Final = 100
XML: Final = "application/xml"
OPERATOR: Final = "operator"
_SENT: Final = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file", "mapping"],
                    "properties": {
                        "mapping": {"type": "string"},
                        "callback_url": {"type": "string", "format": "uri"},
                        "priority": {"type": "string", "enum": list(PRIORITIES)},
                        "file": {"type": "string", "format": "binary"},
                    },
                }
            }
        },
    }
}

_XML: Final = {
    "description": "The XML, to be saved.",
    "content": {XML: {"schema": {"type": "string", "format": "binary"}}},
}


class Served(NamedTuple):
    """What the routes go by."""

    app: Holdfast
    conversions: Conversions
    attempts: int
    mappings: tuple[str, ...]
    max_bytes: int
    kept_since: Callable[[], datetime]
    """What was finished before that instant is not kept any more."""
    high_priority: HighPriority = HighPriority.TOKENS

    def documents(
        self, views: Sequence[JobView], request: Request, who: ReaderOrAnonymous
    ) -> list[Conversion]:
        """Return conversions as this principal may see them."""
        root = str(request.scope.get("root_path", ""))
        kept = self.conversions.kept(views)
        since = self.kept_since()
        shown = shown_to(who, self.app)
        return [
            document_of(
                view,
                kept,
                fields=fields_of(shown.job(view)),
                attempts=self.attempts,
                root=root,
                kept_since=since,
            )
            for view in views
        ]


def routes_of(served: Served) -> APIRouter:
    """Return the routes of the converter."""
    parts = (_sending, _listing, _fetching)
    # Taken as they are: including them would make each of them again.
    return APIRouter(routes=[route for routes in parts for route in routes(served).routes])


def _sending(served: Served) -> APIRouter:
    routes = guarded_router("upload")

    @routes.post(
        "",
        status_code=201,
        openapi_extra=_SENT,
        responses={200: {"description": "The job that has this file.", "model": Conversion}},
    )
    async def upload_file(
        request: Request, response: Response, who: SubmitterOrWalkIn
    ) -> Conversion:
        """Send a PDF to be converted: a form with the field `mapping` and the part `file`.

        The field `callback_url`, or the header `X-Callback-Url`, asks for a webhook when the
        conversion has ended; the field `priority` is `high`, `normal` or `low`.
        """
        with told_as_problems():
            form = UploadForm(
                request.stream(),
                request.headers.get("content-type", ""),
                callback_url=request.headers.get("x-callback-url", ""),
            )
            await form.begin()
            may_hurry = served.high_priority.allows(
                walks_in=who.walks_in, is_operator=who.role.value == OPERATOR
            )
            taken = await run_in_threadpool(_take, form, who.owner or "", may_hurry)
        if not taken.created:
            response.status_code = 200
        root = str(request.scope.get("root_path", ""))
        response.headers["Location"] = f"{root}/api/jobs/{taken.job.id}"
        (document,) = await run_in_threadpool(served.documents, [taken.job], request, who)
        return document

    def _take(form: UploadForm, owner: str, may_hurry: bool) -> Taken:  # noqa: FBT001 - by a pool
        return served.conversions.take(form, owner=owner, may_hurry=may_hurry)

    return routes


def _listing(served: Served) -> APIRouter:
    routes = guarded_router("conversions")

    @routes.get("")
    def list_conversions(
        request: Request,
        who: ReaderOrAnonymous,
        limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = MAX_LISTED,
    ) -> ConversionList:
        """List conversions, newest first, and tell whether the gateway is called."""
        found = served.app.jobs(JobFilter(pipeline=PIPELINE, owner=who.owner), limit=limit)
        return ConversionList(
            items=served.documents(found, request, who),
            paused=_is_paused(served.app),
            mappings=list(served.mappings),
            max_bytes=served.max_bytes,
        )

    return routes


def _fetching(served: Served) -> APIRouter:
    routes = guarded_router("jobs")

    @routes.get("/{job_id}/download", response_class=StreamingResponse, responses={200: _XML})
    def download_result(job_id: str, who: ReaderOrAnonymous) -> StreamingResponse:
        """Fetch the XML of a conversion."""
        with ExitStack() as opened, told_as_problems():
            view = served.conversions.asked_for(job_id, owner=who.owner)
            reading = opened.enter_context(served.conversions.result(job_id, owner=who.owner))
            closing = opened.pop_all()

        def body() -> Iterator[bytes]:
            with closing:
                yield from reading

        name = xml_filename(upload_of(view).filename)
        headers = {
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
            "Content-Length": str(reading.size),
            "Cache-Control": "private, no-store",
            "X-Content-Type-Options": "nosniff",
        }
        return StreamingResponse(body(), headers=headers, media_type=XML)

    @routes.delete("/{job_id}", status_code=204)
    def remove_conversion(job_id: str, who: OwnerOrOperator) -> None:
        """End a conversion that is under way, and remove its files."""
        with told_as_problems():
            served.conversions.remove(job_id, owner=who.owner, by=who.name)

    return routes


def _is_paused(app: Holdfast) -> bool:
    """Return whether the gateway is not called, by its breaker or because it asked for a rest."""
    for view in app.upstreams.list():
        if view.name == GATEWAY:
            return view.paused_until is not None or view.gate.value == "open"
    return False
