"""Plain pages about the system: dead letters and the forms that act on them, health, rules."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

from fastapi import APIRouter, Form
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from collabiq.collabiq import Collabiq
from collabiq.failures.dlq import MAX_AT_ONCE
from collabiq.http.dead_letters import OperationType, check_owner
from collabiq.http.plain.rendering import framed, to_page
from collabiq.http.routing import DlqId
from collabiq.refusals import Invalid, Refused, flaw
from holdfast.api.access import FormToken, Operator, OperatorOfAll, Reader, ReaderOfAll, Role

MAX_ERRORS: Final = 50


def add_operation_pages(routes: APIRouter, collabiq: Collabiq) -> None:
    """Add the pages of dead letters, health and rules."""
    _add_letters(routes, collabiq)
    _add_letter(routes, collabiq)
    _add_health(routes, collabiq)


def _add_letters(routes: APIRouter, collabiq: Collabiq) -> None:
    def shown(
        request: Request, who: ReaderOfAll, token: str | None, replayed: dict[str, Any] | None
    ) -> Response:
        entries = collabiq.dlq.list()["entries"]
        groups: dict[str, list[dict[str, Any]]] = {}
        for entry in entries:
            if entry["status"] != "completed":
                groups.setdefault(entry["operation_type"], []).append(entry)
        return framed(
            request,
            "letters.html",
            collabiq,
            who,
            groups=groups,
            replayed=replayed,
            most=MAX_AT_ONCE,
            token=token,
        )

    @routes.get("/dead-letters", response_class=HTMLResponse, include_in_schema=False)
    def list_plain_letters(request: Request, who: ReaderOfAll, token: FormToken) -> Response:
        """Show dead letters by operation, oldest first."""
        return shown(request, who, token, None)

    @routes.post("/dead-letters", response_class=HTMLResponse, include_in_schema=False)
    def replay_plain_letters(
        request: Request,
        who: OperatorOfAll,
        token: FormToken,
        operation_type: Annotated[OperationType, Form()],
        max_count: Annotated[int, Form(ge=1, le=MAX_AT_ONCE)] = 10,
    ) -> Response:
        """Replay the oldest of an operation, and show what became of them."""
        replayed = collabiq.dlq.replay_many(operation_type, max_count, by=who.name)
        return shown(request, who, token, replayed)


def _add_letter(routes: APIRouter, collabiq: Collabiq) -> None:
    def shown(
        request: Request,
        who: ReaderOfAll,
        token: str | None,
        dlq_id: str,
        *,
        payload: str | None = None,
        refused: Refused | None = None,
    ) -> Response:
        entry = collabiq.dlq.show(dlq_id)
        written = json.dumps(entry["original_payload"], ensure_ascii=False, indent=2)
        return framed(
            request,
            "letter.html",
            collabiq,
            who,
            status=200 if refused is None else refused.status,
            entry=entry,
            payload=written if payload is None else payload,
            refused=refused,
            token=token,
        )

    @routes.get("/dead-letters/{dlq_id}", response_class=HTMLResponse, include_in_schema=False)
    def show_plain_letter(
        request: Request, who: ReaderOfAll, token: FormToken, dlq_id: DlqId
    ) -> Response:
        """Show a dead letter with what a replay would send."""
        return shown(request, who, token, dlq_id)

    @routes.post(
        "/dead-letters/{dlq_id}/payload", response_class=HTMLResponse, include_in_schema=False
    )
    def replace_plain_payload(
        request: Request,
        who: OperatorOfAll,
        token: FormToken,
        dlq_id: DlqId,
        payload: Annotated[str, Form()] = "",
    ) -> Response:
        """Have a replay send another payload, or show what does not fit."""
        try:
            collabiq.dlq.replace(dlq_id, _document(payload), by=who.name)
        except Invalid as refused:
            return shown(request, who, token, dlq_id, payload=payload, refused=refused)
        return to_page(request, "dead-letters", dlq_id)

    @routes.post(
        "/dead-letters/{dlq_id}/replay", response_class=HTMLResponse, include_in_schema=False
    )
    def replay_plain_letter(request: Request, who: Operator, dlq_id: DlqId) -> Response:
        """Send what failed again, once."""
        check_owner(collabiq, dlq_id, who)
        found = collabiq.dlq.replay(dlq_id, by=who.name)
        return to_page(request, *_after(found))

    @routes.post(
        "/dead-letters/{dlq_id}/complete", response_class=HTMLResponse, include_in_schema=False
    )
    def complete_plain_letter(
        request: Request, who: Operator, dlq_id: DlqId, reason: Annotated[str, Form()] = ""
    ) -> Response:
        """Close a dead letter that was seen to by hand."""
        check_owner(collabiq, dlq_id, who)
        found = collabiq.dlq.complete(dlq_id, by=who.name, reason=reason)
        return to_page(request, *_after(found))


def _add_health(routes: APIRouter, collabiq: Collabiq) -> None:
    @routes.get("/health", response_class=HTMLResponse, include_in_schema=False)
    def show_plain_health(request: Request, who: Reader) -> Response:
        """Show how the four services are, breakers, errors and settings."""
        sees_all = who.owner is None
        operates = who.role.may(Role.OPERATOR)
        return framed(
            request,
            "health.html",
            collabiq,
            who,
            circuits=collabiq.circuits.list()["circuits"] if sees_all else [],
            errors=collabiq.errors.list(limit=MAX_ERRORS)["errors"] if sees_all else [],
            settings=collabiq.config_document()["settings"] if operates else [],
        )

    @routes.get("/rules", response_class=HTMLResponse, include_in_schema=False)
    def show_plain_rules(request: Request, who: Reader) -> Response:
        """Show which field goes to which column."""
        return framed(request, "rules.html", collabiq, who, rules=collabiq.rules())


def _after(entry: dict[str, Any]) -> tuple[str, ...]:
    """Return the page that shows what becomes of an entry."""
    if entry["email_id"] in {"inbox", "startup"}:
        return ("health",)
    return ("mails", entry["email_id"])


def _document(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Invalid([flaw("", f"this is no JSON: {error}")]) from None
