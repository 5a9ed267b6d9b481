"""`/api/sse/submissions/{id}`: a submission as server-sent events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

from fastapi import APIRouter, Header
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from grading.http.events import event_of
from grading.http.routing import Responses, grading_router
from grading.http.serving import Served, root_of
from grading.main.views.view import SubmissionView
from holdfast.api.access import ReaderOrAnonymous
from holdfast.api.streams import END, Rendered, StreamEvent, stream_of

POLL_S: Final = 5.0
"""How often a stream looks by itself: a teacher's grade is no event of the submission's job."""
MAX_ID_CHARACTERS: Final = 255
_ANSWERS: Final[Responses] = {
    200: {
        "description": "`grading.progress`, `grading.review_required`, `grading.completed` and "
        "`grading.failed`, each with its id, and `ping`. After the last two the stream ends.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
    204: {"description": "The event that `Last-Event-ID` names was the last one."},
    403: {"description": "`FORBIDDEN`: another's, or no such submission."},
}

LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        max_length=MAX_ID_CHARACTERS,
        description="The id of the last event that was received; browsers send it themselves.",
    ),
]


class News:
    """The events of one stream: each state of a submission once."""

    def __init__(
        self, read: Callable[[], SubmissionView], *, root: str, seen: str | None = None
    ) -> None:
        self._read = read
        self._root = root
        self._seen = seen

    def __call__(self, _event: StreamEvent | None = None) -> list[Rendered]:
        """Return what the client has not seen of the present state, and `END` after the last."""
        event = event_of(self._read(), root=self._root)
        found: list[Rendered] = []
        if event.id != self._seen:
            self._seen = event.id
            found.append((event.name, event.data, event.id))
        if event.ends:
            found.append(END)
        return found


def stream_routes(served: Served) -> APIRouter:
    """Return the route of event streams."""
    routes = grading_router("sse/submissions")

    @routes.get("/{job_id}", response_class=StreamingResponse, responses=_ANSWERS)
    def stream_submission(
        job_id: str, request: Request, who: ReaderOrAnonymous, last_event_id: LastEventId = None
    ) -> Response:
        """Follow a submission: its present state, then every change until it has ended."""
        view = served.submissions.get(job_id, owner=who.owner)
        now = event_of(view, root=root_of(request))
        if now.ends and now.id == last_event_id:
            # Browsers come again after a stream has ended, unless they are answered so.
            return Response(status_code=204)
        news = News(
            lambda: served.submissions.get(job_id, owner=who.owner),
            root=root_of(request),
            seen=last_event_id,
        )
        response = stream_of(
            request, served.app, job_id=job_id, render=news, first=news, who=who, poll_s=POLL_S
        )
        response.headers["Cache-Control"] = "no-cache"
        return response

    return routes
