"""Gives schemas that routes wrote out themselves a place in the document where references lead."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

_DEFINITIONS: Final = "$defs"
_REFERENCE: Final = "$ref"
_OWN: Final = f"#/{_DEFINITIONS}/"
_SHARED: Final = "#/components/schemas/"


def with_shared_definitions(operation: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Return an operation whose schemas define nothing for themselves; `schemas` gets that instead.

    A reference is looked up from the root of the document, so that `#/$defs/…` of one schema in it
    leads nowhere. A name that means something else in `schemas` gets a number.
    """
    shared = deepcopy(operation)
    for schema in [each for each in _objects(shared) if _DEFINITIONS in each]:
        defined: dict[str, Any] = schema.pop(_DEFINITIONS)
        names = {name: name for name in defined}
        referring = _referring(defined, names)
        for name in defined:
            names[name] = _free_name(name, referring[name], schemas)
        schema.update(_referring(schema, names))
        schemas |= {names[name]: each for name, each in _referring(defined, names).items()}
    return shared


def _free_name(name: str, meaning: object, schemas: dict[str, Any]) -> str:
    number, free = 1, name
    while schemas.get(free, meaning) != meaning:
        number += 1
        free = f"{name}{number}"
    return free


def _referring(schema: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return a schema that refers to what is shared, under these names."""
    changed = deepcopy(schema)
    for each in _objects(changed):
        target = each.get(_REFERENCE)
        if isinstance(target, str) and target.startswith(_OWN):
            each[_REFERENCE] = _SHARED + names[target.removeprefix(_OWN)]
    return changed


def _objects(value: object) -> Iterator[dict[str, Any]]:
    """Yield every object in a document, the outer ones first."""
    if isinstance(value, dict):
        yield value
        for part in value.values():
            yield from _objects(part)
    elif isinstance(value, list):
        for part in value:
            yield from _objects(part)
