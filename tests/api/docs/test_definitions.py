"""References of the description: each leads somewhere, also those of schemas written out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast import Holdfast, systems
from holdfast.api import create_api
from holdfast.api.docs.definitions import with_shared_definitions


def references(value: object) -> Iterator[str]:
    """Yield every reference in a document."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for part in value.values():
            yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def found_at(document: dict[str, Any], reference: str) -> object:
    assert reference.startswith("#/"), reference
    value: Any = document
    for step in reference.removeprefix("#/").split("/"):
        value = value[step.replace("~1", "/").replace("~0", "~")]
    return value


def test_every_reference_of_the_whole_document_leads_somewhere(sqlite_url, tmp_path):
    environment = {"AUDIO_DIR": str(tmp_path), "COLLABIQ_DATA_DIR": str(tmp_path)}
    built = systems.build(systems.find(), environment)
    pipelines = [pipeline for each in built for pipeline in each.parts.pipelines]
    with Holdfast(sqlite_url, pipelines=pipelines, tables=systems.tables_of(built)) as app:
        systems.observe(built, app)
        api = create_api(app)
        for each in built:
            if each.parts.bind is not None:
                each.parts.bind(app)
            if each.parts.router is not None:
                api.include_router(each.parts.router(app))
        document = api.openapi()
        api.state.replays.stop()

    assert "/api/grading/callback" in document["paths"]
    assert [each for each in references(document) if not found_at(document, each)] == []


def operation_with(schema: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"content": {"application/json": {"schema": schema}}}}


def schema_in(operation: dict[str, Any]) -> dict[str, Any]:
    return operation["requestBody"]["content"]["application/json"]["schema"]


def order() -> dict[str, Any]:
    line = {"type": "object", "properties": {"unit": {"$ref": "#/$defs/Unit"}}}
    return {
        "type": "array",
        "items": {"$ref": "#/$defs/Line"},
        "$defs": {"Line": line, "Unit": {"enum": ["piece", "kg"]}},
    }


def test_what_a_schema_defines_for_itself_is_shared_and_referred_to_there():
    schemas: dict[str, Any] = {}
    given = operation_with(order())

    once = with_shared_definitions(given, schemas)
    again = with_shared_definitions(given, schemas)

    assert once == again
    assert schema_in(once) == {"type": "array", "items": {"$ref": "#/components/schemas/Line"}}
    assert set(schemas) == {"Line", "Unit"}
    assert schemas["Line"]["properties"] == {"unit": {"$ref": "#/components/schemas/Unit"}}
    assert given == operation_with(order())


def test_a_name_that_means_something_else_already_gets_a_number():
    schemas: dict[str, Any] = {"Unit": {"type": "integer"}}

    shared = with_shared_definitions(operation_with(order()), schemas)

    assert schemas["Unit"] == {"type": "integer"}
    assert schemas["Unit2"] == {"enum": ["piece", "kg"]}
    line = found_at({"components": {"schemas": schemas}}, schema_in(shared)["items"]["$ref"])
    assert line["properties"] == {"unit": {"$ref": "#/components/schemas/Unit2"}}
