"""`/api/gmail/notifications`: Gmail, through Pub/Sub, about something new in the mailbox."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Depends
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from collabiq.collabiq import Collabiq
from collabiq.http.routing import Responses, collabiq_router
from collabiq.notifications import SECRET, Notifications
from collabiq.setting_sources import found_secret
from holdfast.api.access import Principal, request_credential

_ANSWERS: Final[Responses] = {
    204: {"description": "The mailbox is polled soon."},
    401: {"description": "`notification_refused`: it does not bring the shared secret."},
    429: {"description": "`too_many_notifications`, with `Retry-After`."},
}
_QUERY: Final = {
    "parameters": [
        {
            "name": "token",
            "in": "query",
            "required": False,
            "description": "The shared secret, where no `Authorization: Bearer` is sent.",
            "schema": {"type": "string"},
        }
    ]
}


def notification_routes(collabiq: Collabiq) -> APIRouter:
    """Return the route that Pub/Sub calls."""
    routes = collabiq_router("gmail")
    notifications = Notifications(
        secret=lambda: found_secret(collabiq.secrets, SECRET),
        on_push=collabiq.inbox.notified,
    )

    async def pushed(request: Request) -> str:
        """Return the name of who pushes; raises a `Refused` for anybody else."""
        await run_in_threadpool(
            notifications.take,
            authorization=request.headers.get("authorization"),
            token=request.query_params.get("token"),
        )
        return "gmail"

    pusher = Depends(request_credential(pushed))

    @routes.post(
        "/notifications",
        status_code=204,
        response_class=Response,
        responses=_ANSWERS,
        openapi_extra=_QUERY,
    )
    async def receive_gmail_notification(_who: Principal = pusher) -> Response:
        """Have the mailbox polled soon. What is sent is not read: it only makes a poll."""
        return Response(status_code=204)

    return routes
