"""What Notion demands of the values of properties, and in which words it refuses them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

MAX_TEXT_UNITS: Final = 2_000
MAX_OBJECTS: Final = 100
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2})?)?")
_TEXT_TYPES: Final = frozenset({"title", "rich_text"})


class Invalid(Exception):
    """A value is refused, in Notion's words."""


def check_properties(given: Mapping[str, Any], schema: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise `Invalid` unless the values fit the columns."""
    for name, value in given.items():
        column = schema.get(name)
        if column is None:
            raise Invalid(f"{name} is not a property that exists.")
        kind = str(column["type"])
        if not isinstance(value, Mapping) or kind not in value:
            raise Invalid(f"{name} is expected to be {kind}.")
        _check(f"body.properties.{name}.{kind}", kind, value[kind], column, name=name)


def _check(place: str, kind: str, value: object, column: Mapping[str, Any], *, name: str) -> None:
    match kind:
        case "title" | "rich_text":
            check_texts(place, value)
        case "select" | "status" if value is not None:
            _check_option(place, kind, value, column)
        case "number" if value is not None and (
            isinstance(value, bool) or not isinstance(value, int | float)
        ):
            raise _should(place, "a number", value)
        case "checkbox" if not isinstance(value, bool):
            raise _should(place, "a boolean", value)
        case "date" if value is not None:
            start = value.get("start") if isinstance(value, Mapping) else None
            if not isinstance(start, str) or _DATE.fullmatch(start) is None:
                raise _should(f"{place}.start", "a valid ISO 8601 date string", start)
        case "url" if value is not None and (not isinstance(value, str) or not value):
            raise _should(place, "a populated string", value)
        case "relation" | "people":
            _check_ids(place, value, name=name)
        case _:
            pass


def check_texts(place: str, value: object) -> None:
    """Raise `Invalid` unless a value is a list of texts within the limits."""
    if not isinstance(value, list):
        raise _should(place, "an array", value)
    if len(value) > MAX_OBJECTS:
        raise _too_many(place, MAX_OBJECTS, len(value))
    for at, each in enumerate(value):
        text = each.get("text") if isinstance(each, Mapping) else None
        content = text.get("content") if isinstance(text, Mapping) else None
        if not isinstance(content, str):
            raise _should(f"{place}[{at}].text.content", "a string", content)
        units = len(content.encode("utf-16-le", "surrogatepass")) // 2
        if units > MAX_TEXT_UNITS:
            raise _too_many(f"{place}[{at}].text.content", MAX_TEXT_UNITS, units)


def _check_option(place: str, kind: str, value: object, column: Mapping[str, Any]) -> None:
    option = value.get("name") if isinstance(value, Mapping) else None
    if not isinstance(option, str) or not option:
        raise _should(f"{place}.name", "a populated string", option)
    if "," in option:
        raise Invalid(f"Invalid {kind} option, commas not allowed: {option}")
    known = {each["name"] for each in column.get(kind, {}).get("options", ())}
    if kind == "status" and option not in known:
        raise Invalid(f'Invalid status option. Status option "{option}" does not exist".')


def _check_ids(place: str, value: object, *, name: str) -> None:
    if not isinstance(value, list) or not all(
        isinstance(each, Mapping) and isinstance(each.get("id"), str) for each in value
    ):
        raise _should(place, f"an array of ids for {name}", value)
    if len(value) > MAX_OBJECTS:
        raise _too_many(place, MAX_OBJECTS, len(value))


def check_children(children: object) -> None:
    """Raise `Invalid` unless these may be the blocks of a page."""
    if not isinstance(children, list):
        raise _should("body.children", "an array", children)
    if len(children) > MAX_OBJECTS:
        raise _too_many("body.children", MAX_OBJECTS, len(children))
    for at, block in enumerate(children):
        kind = block.get("type") if isinstance(block, Mapping) else None
        if not isinstance(kind, str) or not isinstance(block.get(kind), Mapping):
            raise _should(f"body.children[{at}].type", "a block type", kind)
        if "rich_text" in block[kind]:
            check_texts(f"body.children[{at}].{kind}.rich_text", block[kind]["rich_text"])


def matches(page: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether a page is what a filter asks for: `and`, `or`, and `equals` of a property."""
    if "and" in wanted:
        return all(matches(page, each) for each in wanted["and"])
    if "or" in wanted:
        return any(matches(page, each) for each in wanted["or"])
    if "timestamp" in wanted:
        return _compares(page.get(wanted["timestamp"], ""), wanted[wanted["timestamp"]])
    name = wanted.get("property")
    value = page["properties"].get(name)
    if value is None:
        raise Invalid(f"Could not find property with name or id: {name}")
    kind = next((each for each in wanted if each != "property"), None)
    if kind is None or value["type"] != kind:
        raise Invalid(f"database property {value['type']} does not match filter {kind}")
    return _compares(plain_value(value), wanted[kind])


def _compares(value: object, condition: Mapping[str, Any]) -> bool:
    ((operator, wanted),) = condition.items()
    match operator:
        case "equals":
            return bool(value == wanted)
        case "does_not_equal":
            return bool(value != wanted)
        case "contains":
            return isinstance(value, str | list) and wanted in value
        case "is_empty":
            return not value
        case "is_not_empty":
            return bool(value)
        case "on_or_after" | "after":
            return str(value or "") >= str(wanted)
        case "on_or_before" | "before":
            return str(value or "") <= str(wanted)
        case _:
            raise Invalid(f"body failed validation: unknown condition {operator}")


def plain_value(value: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever the kind holds
    """Return what filters compare of a property's value."""
    kind = value["type"]
    inner = value.get(kind)
    match kind:
        case "title" | "rich_text":
            return "".join(each["text"]["content"] for each in inner or ())
        case "select" | "status":
            return inner["name"] if inner else None
        case "date":
            return inner["start"] if inner else None
        case "relation" | "people":
            return [each["id"] for each in inner or ()]
        case _:
            return inner


def stored_value(name: str, kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a property's value as it is handed out."""
    inner: Any = value.get(kind)
    if kind in _TEXT_TYPES:
        inner = [_stored_text(each) for each in inner or ()]
    return {"id": name.encode().hex()[:8], "type": kind, kind: inner}


def empty_value(name: str, kind: str) -> dict[str, Any]:
    """Return the value of a column that was not given."""
    empty: Any = [] if kind in {*_TEXT_TYPES, "relation", "people"} else None
    return stored_value(name, kind, {kind: False if kind == "checkbox" else empty})


def _stored_text(given: Mapping[str, Any]) -> dict[str, Any]:
    content = given["text"]["content"]
    link = given["text"].get("link")
    return {
        "type": "text",
        "text": {"content": content, "link": link},
        "plain_text": content,
        "href": None,
    }


def _should(place: str, what: str, value: object) -> Invalid:
    said = json.dumps(value, ensure_ascii=False, default=str)[:200]
    return Invalid(f"body failed validation: {place} should be {what}, instead was `{said}`.")


def _too_many(place: str, limit: int, count: int) -> Invalid:
    words = f"{place}.length should be ≤ `{limit}`, instead was `{count}`."
    return Invalid(f"body failed validation: {words}")


def schema_of(columns: Mapping[str, str], options: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return a schema of columns by their kinds, with the options of selects."""
    schema: dict[str, Any] = {}
    for name, kind in columns.items():
        inner: dict[str, Any] = {}
        if kind in {"select", "status"}:
            inner["options"] = [{"name": option} for option in options.get(name, ())]
        schema[name] = {"id": name.encode().hex()[:8], "name": name, "type": kind, kind: inner}
    return schema
