"""Serves the page and what belongs to it; whatever it shows, it fetches from the API."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Final, NamedTuple

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from holdfast import Holdfast
from holdfast.systems import Asgi

MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
PAGE: Final = "index.html"
# Modules import each other by plain names, so no address changes with what is behind it: browsers
# keep everything, and ask each time whether it is still the same.
_ASK_FIRST: Final = "no-cache"


class _File(NamedTuple):
    content: bytes
    media_type: str
    etag: str


def pages(_app: Holdfast) -> Asgi:
    """Return the application that serves the page at its root and the rest under `static/`.

    It knows nobody and holds nothing of anybody, so whoever asks may have it.
    """
    page = _read("", PAGE)
    static = {name: _read("static", name) for name in _names("static")}

    async def get_page(request: Request) -> Response:
        return _answer(request, page)

    async def get_static(request: Request) -> Response:
        found = static.get(request.path_params["name"])
        if found is None:
            return PlainTextResponse("There is no such file; load the page again.", 404)
        return _answer(request, found)

    # Starlette lets HEAD in where GET is, and answers everything else with 405.
    return Starlette(routes=[Route("/", get_page), Route("/static/{name}", get_static)])


def _names(folder: str) -> list[str]:
    found = files("converter.pages").joinpath(folder).iterdir()
    return [each.name for each in found if _suffix(each.name) in MEDIA_TYPES]


def _read(folder: str, name: str) -> _File:
    content = files("converter.pages").joinpath(folder, name).read_bytes()
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return _File(content, MEDIA_TYPES[_suffix(name)], etag)


def _suffix(name: str) -> str:
    return name[name.rfind(".") :]


def _answer(request: Request, file: _File) -> Response:
    headers = {"Cache-Control": _ASK_FIRST, "ETag": file.etag}
    known = request.headers.get("if-none-match", "")
    if file.etag in {each.strip().removeprefix("W/") for each in known.split(",")}:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)
