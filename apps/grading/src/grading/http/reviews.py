"""`/api/admin/submissions`: what waits for a teacher, and a teacher's grade."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends
from starlette.responses import JSONResponse

from grading.http.documents import (
    PendingReviewDocument,
    PendingReviewList,
    ReviewSent,
    SubmissionDocument,
)
from grading.http.routing import Responses, grading_router
from grading.http.serving import Served
from grading.main.submissions import PendingReview
from holdfast.api.access import Principal, ReaderOfAll, permitted

PERMISSION: Final = "grading.review"
Teacher = Annotated[Principal, Depends(permitted(PERMISSION))]
"""An operator of all owners, or the bearer of a token that may review."""
LISTENING: Final = timedelta(hours=1)
"""For how long a teacher can listen to a recording after the queue was read."""

_CLAIMED: Final[Responses] = {
    409: {"description": "`CONFLICT`: another has it; `heldBy` says who."}
}


def review_routes(served: Served) -> APIRouter:
    """Return the routes of teachers."""
    routes = grading_router("admin/submissions")

    def waiting(pending: PendingReview) -> dict[str, Any]:
        audio_id = pending.view.answer.get("audioId")
        link = None
        if audio_id is not None:
            link = served.recordings.links.sign(audio_id, expires_at=served.now() + LISTENING)
        return {**pending.document(), "listenUrl": link}

    @routes.get("/pending-review", response_model=PendingReviewList)
    def list_pending_reviews(_who: ReaderOfAll) -> JSONResponse:
        """List what waits for a teacher, by priority, then age."""
        items = [waiting(each) for each in served.submissions.pending_reviews()]
        return JSONResponse({"items": items, "nextCursor": None})

    @routes.post("/{job_id}/claim", response_model=PendingReviewDocument, responses=_CLAIMED)
    def claim_review(job_id: str, who: Teacher) -> JSONResponse:
        """Reserve a review for 15 minutes."""
        return JSONResponse(waiting(served.submissions.claim(job_id, by=who.name)))

    @routes.post("/{job_id}/release", response_model=PendingReviewDocument, responses=_CLAIMED)
    def release_review(job_id: str, who: Teacher) -> JSONResponse:
        """Give a reserved review back."""
        return JSONResponse(waiting(served.submissions.release(job_id, by=who.name)))

    @routes.put(
        "/{job_id}/review",
        response_model=SubmissionDocument,
        responses={409: {"description": "`CONFLICT`: it was reviewed before, or another has it."}},
    )
    def review_submission(job_id: str, body: ReviewSent, who: Teacher) -> JSONResponse:
        """Grade a submission: near the grader's own result both count, else the teacher's alone."""
        final = served.submissions.review(job_id, body.human(), by=who.name)
        return JSONResponse(final.document(for_teacher=True))

    return routes
