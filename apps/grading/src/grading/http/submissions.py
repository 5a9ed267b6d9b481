"""`/api/submissions`: hand in answers, follow them, read what came of them."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import JSONResponse

from grading.http.documents import (
    EventList,
    StatusDocument,
    SubmissionDocument,
    SubmissionPage,
    SubmissionSent,
)
from grading.http.routing import Responses, grading_router
from grading.http.serving import Served, root_of
from grading.main.views.view import SubmissionView
from grading.states import Skill, Status
from holdfast.api.access import Operator, OwnerOrOperator, ReaderOrAnonymous, SubmitterOrWalkIn

REPLAYED: Final = "Idempotency-Replayed"
MAX_LISTED: Final = 100
MAX_KEY_CHARACTERS: Final = 255
MAX_CURSOR_CHARACTERS: Final = 512
_QUOTES: Final = 2
_LOCATION: Final = {
    "Location": {"description": "Where the submission is.", "schema": {"type": "string"}}
}
_REFUSED: Final[Responses] = {
    400: {"description": "`VALIDATION_ERROR` with `errors`, or `AUDIO_REFUSED`."},
    409: {"description": "`CONFLICT`: the key belongs to another body."},
    429: {"description": "`RATE_LIMITED` or `QUOTA_REACHED`, with `Retry-After`."},
}
_MISSING: Final[Responses] = {
    403: {"description": "`FORBIDDEN`: another's, or no such submission."}
}

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=MAX_KEY_CHARACTERS,
        description="Makes the request safe to repeat: the same key and body, one submission.",
    ),
]


def submission_routes(served: Served) -> APIRouter:
    """Return the routes of submissions."""
    routes = grading_router("submissions")
    _add_handing_in(routes, served)
    _add_reading(routes, served)
    _add_acting(routes, served)
    return routes


def _add_handing_in(routes: APIRouter, served: Served) -> None:
    @routes.post(
        "",
        status_code=201,
        response_model=SubmissionDocument,
        responses={
            201: {"description": "A new submission.", "headers": _LOCATION},
            200: {
                "description": "The submission that the key names already.",
                "model": SubmissionDocument,
                "headers": {
                    **_LOCATION,
                    REPLAYED: {"description": "`true`.", "schema": {"type": "string"}},
                },
            },
            **_REFUSED,
        },
    )
    def create_submission(
        body: SubmissionSent, request: Request, who: SubmitterOrWalkIn, key: Key = None
    ) -> JSONResponse:
        """Hand in an essay or a recording; it is graded by itself from then on."""
        made = served.submissions.submit(body.wanted(), owner=who.owner or "", key=_plain_key(key))
        headers = {"Location": f"{root_of(request)}/api/submissions/{made.view.submission_id}"}
        if not made.created:
            headers[REPLAYED] = "true"
        document = shown(made.view, who)
        return JSONResponse(document, 201 if made.created else 200, headers)


def _add_reading(routes: APIRouter, served: Served) -> None:
    @routes.get("", response_model=SubmissionPage)
    def list_submissions(
        who: ReaderOrAnonymous,
        skill: Skill | None = None,
        status: Status | None = None,
        limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 50,
        cursor: Annotated[str | None, Query(max_length=MAX_CURSOR_CHARACTERS)] = None,
    ) -> JSONResponse:
        """List submissions, newest first, without their answers."""
        page = served.submissions.list(
            owner=who.owner, skill=skill, status=status, limit=limit, cursor=cursor
        )
        return JSONResponse(page.document())

    @routes.get("/{job_id}", response_model=SubmissionDocument, responses=_MISSING)
    def get_submission(job_id: str, who: ReaderOrAnonymous) -> JSONResponse:
        """Read a submission with its answer, and its result or why it failed."""
        return JSONResponse(shown(served.submissions.get(job_id, owner=who.owner), who))

    @routes.get("/{job_id}/status", response_model=StatusDocument, responses=_MISSING)
    def get_submission_status(job_id: str, who: ReaderOrAnonymous) -> JSONResponse:
        """Read how far a submission is; for programs that poll."""
        return JSONResponse(served.submissions.get(job_id, owner=who.owner).status_document())

    @routes.get("/{job_id}/events", response_model=EventList, responses=_MISSING)
    def list_submission_events(job_id: str, who: ReaderOrAnonymous) -> JSONResponse:
        """List what happened to a submission, oldest first."""
        found = served.submissions.history(job_id, owner=who.owner)
        return JSONResponse({"items": [each.document() for each in found], "nextCursor": None})


def _add_acting(routes: APIRouter, served: Served) -> None:
    wrong_state: Responses = {409: {"description": "`wrong_state`: its state does not allow it."}}

    @routes.post(
        "/{job_id}/retry", response_model=SubmissionDocument, responses=_MISSING | wrong_state
    )
    def retry_submission(job_id: str, who: Operator) -> JSONResponse:
        """Start a failed submission over, with a new deadline; nothing is paid for twice."""
        served.submissions.get(job_id, owner=who.owner)
        return JSONResponse(shown(served.submissions.retry(job_id, by=who.name), who))

    @routes.post(
        "/{job_id}/cancel", response_model=SubmissionDocument, responses=_MISSING | wrong_state
    )
    def cancel_submission(job_id: str, who: OwnerOrOperator) -> JSONResponse:
        """End a submission: its owner may while it is `PENDING`, an operator at any time."""
        ended = served.submissions.cancel(job_id, owner=who.owner, by=who.name)
        return JSONResponse(shown(ended, who))


def shown(view: SubmissionView, who: ReaderOrAnonymous) -> dict[str, object]:
    """Return a submission as the visitor may see it."""
    return view.document(for_teacher=who.owner is None)


def _plain_key(given: str | None) -> str | None:
    """Return the key, which may stand in quotes as structured headers have it."""
    if given is not None and len(given) > _QUOTES and given[0] == given[-1] == '"':
        return given[1:-1]
    return given
