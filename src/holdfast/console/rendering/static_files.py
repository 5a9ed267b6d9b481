"""The console's own style, script and icon, read once and kept by browsers."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.problems import Problem

MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
COLOURS: Final = "colours.css"
_FOREVER: Final = "public, max-age=31536000, immutable"


def static_contents() -> dict[str, bytes]:
    """Return the files by their names: the console's own, and the colours of all pages."""
    own = files("holdfast.console").joinpath("static")
    colours = files("holdfast.pages").joinpath("static", COLOURS)
    return {
        COLOURS: colours.read_bytes(),
        **{each.name: each.read_bytes() for each in own.iterdir()},
    }


def static_router() -> APIRouter:
    """Return the routes of the files; nobody has to be known to see them."""
    router = APIRouter(include_in_schema=False)
    contents = static_contents()

    async def static(request: Request) -> Response:
        name = str(request.path_params["name"])
        if name not in contents:
            raise Problem("not_found", "the console has no such file; load its page again")
        suffix = name[name.rfind(".") :]
        headers = {"Cache-Control": _FOREVER}
        return Response(contents[name], headers=headers, media_type=MEDIA_TYPES[suffix])

    router.add_api_route(
        "/static/{name}", static, methods=["GET"], response_class=Response, response_model=None
    )
    return router
