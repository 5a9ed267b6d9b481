"""Problems as responses."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import JSONResponse

from converter.gateway.problems import MEDIA_TYPE, RETRY_AFTER_S, Problem


def response_of(problem: Problem, headers: Mapping[str, str]) -> JSONResponse:
    """Return the problem as a response with these headers."""
    document = {
        "type": f"urn:holdfast-converter:problem:{problem.code}",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
    }
    sent = dict(headers)
    if problem.status in {429, 503}:
        sent["Retry-After"] = str(RETRY_AFTER_S)
    return JSONResponse(document, problem.status, sent, media_type=MEDIA_TYPE)
