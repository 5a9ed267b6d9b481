"""Routes that let nobody in before it is known who they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from fastapi import APIRouter
from fastapi.params import Form
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from holdfast.api.auth.admission import Needs, admit
from holdfast.api.auth.path_credential import path_credential_of
from holdfast.api.auth.visitors import is_form, keep_walk_in
from holdfast.api.requests.media_type import check_media_type
from holdfast.api.requests.repeated import check_repeated, lists_of
from holdfast.api.server.threads import in_thread, run_through
from holdfast.errors import UsageError
from holdfast.runtime.kernel.clock import monotonic_s


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
            if is_form(request):
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
