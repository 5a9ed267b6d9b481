"""Whom a request comes from, and that it comes from where it claims to."""

from __future__ import annotations

from typing import Annotated, Final, cast
from urllib.parse import urlsplit

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from holdfast.api.auth import anonymous as walk_in_cookie
from holdfast.api.auth.anonymous import is_walk_in
from holdfast.api.auth.authenticator import Visitor
from holdfast.api.auth.principal import Principal
from holdfast.api.auth.session import COOKIE, CSRF_FIELD, CSRF_HEADER, Session
from holdfast.api.problems import Problem
from holdfast.api.server.threads import in_thread
from holdfast.api.serving import serving_of
from holdfast.errors import UnknownJob

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}
_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")


async def principal_of(request: Request, *, walk_ins: bool = False) -> Principal:
    """Return whom a request comes from, or raise the problem that nobody knows.

    A request that may change something has to come from where it claims to: with a session it
    carries the session's token, without credentials it must not come from another site.
    With `walk_ins` it may come from a visitor without credentials.
    """
    return (await visitor_of(request, walk_ins=walk_ins)).principal


async def is_still_welcome(request: Request, who: Principal) -> bool:
    """Return whether the credentials of a long request still let in whom they let in at first."""
    if who.walks_in or getattr(request.state, "carried", None) is not None:
        return True
    request.state.visitor = None
    try:
        return await principal_of(request) == who
    except Problem:
        return False


async def visitor_of(request: Request, *, walk_ins: bool = False) -> Visitor:
    """Return whom a request comes from, and their session; see `principal_of`."""
    known = getattr(request.state, "visitor", None)
    if known is not None:
        return cast("Visitor", known)
    visitor = await _identify(request, walk_ins=walk_ins)
    request.state.visitor = visitor
    return visitor


async def is_local(request: Request) -> bool:
    """Return whether a request comes from this machine while that needs no credentials."""
    return await in_thread(serving_of(request).authenticator.local, request) is not None


def csrf_token_of(request: Request, visitor: Visitor) -> str | None:
    """Return what forms of a visitor's session have to carry; None without a session."""
    if visitor.session is None:
        return None
    return serving_of(request).sessions.csrf_token(visitor.session)


async def _form_token(request: Request) -> str | None:
    return csrf_token_of(request, await visitor_of(request))


FormToken = Annotated[str | None, Depends(_form_token)]
"""What a form on a page of a route has to carry as `csrf_token`; None without a session."""


async def _identify(request: Request, *, walk_ins: bool) -> Visitor:
    authenticator = serving_of(request).authenticator
    authorization = request.headers.get("authorization")
    if authorization is not None:
        scheme, _, secret = authorization.partition(" ")
        visitor = None
        if scheme.lower() == "bearer":
            visitor = await in_thread(authenticator.bearer, secret.strip())
        if visitor is None:
            raise Problem(
                "credentials_refused",
                "the bearer token is unknown or was revoked; send a good one in the header "
                "Authorization",
                headers=_CHALLENGE,
            )
        return visitor
    cookie = request.cookies.get(COOKIE)
    if cookie is not None:
        visitor = await in_thread(authenticator.guest, cookie)
        if visitor is not None and visitor.session is not None:
            await _check_form(request, visitor.session)
            return visitor
    visitor = await in_thread(authenticator.local, request)
    if (
        walk_ins
        and serving_of(request).options.walk_ins
        and (visitor is None or await in_thread(_is_among_owners, request))
    ):
        visitor = await in_thread(_walk_in, request)
    if visitor is None:
        raise Problem(
            "credentials_missing",
            "send a bearer token in the header Authorization, or sign in to the console; "
            "operators make tokens",
            headers=_CHALLENGE,
        )
    check_site(request)
    return visitor


def _is_among_owners(request: Request) -> bool:
    """Return whether a request from this machine comes from an owner, not from its operator.

    It does where it carries an owner's cookie, and where it concerns no job of the operator's own:
    being on this machine makes nobody an operator of what others have sent.
    """
    serving = serving_of(request)
    if serving.walk_ins.read(request.cookies.get(walk_in_cookie.COOKIE, "")) is not None:
        return True
    job_id = request.path_params.get("job_id")
    if job_id is None:
        return True
    try:
        return is_walk_in(serving.engine.job(job_id).job.owner)
    except UnknownJob:
        return True


def _walk_in(request: Request) -> Visitor:
    """Return an owner without credentials: the one of the request's cookie, or a new one."""
    walk_ins = serving_of(request).walk_ins
    found = walk_ins.read(request.cookies.get(walk_in_cookie.COOKIE, ""))
    if found is None:
        found, request.state.walk_in = walk_ins.new()
    return Visitor(found)


def keep_walk_in(request: Request, response: Response) -> None:
    """Give a new visitor the cookie by which they are known from now on."""
    fresh = getattr(request.state, "walk_in", None)
    if fresh is not None:
        path, https = request.scope.get("root_path", ""), serving_of(request).options.https
        walk_in_cookie.set_cookie(response, fresh, path=path, https=https)


async def _check_form(request: Request, session: Session) -> None:
    if request.method in SAFE:
        return
    check_site(request)
    given = request.headers.get(CSRF_HEADER)
    if given is None and _is_small_form(request):
        given = await _token_in_form(request)
    serving = serving_of(request)
    if given is None or not serving.sessions.is_csrf_token(given, session):
        raise Problem(
            "csrf_refused",
            f"a request with a session has to carry its token, in the header {CSRF_HEADER} or in "
            f"the field {CSRF_FIELD} of a form of at most {serving.options.max_body_bytes} bytes; "
            "load the page again, then try again",
        )


async def _token_in_form(request: Request) -> str | None:
    """Return what a form carries for a token, and leave the form to the route."""
    body = await request.body()

    async def again() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async with Request(request.scope, again).form() as form:
        field = form.get(CSRF_FIELD)
    return field if isinstance(field, str) else None


def is_form(request: Request) -> bool:
    """Return whether a body is a form."""
    return request.headers.get("content-type", "").startswith(_FORMS)


def _is_small_form(request: Request) -> bool:
    """Return whether a body is a form that says how long it is, and no longer than most may be."""
    length = request.headers.get("content-length", "")
    return (
        is_form(request)
        and "transfer-encoding" not in request.headers
        and length.isascii()
        and length.isdigit()
        and int(length) <= serving_of(request).options.max_body_bytes
    )


def check_site(request: Request) -> None:
    """Raise a problem when another site has a browser send a request that may change something."""
    if request.method in SAFE:
        return
    fetched_from = request.headers.get("sec-fetch-site", "same-origin")
    origin = request.headers.get("origin")
    same_host = origin is None or urlsplit(origin).netloc == request.headers.get("host")
    if fetched_from not in {"same-origin", "none"} or not same_host:
        raise Problem(
            "csrf_refused",
            "another site sent this request; open the console itself and try again",
        )
