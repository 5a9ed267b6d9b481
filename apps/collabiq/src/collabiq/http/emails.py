"""`/api/emails`: mails, what came of them, and what people do about them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Body, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse

from collabiq.collabiq import Collabiq
from collabiq.emails.emails import MAX_LISTED, MAX_SEARCH
from collabiq.http.documents import (
    CORRECTION_BODY,
    EmailDocument,
    EmailItem,
    EmailList,
    PollDocument,
)
from collabiq.http.routing import (
    NO_EMAIL,
    EmailId,
    Responses,
    check_mailbox,
    collabiq_router,
    problem_of,
)
from collabiq.mail import MAX_MAIL_BYTES
from collabiq.refusals import Refused, TooLarge
from holdfast.api.access import Operator, Reader, Submitter
from holdfast.api.problems import Kind, Problem

MEDIA_TYPE: Final = "message/rfc822"
MAX_CURSOR_CHARACTERS: Final = 512
_CLOSE: Final = {"Connection": "close"}
"""The rest of a mail that is refused is not read."""
_WRONG_TYPE: Final = Kind(415, "The body has to be a mail")
_BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
    }
}
_LOCATION: Final = {"Location": {"description": "Where the mail is.", "schema": {"type": "string"}}}
_TAKEN: Final[Responses] = {
    201: {"description": "A new mail.", "headers": _LOCATION},
    200: {"description": "The same bytes were sent before.", "model": EmailItem},
    403: {"description": "`role_missing`, or `owner_refused`: your token is for another owner."},
    413: {"description": "`too_large`: more than 25 MiB."},
    415: {"description": f"`media_type_refused`: send it as {MEDIA_TYPE}."},
    422: {"description": "`not_a_mail`: empty, or without any header."},
}
_WRONG_STATE: Final[Responses] = {
    409: {"description": "`wrong_state`: it is under way, or has no row."}
}

Status = Literal["pending", "processing", "processed", "needs_review", "skipped", "failed"]


def email_routes(collabiq: Collabiq) -> APIRouter:
    """Return the routes of mails."""
    routes = collabiq_router("emails")
    _add_reading(routes, collabiq)
    _add_receiving(routes, collabiq)
    _add_acting(routes, collabiq)
    return routes


def _add_reading(routes: APIRouter, collabiq: Collabiq) -> None:
    @routes.get(
        "",
        response_model=EmailList,
        responses={400: {"description": "`invalid_cursor`: it is of another list."}},
    )
    def list_emails(  # noqa: PLR0917 - a parameter for each of the query's
        who: Reader,
        status: Status | None = None,
        since: datetime | None = None,
        q: Annotated[str | None, Query(max_length=MAX_SEARCH)] = None,
        limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 50,
        cursor: Annotated[str | None, Query(max_length=MAX_CURSOR_CHARACTERS)] = None,
    ) -> JSONResponse:
        """List mails, newest first; `q` is looked for in subject, sender, companies and id."""
        found = collabiq.emails.list(
            owner=who.owner, status=status, since=since, q=q, limit=limit, cursor=cursor
        )
        return JSONResponse(found)

    @routes.get("/{email_id}", response_model=EmailDocument, responses=NO_EMAIL)
    def get_email(email_id: EmailId, who: Reader) -> JSONResponse:
        """Read all that is known of a mail: texts, extraction, matches, row, history, errors."""
        return JSONResponse(collabiq.emails.show(email_id, owner=who.owner))


def _add_receiving(routes: APIRouter, collabiq: Collabiq) -> None:
    @routes.post(
        "", status_code=201, response_model=EmailItem, openapi_extra=_BODY, responses=_TAKEN
    )
    async def receive_email(request: Request, who: Submitter) -> JSONResponse:
        """Take one mail as its bytes; the same bytes twice are one mail."""
        check_mailbox(who, collabiq.config.mailbox)
        try:
            raw = await _mail_of(request)
            document, is_new = await run_in_threadpool(collabiq.emails.receive, raw, by=who.name)
        except Refused as refused:
            problem = problem_of(refused)
            problem.headers |= _CLOSE
            raise problem from None
        root = str(request.scope.get("root_path", ""))
        headers = {"Location": f"{root}/api/emails/{document['email_id']}"}
        return JSONResponse(document, 201 if is_new else 200, headers)

    @routes.post(
        "/fetch",
        status_code=202,
        response_model=PollDocument,
        responses={409: {"description": "`wrong_state`: no mailbox is watched."}},
    )
    def fetch_emails(who: Submitter) -> JSONResponse:
        """Have the mailbox polled now; a poll that is under way is joined."""
        check_mailbox(who, collabiq.config.mailbox)
        return JSONResponse(collabiq.inbox.fetch(by=who.name), 202)


def _add_acting(routes: APIRouter, collabiq: Collabiq) -> None:
    @routes.post(
        "/{email_id}/process",
        status_code=202,
        response_model=EmailItem,
        responses=NO_EMAIL | _WRONG_STATE,
    )
    def process_email(email_id: EmailId, who: Operator) -> JSONResponse:
        """Run a mail again from the start, as its next version; its row is found again."""
        found = collabiq.emails.process(email_id, by=who.name, owner=who.owner)
        return JSONResponse(found, 202)

    @routes.put(
        "/{email_id}/extraction",
        response_model=EmailDocument,
        openapi_extra=CORRECTION_BODY,
        responses=NO_EMAIL
        | _WRONG_STATE
        | {422: {"description": "`invalid`, with a pointer to every place that does not fit."}},
    )
    def correct_email(
        email_id: EmailId, body: Annotated[dict[str, Any], Body()], who: Operator
    ) -> JSONResponse:
        """Correct what was extracted; what is left out stays. The row follows."""
        return JSONResponse(collabiq.emails.correct(email_id, body, by=who.name, owner=who.owner))


async def _mail_of(request: Request) -> bytes:
    """Return the body, of which no more is read than a mail may have."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != MEDIA_TYPE:
        raise Problem(
            "media_type_refused",
            f"send the mail as it is, with 'Content-Type: {MEDIA_TYPE}'",
            kind=_WRONG_TYPE,
            headers={"Accept": MEDIA_TYPE, **_CLOSE},
        )
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared) > MAX_MAIL_BYTES:
        raise TooLarge(MAX_MAIL_BYTES)
    found, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_MAIL_BYTES:
            raise TooLarge(MAX_MAIL_BYTES)
        found.append(chunk)
    return b"".join(found)
