"""`/api/questions`: the prompts; `/api/progress`: how a learner does."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import JSONResponse

from grading.http.documents import ProgressDocument, QuestionDocument, QuestionList
from grading.http.routing import grading_router
from grading.http.serving import Served, public_question
from grading.states import Skill
from holdfast.api.access import ReaderOrAnonymous
from holdfast.api.problems import Problem


def question_routes(served: Served) -> APIRouter:
    """Return the routes of questions."""
    routes = grading_router("questions")

    @routes.get("", response_model=QuestionList)
    def list_questions(_who: ReaderOrAnonymous, skill: Skill | None = None) -> JSONResponse:
        """List the prompts."""
        items = [public_question(each.to_document()) for each in served.questions.all(skill)]
        return JSONResponse({"items": items, "nextCursor": None})

    @routes.get("/{question_id}", response_model=QuestionDocument)
    def get_question(question_id: str, _who: ReaderOrAnonymous) -> JSONResponse:
        """Read one prompt."""
        found = served.questions.get(question_id)
        if found is None:
            raise Problem("not_found", "no question has that id; GET /api/questions lists them")
        return JSONResponse(public_question(found.to_document()))

    return routes


def progress_routes(served: Served) -> APIRouter:
    """Return the route of a learner's figures."""
    routes = grading_router("progress")

    @routes.get("", response_model=ProgressDocument)
    def get_progress(who: ReaderOrAnonymous) -> JSONResponse:
        """Read how you do in each skill: what is complete and was in time."""
        return JSONResponse(served.submissions.progress_of(who.owner or ""))

    return routes
