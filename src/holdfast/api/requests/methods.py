"""Which methods a path takes, over all routes that have it."""

from __future__ import annotations

from typing import Final

from fastapi.routing import APIRoute, iter_route_contexts
from starlette.requests import Request
from starlette.routing import compile_path

METHOD_NOT_ALLOWED: Final = 405


def methods_at(request: Request) -> set[str]:
    """Return the methods by which the path of a request could be asked for."""
    path = request.url.path.removeprefix(str(request.scope.get("root_path", "")).rstrip("/"))
    return {
        method
        for context in iter_route_contexts(list(request.app.routes))
        if isinstance(route := context.original_route, APIRoute)
        and compile_path(context.path or "")[0].fullmatch(path)
        for method in route.methods or ()
    }
