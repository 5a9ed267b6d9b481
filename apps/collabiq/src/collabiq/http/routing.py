"""Routes of collabiq: guarded like all of the API, with its own codes for what is refused."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path
from starlette.requests import Request
from starlette.responses import Response

from collabiq.refusals import Refused
from holdfast.api.access import GuardedRoute, Principal, guarded_router
from holdfast.api.problems import KINDS, Flaw, Kind, Problem

Responses = dict[int | str, dict[str, Any]]
"""What a route may answer, for the description of the API."""
_TITLES: Final[Mapping[str, str]] = {
    "email_not_found": "There is no such e-mail",
    "dlq_not_found": "There is no such dead letter",
    "already_processed": "It was replayed with success before",
    "not_a_mail": "The body is no mail",
    "too_large": "The mail is too large",
    "invalid": "The body does not fit",
    "unwritable": "Files cannot be written now",
    "notification_refused": "The notification is not from Gmail",
    "notification_unverified": "The sender of the notification cannot be verified now",
    "too_many_notifications": "Too many notifications in a minute",
}
_EMAIL_ID: Final = r"^[A-Za-z0-9_-]{1,64}$"
_DLQ_ID: Final = r"^dlq_[A-Za-z0-9._-]{1,196}$"

EmailId = Annotated[
    str, Path(pattern=_EMAIL_ID, description="Gmail's id of the mail, or the SHA-256 of an upload.")
]
DlqId = Annotated[str, Path(pattern=_DLQ_ID, description="The id of the dead letter.")]

NO_EMAIL: Final[Responses] = {
    404: {"description": "`email_not_found`: none, or another owner's."},
}
NO_LETTER: Final[Responses] = {404: {"description": "`dlq_not_found`."}}


class CollabiqRoute(GuardedRoute):
    """A guarded route whose refusals are problems with collabiq's codes."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with refusals as problems."""
        handle = super().get_route_handler()

        async def refusing(request: Request) -> Response:
            try:
                return await handle(request)
            except Refused as refused:
                raise problem_of(refused) from None

        return refusing


def collabiq_router(noun: str) -> APIRouter:
    """Return a router for `/api/<noun>`, all of whose routes demand a role."""
    router = guarded_router(noun)
    router.route_class = CollabiqRoute
    return router


def problem_of(refused: Refused) -> Problem:
    """Return a refusal as the problem that a request ends with."""
    known = KINDS.get(refused.code)
    kind = known or Kind(refused.status, _TITLES.get(refused.code, "It is refused"))
    flaws = [Flaw(each["pointer"], each["message"]) for each in refused.pointers]
    return Problem(refused.code, refused.message, kind=kind, errors=flaws)


def check_mailbox(who: Principal, mailbox: str) -> None:
    """Raise a problem unless what is added may belong to the mailbox."""
    if who.owner not in (None, mailbox):
        raise Problem(
            "owner_refused",
            "mails belong to the mailbox that is watched, and your token is for another owner",
        )
