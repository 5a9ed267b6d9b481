"""Signing in and out with a browser: a token becomes a session, and a session nothing."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.auth.authenticator import Visitor
from holdfast.api.auth.session import clear_cookie, set_cookie
from holdfast.api.auth.visitors import check_site, visitor_of
from holdfast.api.problems import Problem
from holdfast.api.server.threads import in_thread
from holdfast.api.serving import serving_of


async def sign_in(request: Request, response: Response, secret: str) -> Visitor:
    """Open a session for the bearer of a token, kept by a cookie of `response`.

    Raises the problem that the token is not good, or that another site sent the request.
    """
    check_site(request)
    serving = serving_of(request)
    opened = await in_thread(serving.authenticator.login, secret)
    if opened is None:
        raise Problem(
            "credentials_refused",
            "the token is unknown or was revoked; copy it again, or have an operator make one",
        )
    visitor, cookie = opened
    options = serving.options
    set_cookie(
        response,
        cookie,
        lasting_s=options.session_s,
        path=request.scope.get("root_path", ""),
        https=options.https,
    )
    return visitor


async def sign_out(request: Request, response: Response) -> None:
    """End the session of a request, also for a copy of its cookie; the browser forgets it."""
    serving = serving_of(request)
    session = (await visitor_of(request)).session
    if session is not None:
        await in_thread(serving.authenticator.logout, session)
    https = serving.options.https
    clear_cookie(response, path=request.scope.get("root_path", ""), https=https)
