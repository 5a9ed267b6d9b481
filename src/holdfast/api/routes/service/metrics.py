"""`/metrics`: for Prometheus, without credentials and without secrets."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Header
from starlette.requests import Request
from starlette.responses import Response

from holdfast.api.metering import metering_of
from holdfast.api.routing import operation_id
from holdfast.metrics.names import Scope

ROUTER: Final = APIRouter(tags=["health"], generate_unique_id_function=operation_id)

Accept = Annotated[str, Header(description="Asks for OpenMetrics or for the older text form.")]
_TEXT: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/plain": {}}, "description": "Text for Prometheus."}
}


@ROUTER.get("/metrics", operation_id="get_metrics", response_class=Response, responses=_TEXT)
def metrics(request: Request, accept: Accept = "") -> Response:
    """Tell the figures of the whole fleet, and those of this process."""
    page = metering_of(request.app).exposition().page(accept)
    return Response(page.body, media_type=page.content_type)


@ROUTER.get(
    "/metrics/process",
    operation_id="get_process_metrics",
    response_class=Response,
    responses=_TEXT,
)
def process_metrics(request: Request, accept: Accept = "") -> Response:
    """Tell the figures of this process alone, for a scraper of another for the fleet's."""
    page = metering_of(request.app).exposition().page(accept, scope=Scope.PROCESS)
    return Response(page.body, media_type=page.content_type)
