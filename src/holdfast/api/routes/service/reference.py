"""`/api`, `/api/openapi.json`, `/api/reference` and `/problems/…`: what the API says of itself."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from holdfast.api.access import GuardedRoute, Reader
from holdfast.api.docs.reference import problem_page, reference_page, stylesheet
from holdfast.api.problems import KINDS, Problem, accepts_html

GUARDED: Final = APIRouter(prefix="/api", include_in_schema=False, route_class=GuardedRoute)
ROUTER: Final = APIRouter(include_in_schema=False)


@GUARDED.get("")
@GUARDED.get("/")
async def get_root(request: Request, _who: Reader) -> RedirectResponse:
    """Lead a browser to the page about the API, and a program to its description."""
    place = "reference" if accepts_html(request) else "openapi.json"
    return RedirectResponse(f"{_root(request)}/api/{place}")


@GUARDED.get("/openapi.json")
async def get_openapi(request: Request, _who: Reader) -> JSONResponse:
    """Describe the API for programs."""
    return JSONResponse(_described(request))


@GUARDED.get("/reference")
async def get_reference(request: Request, _who: Reader) -> HTMLResponse:
    """Describe the API for people."""
    return HTMLResponse(reference_page(_described(request), root=_root(request)))


@ROUTER.get("/problems/reference.css")
async def get_stylesheet() -> Response:
    """Return what the pages look like."""
    headers = {"Cache-Control": "public, max-age=3600"}
    return Response(stylesheet(), media_type="text/css", headers=headers)


@ROUTER.get("/problems/{name}")
async def get_problem(name: str, request: Request) -> HTMLResponse:
    """Tell what a kind of problem is: `type` of every problem leads here."""
    code = name.replace("-", "_")
    if code not in KINDS:
        raise Problem("not_found", "no kind of problem has that name; /api/reference lists them")
    return HTMLResponse(problem_page(code, root=_root(request)))


ROUTER.include_router(GUARDED)


def _described(request: Request) -> dict[str, Any]:
    document: dict[str, Any] = request.app.openapi()
    root = _root(request)
    return {**document, "servers": [{"url": root}]} if root else document


def _root(request: Request) -> str:
    return str(request.scope.get("root_path", ""))
