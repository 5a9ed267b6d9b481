"""`/api/session`: who you are, and sessions for browsers."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.access import Reader, ReaderOrAnonymous, guarded_router
from holdfast.api.auth.authenticator import Visitor
from holdfast.api.auth.principal import Role
from holdfast.api.auth.sign_in import sign_in, sign_out
from holdfast.api.auth.visitors import csrf_token_of, is_local, visitor_of

ROUTER: Final = guarded_router("session")


class SessionDocument(BaseModel):
    """Who you are, and what forms of your session have to carry."""

    name: str
    role: Role
    owner: str | None
    """The only owner whose rows you see; null for every owner's."""
    csrf_token: str | None
    """What a request that changes something carries in `X-CSRF-Token`; null without a session."""
    console: bool
    """Whether the console lets you in."""

    @classmethod
    def of(
        cls, visitor: Visitor, *, csrf_token: str | None, console: bool = True
    ) -> SessionDocument:
        """Return what a visitor sees of themselves."""
        who = visitor.principal
        return cls(
            name=who.name,
            role=who.role,
            owner=who.owner,
            csrf_token=csrf_token,
            console=console,
        )


@ROUTER.get("")
async def get_session(request: Request, _who: ReaderOrAnonymous) -> SessionDocument:
    """Tell who you are, also to a visitor who came without credentials."""
    visitor = await visitor_of(request)
    console = not visitor.principal.walks_in or await is_local(request)
    token = csrf_token_of(request, visitor)
    return SessionDocument.of(visitor, csrf_token=token, console=console)


@ROUTER.post("")
async def open_session(request: Request, response: Response, _who: Reader) -> SessionDocument:
    """Open a session for the bearer token you send: a cookie stands for it from then on."""
    visitor = await visitor_of(request)
    secret = request.headers.get("authorization", "").partition(" ")[2].strip()
    if secret:
        visitor = await sign_in(request, response, secret)
    return SessionDocument.of(visitor, csrf_token=csrf_token_of(request, visitor))


@ROUTER.delete("", status_code=204)
async def end_session(request: Request, _who: Reader) -> Response:
    """End your session: its cookie is good for nothing any more, and the browser forgets it."""
    response = Response(status_code=204)
    await sign_out(request, response)
    return response
