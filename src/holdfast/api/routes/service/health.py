"""`/livez`, `/readyz` and `/healthz`: for probes, without credentials and without secrets."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from holdfast.api.problems import RETRY_AFTER_S
from holdfast.api.routing import operation_id
from holdfast.api.serving import Serving, serving_of
from holdfast.engine.app import Holdfast
from holdfast.errors import HoldfastError, SchemaMissing, SchemaTooNew, SchemaTooOld

ROUTER: Final = APIRouter(tags=["health"], generate_unique_id_function=operation_id)
PATIENCE_S: Final = 3.0
"""A store that has not answered by then is not ready; probes give up soon after."""

Verbose = Annotated[str | None, Query(description="Present: tell how each check went.")]


class Alive(BaseModel):
    """The process answers."""

    status: str


class Ready(BaseModel):
    """Whether requests should be sent here, and with `verbose` what was checked."""

    status: str
    checks: dict[str, str] | None = None


_NOT_READY: Final[dict[int | str, dict[str, Any]]] = {
    503: {"model": Ready, "description": "Not ready."}
}


@ROUTER.get("/livez", operation_id="get_livez")
@ROUTER.head("/livez", include_in_schema=False)
async def livez() -> Alive:
    """Tell that the process answers; nothing else is asked."""
    return Alive(status="ok")


@ROUTER.get("/readyz", operation_id="get_readyz", response_model=Ready, responses=_NOT_READY)
@ROUTER.get("/healthz", operation_id="get_healthz", response_model=Ready, responses=_NOT_READY)
@ROUTER.head("/readyz", include_in_schema=False, response_model=None)
@ROUTER.head("/healthz", include_in_schema=False, response_model=None)
async def readyz(request: Request, verbose: Verbose = None) -> Response:
    """Return whether to send requests here: the store answers, its schema fits, nothing drains."""
    checks = await _checks(serving_of(request))
    ready = all(found == "ok" for found in checks.values())
    document: dict[str, object] = {"status": "ok" if ready else "not ready"}
    if verbose is not None:
        document["checks"] = checks
    headers = {} if ready else {"Retry-After": str(RETRY_AFTER_S)}
    return JSONResponse(document, 200 if ready else 503, headers)


async def _checks(serving: Serving) -> dict[str, str]:
    found = await _store_checks(serving)
    draining = serving.readiness.draining
    return {**found, "draining": "this process is about to end" if draining else "ok"}


async def _store_checks(serving: Serving) -> dict[str, str]:
    # Threads of the loop's own, which no route uses: probes are answered also while every thread
    # of the routes waits for the store.
    asked = asyncio.to_thread(_ask_store, serving.engine)
    try:
        return await asyncio.wait_for(asked, PATIENCE_S)
    except TimeoutError:
        return {"store": "does not answer in time", "schema": "unknown"}


def _ask_store(engine: Holdfast) -> dict[str, str]:
    try:
        store = engine.store
        store.read_clock()
        store.check_schema()
    except (SchemaTooOld, SchemaMissing):
        return {"store": "ok", "schema": "has yet to be migrated"}
    except SchemaTooNew:
        return {"store": "ok", "schema": "is newer than this holdfast"}
    except HoldfastError:
        return {"store": "cannot be reached", "schema": "unknown"}
    return {"store": "ok", "schema": "ok"}
