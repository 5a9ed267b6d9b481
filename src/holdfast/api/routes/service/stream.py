"""`/api/stream`: every transition as it happens, as server-sent events."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Header, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from holdfast.api.access import Reader, ReaderOrAnonymous, guarded_router
from holdfast.api.auth.principal import Principal
from holdfast.api.auth.visitors import is_still_welcome
from holdfast.api.events import sse
from holdfast.api.events.hub import Hub, hub_of
from holdfast.api.events.stream import Joined, Stream, Wanted
from holdfast.api.models.values.texts import Plain
from holdfast.api.server.threads import in_thread
from holdfast.runtime.events.tail_cursor import LONGEST

ROUTER: Final = guarded_router("stream")
MAX_NAMES: Final = 32

LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        max_length=LONGEST,
        description="The id of the last event that was received; browsers send it themselves.",
    ),
]


class StreamQuery(BaseModel):
    """Which events; what is left out narrows nothing."""

    model_config = ConfigDict(extra="forbid")

    job: Plain | None = Field(default=None, description="Of this job only.")
    pipeline: Plain | None = Field(default=None, description="Of jobs of this pipeline only.")
    event: list[Plain] = Field(
        default=[], max_length=MAX_NAMES, description="Events of these names only."
    )
    since: str | None = Field(
        default=None,
        max_length=LONGEST,
        description="Go on after the event of this id, where `Last-Event-ID` cannot be sent.",
    )


class EventStream(StreamingResponse):
    """An open event stream; however it ends, the hub forgets it."""

    media_type = sse.MEDIA_TYPE

    def __init__(self, hub: Hub, stream: Stream, joined: Joined) -> None:
        super().__init__(stream.chunks(joined), headers=sse.HEADERS)
        self._hub = hub
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client goes, or the process ends."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._hub.leave(self._stream)


_ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events until either side ends the stream.",
        "content": {sse.MEDIA_TYPE: {"schema": {"type": "string"}}},
    }
}


@ROUTER.get("", status_code=200, response_class=EventStream, responses=_ANSWERS)
async def stream_events(
    query: Annotated[StreamQuery, Query()],
    who: ReaderOrAnonymous,
    request: Request,
    last_event_id: LastEventId = None,
) -> EventStream:
    """Tell every transition of jobs as it happens, and how breakers and queues are moved.

    A token for one owner hears of that owner's jobs alone, and of no breakers or queues.
    """
    return await _stream(query, who, request, last_event_id)


@ROUTER.get("/all", status_code=200, response_class=EventStream, responses=_ANSWERS)
async def stream_all_events(
    query: Annotated[StreamQuery, Query()],
    who: Reader,
    request: Request,
    last_event_id: LastEventId = None,
) -> EventStream:
    """Tell the same to those with credentials alone, whatever else they are known by.

    On a machine that needs none this is the stream of its operator.
    """
    return await _stream(query, who, request, last_event_id)


async def _stream(
    query: StreamQuery, who: Principal, request: Request, last_event_id: str | None
) -> EventStream:
    hub = hub_of(request.app)
    key = (who.name, who.owner)
    hub.admit(key)

    async def welcome() -> bool:
        return await is_still_welcome(request, who)

    stream = Stream(
        hub,
        wanted=Wanted(
            who.owner,
            query.job,
            query.pipeline,
            frozenset(query.event),
            hub.shown_to_end_users if who.is_end_user else None,
        ),
        since=last_event_id or query.since,
        who=key,
        welcome=welcome,
    )
    return EventStream(hub, stream, await in_thread(hub.join, stream))
