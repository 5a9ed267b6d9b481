"""`/api/gmail/notifications`: Gmail, through Pub/Sub, about something new in the mailbox."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Depends
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from collabiq.collabiq import Collabiq
from collabiq.gmail.google_keys import CERTS_URL, GoogleKeys
from collabiq.gmail.push_tokens import PushTokens
from collabiq.http.routing import Responses, collabiq_router
from collabiq.inbox.notifications import SECRET, Notifications
from collabiq.settings.config import Config
from collabiq.settings.sources import found_secret
from holdfast.api.access import Principal, request_credential

_ANSWERS: Final[Responses] = {
    204: {"description": "The mailbox is polled soon."},
    401: {
        "description": "`notification_refused`: it brings neither the shared secret nor a token "
        "that Google has signed for this audience and account."
    },
    429: {"description": "`too_many_notifications`, with `Retry-After`."},
    503: {"description": "`notification_unverified`: Google's keys cannot be fetched."},
}
_QUERY: Final = {
    "parameters": [
        {
            "name": "token",
            "in": "query",
            "required": False,
            "description": "The shared secret, where no `Authorization: Bearer` is sent. "
            "A token that Google signs is only taken as a bearer token.",
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
        signed=_push_tokens(collabiq.config),
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


def _push_tokens(config: Config) -> PushTokens | None:
    """Return the tokens that Google signs for pushes, where the settings name them."""
    account, audience = config.gmail_notification_account, config.gmail_notification_audience
    if account is None or audience is None:
        return None
    return PushTokens(account, audience, GoogleKeys(config.gmail_certs_url or CERTS_URL))
