"""Plain pages of mails: the inbox, single mails, and the forms that act on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, File, Form, Query, UploadFile
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from collabiq.collabiq import Collabiq
from collabiq.emails.corrections import FIELDS
from collabiq.emails.emails import MAX_SEARCH
from collabiq.extract.record import INTENSITIES
from collabiq.http.emails import MAX_CURSOR_CHARACTERS, Status
from collabiq.http.plain.rendering import framed, to_page
from collabiq.http.routing import EmailId, check_mailbox
from collabiq.refusals import Invalid
from holdfast.api.access import FormToken, Operator, Reader, Submitter

MAX_LISTED: Final = 30
_MATCHES: Final = {"matched_company_id": "startup", "matched_partner_id": "partner"}
_KEPT_EMPTY: Final = frozenset({"details", "summary"})
"""Texts that are there though they have no letter; other fields are null then."""
_Text = Annotated[str | None, Form()]


def add_mail_pages(routes: APIRouter, collabiq: Collabiq) -> None:
    """Add the pages of mails."""
    _add_lists(routes, collabiq)
    _add_mail(routes, collabiq)


def _add_lists(routes: APIRouter, collabiq: Collabiq) -> None:
    @routes.get("", response_class=HTMLResponse, include_in_schema=False)
    def list_plain_emails(  # noqa: PLR0917 - a parameter for each of the query's
        request: Request,
        who: Reader,
        token: FormToken,
        status: Status | None = None,
        q: Annotated[str, Query(max_length=MAX_SEARCH)] = "",
        cursor: Annotated[str | None, Query(max_length=MAX_CURSOR_CHARACTERS)] = None,
    ) -> Response:
        """Show mails, newest first, and the forms that poll the mailbox and take a file."""
        found = collabiq.emails.list(
            owner=who.owner, status=status, q=q or None, limit=MAX_LISTED, cursor=cursor
        )
        return framed(
            request,
            "inbox.html",
            collabiq,
            who,
            items=found["emails"],
            next=found["next"],
            wanted={"status": status or "", "q": q},
            token=token,
        )

    @routes.post("", response_class=HTMLResponse, include_in_schema=False)
    def receive_plain_email(
        request: Request, who: Submitter, file: Annotated[UploadFile, File()]
    ) -> Response:
        """Take a mail as a file."""
        check_mailbox(who, collabiq.config.mailbox)
        found, _ = collabiq.emails.receive(file.file.read(), by=who.name)
        return to_page(request, "mails", found["email_id"])

    @routes.post("/fetch", response_class=HTMLResponse, include_in_schema=False)
    def fetch_plain_emails(request: Request, who: Submitter) -> Response:
        """Have the mailbox polled now."""
        check_mailbox(who, collabiq.config.mailbox)
        collabiq.inbox.fetch(by=who.name)
        return to_page(request)


def _add_mail(routes: APIRouter, collabiq: Collabiq) -> None:
    def shown(
        request: Request,
        who: Reader,
        email_id: str,
        token: str | None,
        *,
        given: Mapping[str, str] | None = None,
        refused: Invalid | None = None,
    ) -> Response:
        mail = collabiq.emails.show(email_id, owner=who.owner)
        wrong = {} if refused is None else {f["pointer"]: f["message"] for f in refused.pointers}
        return framed(
            request,
            "email.html",
            collabiq,
            who,
            status=200 if refused is None else refused.status,
            mail=mail,
            given=_before(mail) | dict(given or {}),
            wrong=wrong,
            intensities=INTENSITIES,
            token=token,
        )

    @routes.get("/mails/{email_id}", response_class=HTMLResponse, include_in_schema=False)
    def show_plain_email(
        request: Request, who: Reader, email_id: EmailId, token: FormToken
    ) -> Response:
        """Show a mail beside what was found in it."""
        return shown(request, who, email_id, token)

    @routes.post("/mails/{email_id}/process", response_class=HTMLResponse, include_in_schema=False)
    def process_plain_email(request: Request, who: Operator, email_id: EmailId) -> Response:
        """Run a mail again from the start."""
        collabiq.emails.process(email_id, by=who.name, owner=who.owner)
        return to_page(request, "mails", email_id)

    @routes.post(
        "/mails/{email_id}/extraction", response_class=HTMLResponse, include_in_schema=False
    )
    def correct_plain_email(  # noqa: PLR0917 - the fields of a form
        request: Request,
        who: Operator,
        email_id: EmailId,
        token: FormToken,
        person_in_charge: _Text = None,
        startup_name: _Text = None,
        partner_org: _Text = None,
        details: _Text = None,
        summary: _Text = None,
        date: _Text = None,
        collaboration_intensity: _Text = None,
        matched_company_id: _Text = None,
        matched_partner_id: _Text = None,
    ) -> Response:
        """Correct what was found, or show what does not fit."""
        sent = {
            "person_in_charge": person_in_charge,
            "startup_name": startup_name,
            "partner_org": partner_org,
            "details": details,
            "summary": summary,
            "date": date,
            "collaboration_intensity": collaboration_intensity,
            "matched_company_id": matched_company_id,
            "matched_partner_id": matched_partner_id,
        }
        # Browsers send line ends as forms have them, and not as they were typed.
        given = {
            name: text.replace("\r\n", "\n") for name, text in sent.items() if text is not None
        }
        before = _before(collabiq.emails.show(email_id, owner=who.owner))
        fields = {
            name: None if not text and name not in _KEPT_EMPTY else text
            for name, text in given.items()
            if text != before[name]
        }
        if fields:
            try:
                collabiq.emails.correct(email_id, fields, by=who.name, owner=who.owner)
            except Invalid as refused:
                return shown(request, who, email_id, token, given=given, refused=refused)
        return to_page(request, "mails", email_id)


def _before(mail: Mapping[str, Any]) -> dict[str, str]:
    """Return what the fields of a form hold before anybody changes them."""
    extraction, matches = mail["extraction"] or {}, mail["matches"] or {}
    before = {name: str(extraction.get(name) or "").replace("\r\n", "\n") for name in FIELDS}
    for name, of in _MATCHES.items():
        found = (matches.get(of) or {}).get("found") or {}
        before[name] = str(found.get("id") or "")
    return before
