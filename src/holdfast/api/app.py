"""The API put together: middleware from the outside in, then routes, each behind a role."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from holdfast.api.auth.anonymous import AnonymousSessions
from holdfast.api.auth.authenticator import Authenticator
from holdfast.api.auth.path_credential import secret_beginnings
from holdfast.api.auth.session import Sessions
from holdfast.api.auth.visitors import keep_walk_in
from holdfast.api.docs.openapi import describe
from holdfast.api.error_problems import problem_of, problem_of_http, problem_of_validation
from holdfast.api.metering import Metering, metering_of
from holdfast.api.middleware.body_limit import BodyLimits
from holdfast.api.middleware.faults import Faults, internal_error, log_fault
from holdfast.api.middleware.headers import SecurityHeaders
from holdfast.api.middleware.hosts import Hosts
from holdfast.api.middleware.read_timeout import Patience
from holdfast.api.middleware.request_id import RequestIds
from holdfast.api.middleware.request_log import RequestLog
from holdfast.api.options import ApiOptions
from holdfast.api.problems import Kind, Problem, answer, is_of_api
from holdfast.api.queue_counts import QueueCounting
from holdfast.api.replay_runner import ReplayRunner, background_of
from holdfast.api.requests.methods import METHOD_NOT_ALLOWED, methods_at
from holdfast.api.routes import (
    attention,
    audit,
    callbacks,
    dead_letters,
    deliveries,
    exports,
    job_bulk,
    jobs,
    outbox,
    queues,
    replays,
    tokens,
    upstreams,
    workers,
)
from holdfast.api.routes.service import health, metrics, reference, session, stream, version
from holdfast.api.routing import operation_id, refuse_open_routes
from holdfast.api.server.readiness import Readiness
from holdfast.api.server.threads import in_thread
from holdfast.api.serving import Serving, serving_of
from holdfast.core.values.ids import JobId, is_marked
from holdfast.engine.app import Holdfast
from holdfast.errors import HoldfastError, UnknownJob

NOUNS: Final = (
    job_bulk,
    jobs,
    queues,
    stream,
    health,
    attention,
    audit,
    callbacks,
    dead_letters,
    deliveries,
    exports,
    metrics,
    outbox,
    reference,
    replays,
    session,
    tokens,
    upstreams,
    version,
    workers,
)
"""What is served: the file of each noun, in `holdfast.api.routes`.

What is asked for most comes first, because routes are tried in turn.
"""


class Api(FastAPI):
    """The HTTP API of an application; see `create_api`.

    It takes further routes, but under `/api` only such that demand a role.
    """

    def include_router(self, router: APIRouter, **how: Any) -> None:  # noqa: ANN401 - as FastAPI has it
        """Serve the routes of a router; see FastAPI.

        Taken as they are, its routes are not made again, which FastAPI does and which takes most
        of the time in which an application of many routes starts.
        """
        if how or router.dependencies:
            super().include_router(router, **how)
        else:
            self.router.routes.extend(router.routes)
        refuse_open_routes(self.routes)

    def build_middleware_stack(self) -> ASGIApp:
        """Refuse to serve anything while there is a route that anybody might call."""
        refuse_open_routes(self.routes)
        self.state.secret_beginnings = secret_beginnings(self.routes)
        return super().build_middleware_stack()

    def openapi(self) -> dict[str, Any]:
        """Return the description of the API, made once."""
        if self.openapi_schema is None:
            self.openapi_schema = describe(self)
        return self.openapi_schema


def create_api(app: Holdfast, *, options: ApiOptions | None = None) -> Api:
    """Return the HTTP API of an application, to be served by itself or mounted in another.

    Raises `UsageError` when it is to listen where others reach it and nobody has credentials.
    """
    given = options or ApiOptions()
    sessions = Sessions(app, lasting_s=given.session_s)
    serving = Serving(
        engine=app,
        options=given,
        readiness=Readiness(),
        sessions=sessions,
        authenticator=Authenticator(app, given, sessions),
        walk_ins=AnonymousSessions(sessions, app.chance),
        queues=QueueCounting(app),
    )
    api = Api(
        title="holdfast",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
        generate_unique_id_function=operation_id,
        middleware=[
            Middleware(RequestIds, fresh=lambda: _fresh_id(app)),
            Middleware(SecurityHeaders, https=given.https, devices=given.devices),
            Middleware(RequestLog),
            Middleware(Faults),
            Middleware(Hosts, options=given),
            Middleware(BodyLimits, options=given),
            Middleware(Patience, options=given),
        ],
    )
    api.state.serving = serving
    api.state.replays = ReplayRunner(app)
    api.state.metering = Metering(app)
    api.add_exception_handler(Problem, _on_problem)
    api.add_exception_handler(HoldfastError, _on_error)
    api.add_exception_handler(HTTPException, _on_http)
    api.add_exception_handler(RequestValidationError, _on_validation)
    for noun in NOUNS:
        # Included, each route would be built anew for every API that is made.
        api.router.routes.extend(noun.ROUTER.routes)
    refuse_open_routes(api.routes)
    return api


@asynccontextmanager
async def _lifespan(api: FastAPI) -> AsyncIterator[None]:
    """Go on with what was handed over, as long as the API is served."""
    background, metering = background_of(api), metering_of(api)
    await in_thread(background.look)
    await in_thread(metering.exposition)
    try:
        yield
    finally:
        await in_thread(background.stop)
        metering.stop()


def _fresh_id(app: Holdfast) -> str:
    return f"{app.chance.bits(64):016x}{app.chance.bits(32):08x}"


def _on_problem(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)  # noqa: S101 - registered for nothing else
    return _answer(request, problem)


def _on_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HoldfastError)  # noqa: S101 - as above
    problem = _not_yours(request, error) or problem_of(error)
    if problem is None:
        log_fault(request.scope, error)
    return _answer(request, problem or internal_error())


def _not_yours(request: Request, error: HoldfastError) -> Problem | None:
    """Return the answer to an owner about a job that is another's or not there, where one is set.

    One of theirs that is gone is simply not found. The console has its own for both.
    """
    code = serving_of(request).options.not_yours
    visitor = getattr(request.state, "visitor", None)
    if code is None or visitor is None or visitor.principal.owner is None:
        return None
    if not isinstance(error, UnknownJob) or not is_of_api(request):
        return None
    if is_marked(JobId(error.job_id), visitor.principal.owner):
        return None
    return Problem(code.code, code.message, kind=Kind(code.http_status, "It is not yours"))


def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - as above
    # Raised below the pages of a system, it is answered from the root, where the console is.
    request.scope["root_path"] = request.scope["state"]["root"]
    # What is mounted knows its own methods.
    if error.status_code == METHOD_NOT_ALLOWED and (methods := methods_at(request)):
        error.headers = {"Allow": ", ".join(sorted(methods))}
    return _answer(request, problem_of_http(error))


def _on_validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
    return _answer(request, problem_of_validation(error))


def _answer(request: Request, problem: Problem) -> Response:
    response = answer(request, problem)
    keep_walk_in(request, response)
    return response
