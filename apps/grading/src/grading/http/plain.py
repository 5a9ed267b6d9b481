"""Plain pages for browsers without scripts: prompts, a form, submissions and one result."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Form, Query
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from grading.http.routing import grading_router
from grading.http.serving import Served, root_of
from grading.main.submissions import Wanted
from grading.main.views.view import SubmissionView
from grading.questions import Question
from grading.refusals import Refused, ValidationRefused
from grading.states import Skill
from holdfast.api.access import FormToken, ReaderOrAnonymous, SubmitterOrWalkIn

NOUN: Final = "submission-pages"
MAX_LISTED: Final = 20
_SEE_OTHER: Final = 303
_CONFLICT: Final = 409
_PAGES: Final = Environment(
    loader=PackageLoader("grading.http", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_PAGES.filters["minute"] = lambda at: at.strftime("%Y-%m-%d %H:%M UTC")


def plain_pages(served: Served) -> APIRouter:
    """Return the routes of the plain pages."""
    routes = grading_router(NOUN)

    def listed(
        request: Request,
        who: ReaderOrAnonymous,
        *,
        token: str | None,
        question: Question,
        given: Mapping[str, str],
        cursor: str | None = None,
        wrong: str = "",
        status: int = 200,
    ) -> Response:
        page = served.submissions.list(owner=who.owner, limit=MAX_LISTED, cursor=cursor)
        return _page(
            request,
            "plain_list.html",
            status,
            items=[_row(view, served) for view in page.items],
            next=page.next_cursor,
            questions=served.questions.all(Skill.WRITING),
            question=question,
            token=token,
            given=given,
            wrong=wrong,
            key=given.get("key") or str(uuid.uuid4()),
            may_hand_in=who.role.value != "reader",
        )

    @routes.get("", response_class=HTMLResponse, include_in_schema=False)
    def list_plain_submissions(
        request: Request,
        who: ReaderOrAnonymous,
        token: FormToken,
        question: Annotated[str | None, Query(max_length=64)] = None,
        cursor: Annotated[str | None, Query(max_length=512)] = None,
    ) -> Response:
        """Show the form of a prompt, and submissions, newest first."""
        chosen = _question(served, question)
        return listed(request, who, token=token, question=chosen, given={}, cursor=cursor)

    @routes.post("", response_class=HTMLResponse, include_in_schema=False)
    def create_plain_submission(  # noqa: PLR0917 - the fields of a form
        request: Request,
        who: SubmitterOrWalkIn,
        token: FormToken,
        question: Annotated[str, Form()] = "",
        text: Annotated[str, Form()] = "",
        key: Annotated[str, Form(max_length=64)] = "",
    ) -> Response:
        """Hand in an essay, or show what has to be corrected."""
        # Browsers send line ends as forms have them, and not as they were typed.
        wanted = Wanted(
            skill=Skill.WRITING.value, question_id=question, text=text.replace("\r\n", "\n")
        )
        try:
            made = served.submissions.submit(wanted, owner=who.owner or "", key=key or None)
        except Refused as refused:
            wrong = _line(refused)
            chosen = _question(served, question)
            given = {"text": text, "key": "" if refused.status == _CONFLICT else key}
            return listed(
                request,
                who,
                token=token,
                question=chosen,
                given=given,
                wrong=wrong,
                status=refused.status,
            )
        place = f"{root_of(request)}/api/{NOUN}/{made.view.submission_id}"
        return RedirectResponse(place, _SEE_OTHER)

    @routes.get("/{job_id}", response_class=HTMLResponse, include_in_schema=False)
    def show_plain_submission(request: Request, who: ReaderOrAnonymous, job_id: str) -> Response:
        """Show one submission: how far it is, its result, and what happened."""
        view = served.submissions.get(job_id, owner=who.owner)
        history = served.submissions.history(job_id, owner=who.owner)
        document = view.document(for_teacher=who.owner is None)
        return _page(
            request,
            "plain_submission.html",
            200,
            row=_row(view, served),
            found=document,
            result=document["result"] or document["lateResult"],
            history=history,
        )

    return routes


class _Row:
    """A submission as a row shows it."""

    def __init__(self, view: SubmissionView, title: str) -> None:
        self.id = view.submission_id
        self.title = title
        self.skill = view.skill.value
        self.status = view.status.value
        self.step = view.step.value if view.step else ""
        self.reason = view.failure_reason.value if view.failure_reason else ""
        self.last_error = view.last_error or ""
        self.is_late = view.is_late
        self.created_at: datetime = view.created_at
        self.deadline_at: datetime = view.deadline_at


def _row(view: SubmissionView, served: Served) -> _Row:
    question = served.questions.get(view.question_id)
    return _Row(view, view.question_id if question is None else question.title)


def _question(served: Served, question_id: str | None) -> Question:
    """Return the prompt of an id, or the first one."""
    found = served.questions.get(question_id) if question_id else None
    if found is None or found.skill is not Skill.WRITING:
        return served.questions.all(Skill.WRITING)[0]
    return found


def _line(refused: Refused) -> str:
    """Return a refusal as a sentence."""
    if isinstance(refused, ValidationRefused):
        return f"Your answer {refused.flaws[0].message}."
    return f"{refused.message[:1].upper()}{refused.message[1:]}."


def _page(request: Request, name: str, status: int, **shown: Any) -> Response:  # noqa: ANN401 - as templates take it
    text = _PAGES.get_template(name).render(root=root_of(request), place=NOUN, **shown)
    return HTMLResponse(text, status)
