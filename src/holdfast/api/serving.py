"""What every request finds at hand: the engine, and how it is served."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends
from starlette.requests import HTTPConnection

from holdfast.api.auth.anonymous import AnonymousSessions
from holdfast.api.auth.authenticator import Authenticator
from holdfast.api.auth.session import Sessions
from holdfast.api.options import ApiOptions
from holdfast.api.queue_counts import QueueCounting
from holdfast.api.server.readiness import Readiness
from holdfast.engine.app import Holdfast


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The parts of a served API; `api.state.serving` of the application that `create_api` makes."""

    engine: Holdfast
    options: ApiOptions
    readiness: Readiness
    sessions: Sessions
    authenticator: Authenticator
    walk_ins: AnonymousSessions
    queues: QueueCounting


def serving_of(request: HTTPConnection) -> Serving:
    """Return the parts of the API that a request came to."""
    return cast("Serving", request.app.state.serving)


# A coroutine function, because FastAPI hands every plain one to a thread.
async def _engine_of(request: HTTPConnection) -> Holdfast:
    return serving_of(request).engine


_engine_of.never_waits = True  # type: ignore[attr-defined]
Engine = Annotated[Holdfast, Depends(_engine_of)]
"""A parameter of a route that is the engine."""
