"""Pages that describe the API for people, made here of what describes it for programs."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from holdfast.api.problems import KINDS

_METHODS: Final = ("get", "post", "put", "patch", "delete")


class Operation(NamedTuple):
    """One thing that can be asked for."""

    id: str
    method: str
    path: str
    summary: str
    role: str | None
    every_owner: bool
    parameters: list[dict[str, Any]]
    body: list[tuple[str, str, str]]
    """Name, type and meaning of each field of the body."""
    statuses: list[tuple[str, str]]


def reference_page(document: dict[str, Any], *, root: str) -> str:
    """Return the page of a whole description."""
    nouns: dict[str, list[Operation]] = {}
    for path, operations in document["paths"].items():
        for method in _METHODS:
            if method in operations:
                found = operations[method]
                noun = (found.get("tags") or ["other"])[0]
                nouns.setdefault(noun, []).append(_operation(path, method, found, document))
    return str(
        _templates()
        .get_template("reference.html")
        .render(
            version=document["info"]["version"],
            description=document["info"]["description"],
            nouns=dict(sorted(nouns.items())),
            problems=KINDS,
            root=root,
        )
    )


def problem_page(code: str, *, root: str) -> str:
    """Return the page of one kind of problem."""
    template = _templates().get_template("problem.html")
    return str(template.render(code=code, kind=KINDS[code], root=root))


@cache
def stylesheet() -> str:
    """Return what the pages look like."""
    return (files("holdfast.api") / "static" / "reference.css").read_text("utf-8")


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("holdfast.api"), autoescape=True, undefined=StrictUndefined
    )
    made.filters["marked"] = _marked
    return made


def _marked(text: str) -> Markup:
    """Return a text as HTML, with what stands in backticks as code."""
    parts = text.split("`")
    return Markup().join(
        Markup("<code>{}</code>").format(part) if number % 2 else part
        for number, part in enumerate(parts)
    )


def _operation(
    path: str, method: str, found: dict[str, Any], document: dict[str, Any]
) -> Operation:
    content = found.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema")
    return Operation(
        id=found["operationId"],
        method=method.upper(),
        path=path,
        summary=found.get("description") or found.get("summary", ""),
        role=found.get("x-role"),
        every_owner=bool(found.get("x-every-owner")),
        parameters=[
            {
                "name": parameter["name"],
                "where": parameter["in"],
                "type": type_of(_without_null(parameter.get("schema", {})), document),
                "meaning": parameter.get("description", ""),
            }
            for parameter in found.get("parameters", [])
        ],
        body=[] if schema is None else _fields(schema, document),
        statuses=[
            (status, response.get("description", ""))
            for status, response in sorted(found["responses"].items())
        ],
    )


def _fields(schema: dict[str, Any], document: dict[str, Any]) -> list[tuple[str, str, str]]:
    whole = _resolved(_without_null(schema), document)
    needed = whole.get("required", [])
    return [
        (
            name,
            type_of(field, document) + ("" if name in needed else ", optional"),
            field.get("description", ""),
        )
        for name, field in whole.get("properties", {}).items()
    ]


def type_of(schema: dict[str, Any], document: dict[str, Any]) -> str:
    """Return a schema in a few words."""
    if "anyOf" in schema:
        return " or ".join(type_of(choice, document) for choice in schema["anyOf"])
    whole = _resolved(schema, document)
    if "enum" in whole:
        return " | ".join(map(str, whole["enum"]))
    if "const" in whole:
        return str(whole["const"])
    if whole.get("type") == "array":
        return f"list of {type_of(whole.get('items', {}), document)}"
    kind = whole.get("format") or whole.get("type", "any JSON")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    choices = [choice for choice in schema.get("anyOf", []) if choice.get("type") != "null"]
    return choices[0] if choices else schema


def _resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    if reference is None:
        return schema
    found: dict[str, Any] = document["components"]["schemas"][reference.rpartition("/")[2]]
    return found
