"""`/api/grading/dlq`: requests that were given up, for operators to work through."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import JSONResponse

from grading.dead_requests import DeadRequests
from grading.http.documents import DeadRequestDocument, DeadRequestList
from grading.http.routing import Responses, grading_router
from grading.http.serving import Served
from holdfast.api.access import OperatorOfAll, ReaderOfAll


def dead_request_routes(served: Served) -> APIRouter:
    """Return the routes of dead letters."""
    routes = grading_router("grading/dlq")
    dead = DeadRequests(served.app, retry=served.submissions.retry)
    wrong_state: Responses = {409: {"description": "`wrong_state`: there is nothing to be done."}}

    @routes.get("", response_model=DeadRequestList)
    def list_dead_requests(_who: ReaderOfAll) -> JSONResponse:
        """List requests that were given up and wait for a person, the latest first."""
        items = [each.document() for each in dead.list()]
        return JSONResponse({"items": items, "nextCursor": None})

    @routes.post("/{letter_id}/retry", response_model=DeadRequestDocument, responses=wrong_state)
    def retry_dead_request(letter_id: str, who: OperatorOfAll) -> JSONResponse:
        """Start the submission of a request over; calls that were paid for are not made again."""
        return JSONResponse(dead.retry(letter_id, by=who.name).document())

    @routes.post("/{letter_id}/discard", response_model=DeadRequestDocument, responses=wrong_state)
    def discard_dead_request(letter_id: str, who: OperatorOfAll) -> JSONResponse:
        """Close a dead letter; its submission stays as it is."""
        return JSONResponse(dead.discard(letter_id, by=who.name).document())

    return routes
