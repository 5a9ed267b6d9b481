"""The gateway over HTTP: `POST /convert?mapping=NAME` and `GET /health`."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import Any, Final

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from converter.gateway.admission import Admission
from converter.gateway.answers import response_of
from converter.gateway.body import save_body
from converter.gateway.conversion import convert
from converter.gateway.errors import ConversionError, EngineFailed, MappingUnknown
from converter.gateway.mappings import MAPPINGS
from converter.gateway.options import GatewayOptions
from converter.gateway.problems import Problem, problem_of

Asgi = Callable[[Any, Any, Any], Awaitable[None]]
"""An ASGI application."""

_log: Final = logging.getLogger(__name__)
_HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Cache-Control": "no-store",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
    }
)
# What is made of a stranger's file is for programs; a browser that is led here must not show it.
_RESULT_HEADERS: Final = MappingProxyType(
    {**_HEADERS, "Content-Disposition": 'attachment; filename="result.xml"'}
)
# The rest of a body that nobody wants would be read as the next request.
_REFUSED_HEADERS: Final = MappingProxyType({**_HEADERS, "Connection": "close"})


def create_gateway(options: GatewayOptions | None = None) -> Asgi:
    """Return the gateway as an ASGI application."""
    gateway = _Gateway(options or GatewayOptions())
    return Starlette(
        routes=[
            Route("/convert", gateway.convert, methods=["POST"]),
            Route("/health", gateway.health, methods=["GET"]),
        ],
        exception_handlers={
            Problem: _problem,
            HTTPException: _http_problem,
            Exception: _internal_problem,
        },
    )


class _Gateway:
    def __init__(self, options: GatewayOptions) -> None:
        self._options = options
        self._admission = Admission(running=options.concurrency, waiting=options.waiting)
        self._threads = anyio.CapacityLimiter(options.concurrency)

    async def health(self, _request: Request) -> Response:
        options = self._options
        return JSONResponse(
            {
                "status": "ok",
                "engine": options.engine.resolved().value,
                "mappings": list(MAPPINGS),
                "conversions": self._admission.inside,
                "most_conversions": options.concurrency + options.waiting,
            },
            headers=_HEADERS,
        )

    async def convert(self, request: Request) -> Response:
        mapping = request.query_params.get("mapping", "")
        _check_head(request, mapping)
        began_s = monotonic()
        outcome = "abandoned"
        try:
            async with self._admission.entered():
                xml = await self._converted(request, mapping)
            outcome = "converted"
        except Problem as problem:
            outcome = problem.code
            raise
        finally:
            _log.info("%s by %s in %.3f s", outcome, mapping, monotonic() - began_s)
        return Response(xml, media_type="application/xml", headers=dict(_RESULT_HEADERS))

    async def _converted(self, request: Request, mapping: str) -> bytes:
        options = self._options
        with tempfile.TemporaryDirectory(prefix="converter-upload-") as folder:
            pdf = Path(folder) / "upload.pdf"
            await save_body(request, pdf, limits=options.limits, body_s=options.body_s)
            async with self._admission.running():
                try:
                    return await anyio.to_thread.run_sync(
                        partial(convert, pdf, mapping, options.limits, engine=options.engine),
                        limiter=self._threads,
                    )
                except EngineFailed as error:
                    _log.exception("a conversion failed: %s", error.detail)
                    raise problem_of(error) from error
                except ConversionError as error:
                    raise problem_of(error) from error


def _check_head(request: Request, mapping: str) -> None:
    """Raise `Problem` for what can be found before the file is sent."""
    if mapping not in MAPPINGS:
        raise problem_of(MappingUnknown(mapping, known=MAPPINGS))
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/pdf":
        raise Problem(415, "unsupported_media_type", "The body has to be application/pdf.")


async def _problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)  # noqa: S101 - what it is registered for
    return response_of(error, _REFUSED_HEADERS)


async def _http_problem(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - what it is registered for
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http_error")
    problem = Problem(error.status_code, code, "There is only POST /convert and GET /health.")
    return response_of(problem, {**_REFUSED_HEADERS, **(error.headers or {})})


async def _internal_problem(_request: Request, _error: Exception) -> Response:
    # Starlette raises it again for the server, which logs it.
    problem = Problem(500, "internal_error", "Something went wrong here; the log says what.")
    return response_of(problem, _REFUSED_HEADERS)
