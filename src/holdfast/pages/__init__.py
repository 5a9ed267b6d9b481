"""Serves the page of a system, and what belongs to it; whatever it shows, it fetches from the API.

Every page has the same frame, colours and ways to call the API: they are in `static` here. A system
brings `index.html` and a folder `static` of its own, and both folders are served as one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router

MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
PAGE: Final = "index.html"
STATIC: Final = "static"
# Modules import each other by plain names, so no address changes with what is behind it: browsers
# keep everything, and ask each time whether it is still the same.
_ASK_FIRST: Final = "no-cache"


class _File(NamedTuple):
    content: bytes
    media_type: str
    etag: str


def pages_of(package: str) -> Callable[[Any, Any, Any], Awaitable[None]]:
    """Return the application that serves a package's page at its root, the rest under `static/`.

    It knows nobody and holds nothing of anybody, so everybody may have it.
    """
    page = _read(package, PAGE)
    static = {
        name: _read(each, STATIC, name) for each in (__name__, package) for name in _names(each)
    }

    async def get_page(request: Request) -> Response:
        return _answer(request, page)

    async def get_static(request: Request) -> Response:
        found = static.get(request.path_params["name"])
        if found is None:
            return PlainTextResponse("There is no such file; load the page again.", 404)
        return _answer(request, found)

    # HEAD is let in where GET is. Every other address and method is refused by the application
    # that this is mounted in, as it refuses its own.
    return Router([Route("/", get_page), Route("/static/{name}", get_static)])


def _names(package: str) -> list[str]:
    found = files(package).joinpath(STATIC).iterdir()
    return [each.name for each in found if _suffix(each.name) in MEDIA_TYPES]


def _read(package: str, *path: str) -> _File:
    content = files(package).joinpath(*path).read_bytes()
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return _File(content, MEDIA_TYPES[_suffix(path[-1])], etag)


def _suffix(name: str) -> str:
    return name[name.rfind(".") :]


def _answer(request: Request, file: _File) -> Response:
    headers = {"Cache-Control": _ASK_FIRST, "ETag": file.etag}
    known = request.headers.get("if-none-match", "")
    if file.etag in {each.strip().removeprefix("W/") for each in known.split(",")}:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)
