"""Reviews as plain pages, for browsers without scripts: the list, the form and one review."""

from __future__ import annotations

import uuid
from typing import Annotated, Any, Final

from fastapi import APIRouter, Form, Query
from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from criticizer.http.documents import AskedFor, documents_of
from criticizer.payload import MAX_VERSION, Asked
from criticizer.refusals import ChangeRefused, SourceAway, VersionRefused
from criticizer.reviews import Reviews
from holdfast.api.access import FormToken, Reader, Submitter, guarded_router, shown_to
from holdfast.errors import UnknownJob

NOUN: Final = "review-pages"
MAX_LISTED: Final = 20
MAX_LINES: Final = 5_000
_SEE_OTHER: Final = 303
_UNPROCESSABLE: Final = 422
_PAGES: Final = Environment(
    loader=PackageLoader("criticizer.http", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_LINES: Final = {
    "changelist_id": "Name a commit, a range such as HEAD~1..HEAD, or what the source calls it.",
    "review_version": f"A whole number from 1 to {MAX_VERSION}.",
    "recipients": "Addresses like ada@example.org, with commas between them, or nothing.",
}
"""What a field has to be."""


def plain_pages(reviews: Reviews) -> APIRouter:
    """Return the routes of the plain pages."""
    routes = guarded_router(NOUN)

    def listed(
        request: Request,
        who: Reader,
        *,
        token: str | None,
        before: str | None = None,
        given: dict[str, Any] | None = None,
        wrong: dict[str, str] | None = None,
        status: int = 200,
    ) -> Response:
        found = reviews.latest(owner=who.owner, before=before, limit=MAX_LISTED)
        return _page(
            request,
            "plain_list.html",
            status,
            items=documents_of(found, reviews, shown_to(who, reviews.app)),
            next=found[-1].id if len(found) == MAX_LISTED else None,
            token=token,
            given=given or {"review_version": 1},
            wrong=wrong or {},
            may_ask=who.role.value != "reader",
            key=str(uuid.uuid4()),
        )

    @routes.get("", response_class=HTMLResponse, include_in_schema=False)
    def list_plain(
        request: Request,
        who: Reader,
        token: FormToken,
        before: Annotated[str | None, Query(max_length=36)] = None,
    ) -> Response:
        """Show reviews, newest first, and the form that asks for one."""
        return listed(request, who, token=token, before=before)

    @routes.post("", response_class=HTMLResponse, include_in_schema=False)
    def ask_plain(  # noqa: PLR0917 - the fields of a form
        request: Request,
        who: Submitter,
        token: FormToken,
        changelist_id: Annotated[str, Form()] = "",
        review_version: Annotated[str, Form()] = "1",
        recipients: Annotated[str, Form()] = "",
        rerun: Annotated[str, Form()] = "",
        idempotency_key: Annotated[str, Form()] = "",
    ) -> Response:
        """Have a change reviewed, or show what has to be corrected."""
        given = {
            "changelist_id": changelist_id.strip(),
            "review_version": review_version,
            "recipients": recipients,
            "rerun": rerun,
        }
        try:
            asked = _asked(given, idempotency_key)
            made = reviews.ask(
                Asked(
                    changelist_id=asked.changelist_id,
                    review_version=asked.review_version,
                    recipients=list(dict.fromkeys(asked.recipients)),
                    rerun=asked.rerun,
                ),
                key=asked.idempotency_key,
                owner=who.owner or "",
            )
        except ValidationError as error:
            places = {str(flaw["loc"][0]) for flaw in error.errors()}
            wrong = {name: _LINES.get(name, "It does not fit.") for name in places}
        except ChangeRefused as error:
            wrong = {"changelist_id": _sentence(error)}
        except VersionRefused as error:
            wrong = {"review_version": _sentence(error)}
        except SourceAway as error:
            wrong = {"changelist_id": _sentence(error)}
        else:
            return RedirectResponse(f"{_root(request)}/api/{NOUN}/{made.job.id}", _SEE_OTHER)
        return listed(request, who, token=token, given=given, wrong=wrong, status=_UNPROCESSABLE)

    @routes.get("/{job_id}", response_class=HTMLResponse, include_in_schema=False)
    def show_plain(request: Request, who: Reader, job_id: str) -> Response:
        """Show one review: what was said, who was notified, and the change."""
        view = reviews.review(job_id, owner=who.owner)
        if view is None:
            raise UnknownJob(job_id)
        (document,) = documents_of([view], reviews, shown_to(who, reviews.app))
        lines = reviews.diff_lines(view, most=MAX_LINES)
        return _page(request, "plain_review.html", 200, review=document, lines=lines)

    return routes


def _asked(given: dict[str, Any], key: str) -> AskedFor:
    """Return what a form asks for; raises `ValidationError`."""
    version = given["review_version"].strip()
    recipients = given["recipients"].replace(",", " ").replace(";", " ").split()
    return AskedFor(
        changelist_id=given["changelist_id"],
        review_version=int(version) if version.isascii() and version.isdigit() else 0,
        recipients=recipients,
        idempotency_key=key or str(uuid.uuid4()),
        rerun=bool(given["rerun"]),
    )


def _sentence(error: Exception) -> str:
    """Return what an error says in half a sentence as a whole one."""
    text = str(error)
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def _root(request: Request) -> str:
    return str(request.scope.get("root_path", ""))


def _page(request: Request, name: str, status: int, **shown: Any) -> Response:  # noqa: ANN401 - as templates take it
    text = _PAGES.get_template(name).render(root=_root(request), place=NOUN, **shown)
    return HTMLResponse(text, status)
