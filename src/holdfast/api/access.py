"""Who may do what: every route under `/api` demands a role, before it looks at what was sent.

A route says so with one of the parameters `Reader`, `Submitter`, `Operator`, `ReaderOfAll` or
`OperatorOfAll`, which is then the `Principal`. A route that says nothing cannot be made.
`ReaderOrAnonymous`, `SubmitterOrWalkIn` and `OwnerOrOperator` also let people in who have no
credentials, where that is switched on; whatever they are let see or do has to name their owner.
There they are owners also on this machine while it needs no credentials, and not its operators.
What a route answers about failures goes through `shown_to`.
A route whose path holds the credential says that instead, by `path_credential`; one whose query or
body holds it, by `request_credential`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from functools import wraps
from inspect import iscoroutinefunction
from typing import Annotated, Any, Final, NamedTuple, cast
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends
from fastapi.params import Form
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Message

from holdfast.api.auth import anonymous as walk_in_cookie
from holdfast.api.auth.anonymous import is_walk_in
from holdfast.api.auth.authenticator import Visitor
from holdfast.api.auth.path_credential import path_credential_of
from holdfast.api.auth.principal import Principal, Role
from holdfast.api.auth.session import COOKIE, CSRF_FIELD, CSRF_HEADER, Session
from holdfast.api.problems import Problem
from holdfast.api.requests.media_type import check_media_type
from holdfast.api.requests.repeated import check_repeated, lists_of
from holdfast.api.server.threads import in_thread, run_through
from holdfast.api.serving import serving_of
from holdfast.core.values.role import checked_permission
from holdfast.engine.app import Holdfast
from holdfast.errors import UnknownJob, UsageError
from holdfast.runtime.kernel.clock import monotonic_s
from holdfast.views.disclosure import Disclosure

__all__ = [
    "FormToken",
    "GuardedRoute",
    "Operator",
    "OperatorOfAll",
    "OwnerOrOperator",
    "Principal",
    "Reader",
    "ReaderOfAll",
    "ReaderOrAnonymous",
    "Role",
    "Submitter",
    "SubmitterOrWalkIn",
    "guarded_router",
    "needs",
    "permitted",
    "request_credential",
    "shown_to",
]

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}
_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")

Carried = Callable[[Request], Awaitable[str | None]]
"""Return the name of who is let in by what a request carries, such as a signature in its
query; None when it carries nothing of that kind. Raises a problem when that is not good."""


class Needs(NamedTuple):
    """What a route demands."""

    role: Role
    every_owner: bool = False
    """Whether it takes one who may see the rows of every owner."""
    of_own: Role | None = None
    """The role that is enough for those who see one owner's rows, their own."""
    walk_ins: bool = False
    """Whether people without credentials are let in, to what is theirs."""
    carried: Carried | None = None
    """What a request may carry instead of a role."""
    only_carried: bool = False
    """Whether nothing but that opens the route."""
    permission: str | None = None
    """The permission that is enough in place of the role."""


def needs(
    role: Role,
    *,
    every_owner: bool = False,
    of_own: Role | None = None,
    walk_ins: bool = False,
    carried: Carried | None = None,
) -> Callable[..., Any]:
    """Return a dependency that lets in those with the role, and is their `Principal`.

    With `carried` it also lets in those whose request holds a credential for this one thing.
    """
    return _dependency(Needs(role, every_owner, of_own, walk_ins, carried))


def permitted(permission: str) -> Callable[..., Any]:
    """Return a dependency that lets in operators of all owners, and tokens with a permission.

    A permission is named by a system, such as `shop.refund`, and given to a token by
    `holdfast tokens create --may shop.refund`.
    """
    name = checked_permission(permission)
    return _dependency(Needs(Role.OPERATOR, every_owner=True, permission=name))


def request_credential(carried: Carried) -> Callable[..., Any]:
    """Return a dependency of a route that a credential in the query or the body opens, alone.

    No role, cookie or address counts there. A route whose body holds it is an `async def` that
    takes the request and reads the body itself.
    """
    return _dependency(Needs(Role.READER, carried=carried, only_carried=True))


def _dependency(demanded: Needs) -> Callable[..., Any]:
    async def admitted(request: Request) -> Principal:
        return await admit(request, demanded)

    admitted.needs = demanded  # type: ignore[attr-defined]
    admitted.never_waits = True  # type: ignore[attr-defined]
    return admitted


Reader = Annotated[Principal, Depends(needs(Role.READER))]
Submitter = Annotated[Principal, Depends(needs(Role.SUBMITTER))]
Operator = Annotated[Principal, Depends(needs(Role.OPERATOR))]
ReaderOfAll = Annotated[Principal, Depends(needs(Role.READER, every_owner=True))]
ReaderOrAnonymous = Annotated[Principal, Depends(needs(Role.READER, walk_ins=True))]
SubmitterOrWalkIn = Annotated[Principal, Depends(needs(Role.SUBMITTER, walk_ins=True))]
OwnerOrOperator = Annotated[
    Principal, Depends(needs(Role.OPERATOR, of_own=Role.SUBMITTER, walk_ins=True))
]
OperatorOfAll = Annotated[Principal, Depends(needs(Role.OPERATOR, every_owner=True))]


class GuardedRoute(APIRoute):
    """A route that lets nobody in before it knows their role; one without a role is refused."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **given: Any) -> None:  # noqa: ANN401 - what APIRoute takes
        super().__init__(path, in_a_thread(endpoint), **given)
        if not _is_guarded(self):
            raise UsageError(
                f"the route {path} demands no role; give it a parameter such as "
                "`who: Reader` from holdfast.api.access"
            )

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, behind the checks of role, media type and query."""
        handle = super().get_route_handler()
        demanded, credential = needs_of(self), path_credential_of(self)
        lists = lists_of(self.dependant)
        body = self.body_field
        takes_form = body is not None and isinstance(body.field_info, Form)
        takes_json = body is not None and not takes_form

        async def admit_one(request: Request) -> None:
            if demanded is not None:
                await admit(request, demanded)
            if credential is not None:
                await credential.check(request, request.path_params["token"])
            if takes_json:
                check_media_type(request)

        async def guarded(request: Request) -> Response:
            await admit_one(request)
            check_repeated(request, lists)
            response = await handle(request)
            keep_walk_in(request, response)
            return response

        async def guarded_in_a_thread(request: Request) -> Response:
            if _is_form(request):
                return await guarded(request)
            if takes_json:
                await _body_of_one_admitted(request, admit_one)
            if credential is not None:
                # All of it is here: what follows may have to wait for a thread, and for the store.
                request.state.arrived_s = monotonic_s()
            return await in_thread(lambda: run_through(guarded(request)))

        waits_for_store_alone = (
            hasattr(self.endpoint, "runs_in_a_thread")
            and not takes_form
            and all(hasattr(each.call, "never_waits") for each in self.dependant.dependencies)
        )
        return guarded_in_a_thread if waits_for_store_alone else guarded


def in_a_thread(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Return a plain function as one that is awaited while a thread runs it."""
    if iscoroutinefunction(endpoint):
        return endpoint

    @wraps(endpoint)
    async def awaited(*args: Any, **given: Any) -> Any:  # noqa: ANN401 - as the endpoint has it
        return await in_thread(endpoint, *args, **given)

    awaited.runs_in_a_thread = True  # type: ignore[attr-defined]
    return awaited


async def _body_of_one_admitted(
    request: Request, admit: Callable[[Request], Coroutine[Any, Any, None]]
) -> None:
    """Read the body; but unless it is here already, only of a visitor who has the role."""
    if "expect" in request.headers:
        await admit(request)
    reading = asyncio.ensure_future(request.body())
    try:
        await asyncio.sleep(0)
        if not reading.done():
            await admit(request)
        await reading
    finally:
        if not reading.cancel() and not reading.cancelled():
            # Looked at, also where a visitor is refused for another reason.
            reading.exception()


def guarded_router(noun: str) -> APIRouter:
    """Return a router for `/api/<noun>`, all of whose routes demand a role."""
    return APIRouter(
        prefix=f"/api/{noun}",
        tags=[noun],
        route_class=GuardedRoute,
        generate_unique_id_function=operation_id,
    )


def operation_id(route: APIRoute) -> str:
    """Return what the description of the API calls a route: its name alone."""
    return route.name


def needs_of(route: APIRoute) -> Needs | None:
    """Return what a route demands, None when it demands nothing."""
    for dependency in route.dependant.dependencies:
        demanded = getattr(dependency.call, "needs", None)
        if isinstance(demanded, Needs):
            return demanded
    return None


def _is_guarded(route: APIRoute) -> bool:
    """Return whether a route lets nobody in without a role, or without the token in its path."""
    return needs_of(route) is not None or path_credential_of(route) is not None


def refuse_open_routes(routes: Iterable[BaseRoute]) -> None:
    """Raise unless every route under `/api` demands a role."""
    for path, route in api_routes(routes):
        if not isinstance(route, GuardedRoute) or not _is_guarded(route):
            raise UsageError(
                f"{path} demands no role; make it with a router of "
                "holdfast.api.access.guarded_router"
            )


def api_routes(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, BaseRoute]]:
    """Yield the path of every route under `/api`, and the route as it was made."""
    for context in iter_route_contexts(list(routes)):
        path = context.path or ""
        if path == "/api" or path.startswith("/api/"):
            yield path, context.original_route


async def admit(request: Request, demanded: Needs) -> Principal:
    """Return whom a route lets in, or raise the problem that keeps them out."""
    if demanded.carried is not None:
        if not hasattr(request.state, "carried"):
            request.state.carried = await demanded.carried(request)
        name = request.state.carried
        if name is not None:
            return Principal(name=name, role=Role.READER)
        if demanded.only_carried:
            raise Problem("credentials_missing", "the request has to carry its own credential")
    principal = await principal_of(request, walk_ins=demanded.walk_ins)
    check_role(principal, demanded)
    return principal


def check_role(principal: Principal, demanded: Needs) -> None:
    """Raise a problem unless the principal may do what a route does."""
    if demanded.permission is not None:
        if not principal.may(demanded.permission):
            raise Problem(
                "role_missing",
                f"this takes the permission {demanded.permission}, or an operator of every owner's "
                "jobs; use a token that has it",
                role=principal.role,
                needed=demanded.role,
                permission=demanded.permission,
            )
        return
    least = demanded.role if principal.owner is None else demanded.of_own or demanded.role
    if not principal.role.may(least):
        raise Problem(
            "role_missing",
            f"this takes the role {least}, and {principal.name} is a {principal.role}; "
            "use a token of that role",
            role=principal.role,
            needed=least,
        )
    if demanded.every_owner and principal.owner is not None:
        raise Problem(
            "scope_missing",
            "this concerns the jobs of every owner, and your token is for one; "
            "use a token that is for every owner",
        )


def shown_to(who: Principal, engine: Holdfast) -> Disclosure:
    """Return what this principal may see of jobs, their failures and what is done about them."""
    return engine.disclosure(end_user=who.is_end_user)


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


def _is_form(request: Request) -> bool:
    return request.headers.get("content-type", "").startswith(_FORMS)


def _is_small_form(request: Request) -> bool:
    """Return whether a body is a form that says how long it is, and no longer than most may be."""
    length = request.headers.get("content-length", "")
    return (
        _is_form(request)
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
