"""`/api/errors`, `/api/circuits`, `/api/collabiq`: how the system is."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import JSONResponse

from collabiq.collabiq import Collabiq
from collabiq.failures.errors import MOST
from collabiq.http.documents import (
    CircuitList,
    ConfigDocument,
    ErrorList,
    RulesDocument,
    StatusDocument,
)
from collabiq.http.routing import collabiq_router
from holdfast.api.access import Operator, Reader, ReaderOfAll

Severity = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
Category = Literal["TRANSIENT", "PERMANENT", "CRITICAL"]
Named = Annotated[str | None, Query(max_length=100)]


def operation_routes(collabiq: Collabiq) -> APIRouter:
    """Return the routes about errors, breakers, services and settings."""
    parts = (_error_routes, _circuit_routes, _system_routes)
    return APIRouter(routes=[route for routes in parts for route in routes(collabiq).routes])


def _error_routes(collabiq: Collabiq) -> APIRouter:
    routes = collabiq_router("errors")

    @routes.get("", response_model=ErrorList)
    def list_errors(  # noqa: PLR0917 - a parameter for each of the query's
        _who: ReaderOfAll,
        severity: Severity | None = None,
        category: Category | None = None,
        operation: Named = None,
        email_id: Annotated[str | None, Query(pattern=r"^[A-Za-z0-9_-]{1,64}$")] = None,
        since: datetime | None = None,
        limit: Annotated[int, Query(ge=1, le=MOST)] = 100,
    ) -> JSONResponse:
        """List records of errors, newest first."""
        found = collabiq.errors.list(
            severity=severity,
            category=category,
            operation=operation,
            email_id=email_id,
            since=since,
            limit=limit,
        )
        return JSONResponse(found)

    return routes


def _circuit_routes(collabiq: Collabiq) -> APIRouter:
    routes = collabiq_router("circuits")

    @routes.get("", response_model=CircuitList)
    def list_circuits(_who: ReaderOfAll) -> JSONResponse:
        """List the breakers of Gmail, Gemini, Notion and Infisical."""
        return JSONResponse(collabiq.circuits.list())

    return routes


def _system_routes(collabiq: Collabiq) -> APIRouter:
    routes = collabiq_router("collabiq")

    @routes.get("/status", response_model=StatusDocument)
    def get_collabiq_status(who: Reader) -> JSONResponse:
        """Read how each service is and what to do, today's counts, the last poll, the cost."""
        return JSONResponse(collabiq.status(owner=who.owner))

    @routes.get("/rules", response_model=RulesDocument)
    def get_collabiq_rules(_who: Reader) -> JSONResponse:
        """Read which field goes to which column, as the schema of the database was found."""
        return JSONResponse(collabiq.rules())

    @routes.get("/config", response_model=ConfigDocument)
    def get_collabiq_config(_who: Operator) -> JSONResponse:
        """Read every setting and where it comes from; secrets are masked."""
        return JSONResponse(collabiq.config_document())

    return routes
