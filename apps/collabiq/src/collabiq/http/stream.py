"""`/api/emails/{email_id}/events`: a mail as server-sent events."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from collabiq.collabiq import Collabiq
from collabiq.http.routing import NO_EMAIL, EmailId, Responses, collabiq_router
from holdfast.api.access import Reader
from holdfast.api.streams import END, Rendered, StreamEvent, stream_of

POLL_S: Final = 5.0
"""How often a stream looks by itself: a correction is another job than the mail's."""
MAX_ID_CHARACTERS: Final = 64
CHANGED: Final = "email.changed"
ENDED: Final = "email.ended"
_UNDER_WAY: Final = frozenset({"pending", "processing"})
_ANSWERS: Final[Responses] = {
    200: {
        "description": f"`{CHANGED}` with the mail as lists have it, for every change; "
        f"`{ENDED}` is the last; and `ping`.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
    204: {"description": "The event that `Last-Event-ID` names was the last one."},
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
    """The events of one stream: each state of a mail once."""

    def __init__(self, read: Callable[[], dict[str, Any]], *, seen: str | None) -> None:
        self._read, self._seen = read, seen

    def __call__(self, _event: StreamEvent | None = None) -> list[Rendered]:
        """Return what the client has not seen of the present state, and `END` after the last."""
        item = self._read()
        name, found = event_id(item)
        news: list[Rendered] = []
        if found != self._seen:
            self._seen = found
            news.append((name, item, found))
        if name == ENDED:
            news.append(END)
        return news


def event_id(item: dict[str, Any]) -> tuple[str, str]:
    """Return the name of the event of a mail's state, and its id, good on every process."""
    text = json.dumps(item, sort_keys=True)
    name = CHANGED if item["status"] in _UNDER_WAY else ENDED
    return name, hashlib.sha256(text.encode()).hexdigest()[:32]


def stream_routes(collabiq: Collabiq) -> APIRouter:
    """Return the route of a mail's events."""
    routes = collabiq_router("emails")

    @routes.get(
        "/{email_id}/events", response_class=StreamingResponse, responses=NO_EMAIL | _ANSWERS
    )
    def stream_email(
        email_id: EmailId, request: Request, who: Reader, last_event_id: LastEventId = None
    ) -> Response:
        """Follow a mail: its present state, then every change until it has ended."""

        def read() -> dict[str, Any]:
            return collabiq.emails.item(email_id, owner=who.owner)

        if event_id(read()) == (ENDED, last_event_id):
            # Browsers come again after a stream has ended, unless they are answered so.
            return Response(status_code=204)
        news = News(read, seen=last_event_id)
        job_id = collabiq.emails.job_id(email_id, owner=who.owner)
        response = stream_of(
            request,
            collabiq.engine,
            job_id=job_id or email_id,
            render=news,
            first=news,
            who=who,
            poll_s=POLL_S,
        )
        response.headers["Cache-Control"] = "no-cache"
        return response

    return routes
