"""The API described: OpenAPI 3.1, with roles, problems and nothing of the console."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, iter_route_contexts

from holdfast.api.auth.admission import Needs
from holdfast.api.auth.path_credential import path_credential_of
from holdfast.api.auth.session import COOKIE
from holdfast.api.docs.definitions import with_shared_definitions
from holdfast.api.middleware.hosts import PROBED
from holdfast.api.problems import KINDS, MEDIA_TYPE
from holdfast.api.routing import needs_of

OPENAPI_VERSION: Final = "3.1.0"
DESCRIPTION: Final = (
    "Durable jobs over HTTP. Every error is a problem document (RFC 9457) with a stable `code`. "
    "Times are RFC 3339 in UTC, durations are seconds, lists come in pages with a cursor."
)
_PROBE_PATHS: Final = PROBED | {"/version"}
_PROBLEM: Final = "#/components/schemas/Problem"
_ANYWHERE: Final = {"default": "Any other problem."}
_WITH_ROLE: Final = {
    "401": "No credentials, or none that are good.",
    "403": "The role, or the owner, does not allow it.",
}
_BY_PATH: Final = {"403": "The token in the path is not good."}
_BY_REQUEST: Final = {"403": "The credential in the query or the body is not good."}
_UNUSED: Final = ("HTTPValidationError", "ValidationError")


def describe(api: FastAPI) -> dict[str, Any]:
    """Return the description of what an API serves under `/api`, and of its probes."""
    document = get_openapi(
        title="holdfast",
        version=version("holdfast"),
        openapi_version=OPENAPI_VERSION,
        description=DESCRIPTION,
        routes=api.routes,
    )
    demanded, opened = _demanded(api), _opened_by_path(api)
    document["paths"] = {
        path: operations
        for path, operations in document["paths"].items()
        if path.startswith("/api/") or path in _PROBE_PATHS
    }
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for path, method, operation in _operations(document):
        _complete(operation, demanded.get((path, method)), by_path=(path, method) in opened)
        document["paths"][path][method] = with_shared_definitions(operation, schemas)
    for name in _UNUSED:
        schemas.pop(name, None)
    schemas["Problem"] = _problem_schema()
    document["components"]["securitySchemes"] = {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "A token that an operator made: `holdfast tokens create`.",
        },
        "session": {
            "type": "apiKey",
            "in": "cookie",
            "name": COOKIE,
            "description": "A browser's session; what may change something carries `X-CSRF-Token`.",
        },
    }
    return document


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in document["paths"].items():
        for method, operation in list(operations.items()):
            yield path, method, operation


def _demanded(api: FastAPI) -> dict[tuple[str, str], Needs]:
    found: dict[tuple[str, str], Needs] = {}
    for context in iter_route_contexts(api.routes):
        route = context.original_route
        needs = needs_of(route) if isinstance(route, APIRoute) else None
        if needs is not None:
            for method in context.methods or ():
                found[context.path_format or "", method.lower()] = needs
    return found


def _opened_by_path(api: FastAPI) -> set[tuple[str, str]]:
    """Return the operations that the token in their path opens, and nothing else."""
    return {
        (context.path_format or "", method.lower())
        for context in iter_route_contexts(api.routes)
        if isinstance(route := context.original_route, APIRoute)
        and path_credential_of(route) is not None
        for method in context.methods or ()
    }


def _complete(operation: dict[str, Any], needs: Needs | None, *, by_path: bool) -> None:
    """Add to an operation who may ask for it, and the problems it may answer with."""
    responses: dict[str, Any] = operation["responses"]
    # What the framework would answer to a request that does not fit is not what is answered.
    replaced = responses.pop("422", None)
    told = dict(_ANYWHERE)
    if replaced is not None:
        told["422"] = "The request does not fit."
    if needs is not None and needs.carried is not None:
        told |= _BY_REQUEST
        operation["security"] = []
        operation["x-credential"] = "request"
    if needs is not None and not needs.only_carried:
        told |= _WITH_ROLE
        operation["security"] = [{"token": []}, {"session": []}]
        operation["x-role"] = needs.role.value
        operation["x-every-owner"] = needs.every_owner
        if needs.permission is not None:
            operation["x-permission"] = needs.permission
    if by_path:
        told |= _BY_PATH
        operation["security"] = []
        operation["x-credential"] = "path"
    for response in responses.values():
        if response.get("description") == "Successful Response":
            response["description"] = "Done."
    for status, description in told.items():
        responses.setdefault(status, {"description": description})
    for status, response in responses.items():
        if status == "default" or status[0] in "45":
            response.setdefault("content", {MEDIA_TYPE: {"schema": {"$ref": _PROBLEM}}})


def _problem_schema() -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "type": "object",
        "description": "What went wrong, and whose move it is. Further members tell the facts.",
        "required": ["type", "title", "status", "detail", "instance", "code", "request_id"],
        "properties": {
            "type": {**text, "format": "uri-reference"},
            "title": text,
            "status": {"type": "integer"},
            "detail": {**text, "description": "What to do about it."},
            "instance": {**text, "format": "uri-reference"},
            "code": {**text, "enum": sorted(KINDS), "description": "Stable: decide by this."},
            "request_id": {**text, "description": "To be given to an operator."},
            "errors": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["pointer", "message"],
                    "properties": {
                        "pointer": {**text, "description": "A JSON pointer into the request."},
                        "message": text,
                    },
                },
            },
        },
        "additionalProperties": True,
    }
