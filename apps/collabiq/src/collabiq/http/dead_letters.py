"""`/api/dlq`: what failed for good, and what people do about it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body
from starlette.responses import JSONResponse

from collabiq.collabiq import Collabiq
from collabiq.http.documents import (
    CompletionSent,
    DeadLetterDocument,
    DeadLetterList,
    ReplayedDocument,
    ReplaySent,
)
from collabiq.http.routing import NO_LETTER, DlqId, Responses, collabiq_router
from collabiq.refusals import DeadLetterNotFound, EmailNotFound, Invalid, flaw
from holdfast.api.access import Operator, OperatorOfAll, Principal, ReaderOfAll

OperationType = Literal["gmail_fetch", "gemini_extract", "notion_write", "infisical_fetch"]
EntryStatus = Literal["pending", "replaying", "completed", "failed"]


def dead_letter_routes(collabiq: Collabiq) -> APIRouter:
    """Return the routes of dead letters."""
    routes = collabiq_router("dlq")
    _add_reading(routes, collabiq)
    _add_acting(routes, collabiq)
    return routes


def _add_reading(routes: APIRouter, collabiq: Collabiq) -> None:
    @routes.get("", response_model=DeadLetterList)
    def list_dlq_entries(
        _who: ReaderOfAll,
        operation_type: OperationType | None = None,
        status: EntryStatus | None = None,
    ) -> JSONResponse:
        """List dead letters, oldest first."""
        return JSONResponse(collabiq.dlq.list(operation_type, status))

    @routes.get("/{dlq_id}", response_model=DeadLetterDocument, responses=NO_LETTER)
    def get_dlq_entry(dlq_id: DlqId, _who: ReaderOfAll) -> JSONResponse:
        """Read a dead letter with what a replay would send."""
        return JSONResponse(collabiq.dlq.show(dlq_id))


def _add_acting(routes: APIRouter, collabiq: Collabiq) -> None:
    done: Responses = {
        409: {"description": "`already_processed`, or `wrong_state` while it is being replayed."}
    }

    @routes.post(
        "/replay",
        response_model=ReplayedDocument,
        responses={422: {"description": "`invalid_request`: the operation or the count."}},
    )
    def replay_dlq_entries(body: ReplaySent, who: OperatorOfAll) -> JSONResponse:
        """Replay the oldest dead letters of an operation; answers when all of them have ended."""
        found = collabiq.dlq.replay_many(body.operation_type, body.max_count, by=who.name)
        return JSONResponse(found)

    @routes.put(
        "/{dlq_id}",
        response_model=DeadLetterDocument,
        responses=NO_LETTER
        | done
        | {422: {"description": "`invalid`, with a pointer to every place that does not fit."}},
    )
    def replace_dlq_payload(
        dlq_id: DlqId, body: Annotated[dict[str, Any], Body()], who: OperatorOfAll
    ) -> JSONResponse:
        """Have a replay send another payload: `{"original_payload": …}`, checked first."""
        if set(body) != {"original_payload"}:
            raise Invalid([flaw("", "give original_payload and nothing else")])
        return JSONResponse(collabiq.dlq.replace(dlq_id, body["original_payload"], by=who.name))

    @routes.post(
        "/{dlq_id}/replay",
        status_code=202,
        response_model=DeadLetterDocument,
        responses=NO_LETTER | done,
    )
    def replay_dlq_entry(dlq_id: DlqId, who: Operator) -> JSONResponse:
        """Send what failed again, once; rows are looked up before they are made."""
        check_owner(collabiq, dlq_id, who)
        return JSONResponse(collabiq.dlq.replay(dlq_id, by=who.name), 202)

    @routes.post(
        "/{dlq_id}/complete", response_model=DeadLetterDocument, responses=NO_LETTER | done
    )
    def complete_dlq_entry(dlq_id: DlqId, body: CompletionSent, who: Operator) -> JSONResponse:
        """Close a dead letter that was seen to by hand; `reason` says how."""
        check_owner(collabiq, dlq_id, who)
        return JSONResponse(collabiq.dlq.complete(dlq_id, by=who.name, reason=body.reason))


def check_owner(collabiq: Collabiq, dlq_id: str, who: Principal) -> None:
    """Raise `DeadLetterNotFound` unless the entry is of a mail that the visitor may see."""
    if who.owner is None:
        return
    try:
        collabiq.emails.item(collabiq.dlq.show(dlq_id)["email_id"], owner=who.owner)
    except EmailNotFound:
        raise DeadLetterNotFound(dlq_id) from None
