"""`/api/reviews` and `/api/review-diffs`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from criticizer.http.documents import (
    AskedFor,
    ReviewAnswer,
    ReviewList,
    ReviewVersions,
    answer_of,
    documents_of,
)
from criticizer.http.plain import plain_pages
from criticizer.payload import MAX_NAME, MAX_VERSION, Asked
from criticizer.refusals import ChangeRefused, ReviewMissing, SourceAway, VersionRefused
from criticizer.reviews import Reviews
from holdfast.api.access import Reader, Submitter, guarded_router, shown_to
from holdfast.api.problems import Flaw, Kind, Problem

MAX_LISTED: Final = 100
NOT_FOUND: Final = "review_not_found"
VERSION_CONFLICT: Final = "version_conflict"
CHANGE_REFUSED: Final = "change_refused"
SOURCE_AWAY: Final = "source_unavailable"
_REFUSED: Final = Kind(422, "There is no such change")
_AWAY: Final = Kind(503, "The repository cannot be asked")
_LATER: Final = {"Retry-After": "10"}
_MISSING: Final = Kind(404, "There is no such review")
_REPLAYED: Final = "Idempotency-Replayed"


def routes_of(reviews: Reviews) -> APIRouter:
    """Return the routes of the criticizer."""
    parts = (_asking, _diffs, plain_pages)
    # Taken as they are: including them would make each of them again.
    return APIRouter(routes=[route for routes in parts for route in routes(reviews).routes])


def _asking(reviews: Reviews) -> APIRouter:
    routes = guarded_router("reviews")

    @routes.post(
        "",
        status_code=201,
        responses={
            200: {
                "model": ReviewAnswer,
                "description": "The review that was there already, by its key or its version.",
            }
        },
    )
    def ask_for_review(
        asked: AskedFor, request: Request, response: Response, who: Submitter
    ) -> ReviewAnswer:
        """Have a change reviewed and everyone notified, each once."""
        wanted = Asked(
            changelist_id=asked.changelist_id,
            review_version=asked.review_version,
            recipients=list(dict.fromkeys(asked.recipients)),
            rerun=asked.rerun,
        )
        with told_as_problems():
            made = reviews.ask(wanted, key=asked.idempotency_key, owner=who.owner or "")
        if made.job.removed_at is None:
            root = str(request.scope.get("root_path", ""))
            response.headers["Location"] = f"{root}/api/jobs/{made.job.id}"
        if not made.created:
            response.status_code = 200
            response.headers[_REPLAYED] = "true"
        return answer_of(made, reviews, shown_to(who, reviews.app))

    @routes.get("")
    def list_reviews(
        who: Reader,
        before: Annotated[str | None, Query(max_length=36)] = None,
        limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 20,
    ) -> ReviewList:
        """List reviews, newest first."""
        found = reviews.latest(owner=who.owner, before=before, limit=limit)
        return ReviewList(
            items=documents_of(found, reviews, shown_to(who, reviews.app)),
            next=found[-1].id if len(found) == limit else None,
        )

    @routes.get("/{changelist_id:path}")
    def show_reviews(changelist_id: str, who: Reader) -> ReviewVersions:
        """Show the reviews of a change: every version, its critique, and who was notified when."""
        with told_as_problems():
            found = reviews.versions(changelist_id, owner=who.owner)
        versions = documents_of(found, reviews, shown_to(who, reviews.app))
        return ReviewVersions(changelist_id=changelist_id, versions=versions)

    return routes


def _diffs(reviews: Reviews) -> APIRouter:
    routes = guarded_router("review-diffs")

    @routes.get("", response_class=PlainTextResponse)
    def show_diff(
        who: Reader,
        changelist_id: Annotated[str, Query(min_length=1, max_length=MAX_NAME)],
        version: Annotated[int | None, Query(ge=1, le=MAX_VERSION)] = None,
    ) -> PlainTextResponse:
        """Fetch the diff that was reviewed."""
        with told_as_problems():
            change = reviews.change(changelist_id, version=version, owner=who.owner)
        headers = {"Cache-Control": "private, no-store", "X-Content-Type-Options": "nosniff"}
        return PlainTextResponse(change.diff, headers=headers)

    return routes


@contextmanager
def told_as_problems() -> Generator[None]:
    """Raise refusals as problems."""
    try:
        yield
    except VersionRefused as refused:
        raise Problem(
            VERSION_CONFLICT,
            str(refused),
            errors=[Flaw(pointer="/review_version", message=str(refused))],
            requested=refused.requested,
            found=refused.found,
            job_id=refused.job_id,
        ) from None
    except ChangeRefused as refused:
        flaw = Flaw(pointer="/changelist_id", message=str(refused))
        raise Problem(
            CHANGE_REFUSED, f"{refused}; correct the change", kind=_REFUSED, errors=[flaw]
        ) from None
    except SourceAway as away:
        raise Problem(SOURCE_AWAY, str(away), kind=_AWAY, headers=_LATER) from None
    except ReviewMissing:
        raise Problem(NOT_FOUND, "nobody asked for a review of it", kind=_MISSING) from None
