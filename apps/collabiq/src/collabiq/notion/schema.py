"""The columns of a database as they are found, and which of our fields goes to which."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from collabiq.notion.errors import MissingColumn

CONFIDENCES: Final = ("person", "startup", "partner", "details", "date")
DEFAULT_FIELDS: Final[Mapping[str, str]] = {
    "title": "제목",
    "person": "담당자",
    "startup": "스타트업명",
    "partner": "협업기관",
    "details": "협업내용",
    "summary": "요약",
    "date": "날짜",
    "type": "협업형태",
    "intensity": "협업강도",
    "person_confidence": "담당자 신뢰도",
    "startup_confidence": "스타트업명 신뢰도",
    "partner_confidence": "협업기관 신뢰도",
    "details_confidence": "협업내용 신뢰도",
    "date_confidence": "날짜 신뢰도",
    "needs_review": "검토필요",
    "email_id": "Email ID",
    "message_url": "Message URL",
    "is_portfolio": "Is Portfolio?",
    "is_affiliate": "Shinsegae affiliates?",
}
"""Which column each of our fields has, unless `NOTION_FIELD_MAP` says otherwise."""
COMPANY_FIELDS: Final = frozenset({"is_portfolio", "is_affiliate"})
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "title": ("title",),
    "person": ("people",),
    "startup": ("relation",),
    "partner": ("relation",),
    "details": ("rich_text",),
    "summary": ("rich_text",),
    "date": ("date",),
    "type": ("select", "status"),
    "intensity": ("select", "status"),
    **{f"{name}_confidence": ("number",) for name in CONFIDENCES},
    "needs_review": ("checkbox",),
    "email_id": ("rich_text",),
    "message_url": ("url",),
    "is_portfolio": ("checkbox",),
    "is_affiliate": ("checkbox",),
}
"""What a column must be to take a field."""


class InvalidFieldMap(ValueError):
    """`NOTION_FIELD_MAP` is no object from our fields to columns."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, its kind, and what may be chosen in it."""

    name: str
    kind: str
    options: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A data source of a database, with its columns by name."""

    id: str
    database_id: str
    columns: Mapping[str, Column]

    def column(self, field: str, fields: Mapping[str, str]) -> Column | None:
        """Return the column of a field, or None where there is none of the right kind."""
        found = self.columns.get(fields[field])
        if found is not None and found.kind in KINDS[field]:
            return found
        if field == "title":  # there is always exactly one, whatever it is called
            return next((each for each in self.columns.values() if each.kind == "title"), None)
        return None

    def required(self, field: str, fields: Mapping[str, str]) -> Column:
        """Return the column of a field; raises `MissingColumn`."""
        found = self.column(field, fields)
        if found is None:
            raise MissingColumn(fields[field], kind=KINDS[field][0])
        return found

    def missing(self, fields: Mapping[str, str]) -> list[str]:
        """Return the columns of a row that are not there, or are of another kind."""
        return [
            fields[field]
            for field in fields
            if field not in COMPANY_FIELDS and self.column(field, fields) is None
        ]


def source_of(document: Mapping[str, Any], *, database_id: str) -> Source:
    """Return a data source from Notion's answer."""
    columns = {}
    for name, found in document["properties"].items():
        kind = str(found["type"])
        inner = found.get(kind)
        options = inner.get("options", ()) if isinstance(inner, Mapping) else ()
        columns[name] = Column(name, kind, tuple(str(each["name"]) for each in options))
    return Source(str(document["id"]), database_id, columns)


def field_map(given: str | None) -> dict[str, str]:
    """Return which column each field has; `given` is a JSON object with what differs."""
    fields = dict(DEFAULT_FIELDS)
    if not given or not given.strip():
        return fields
    try:
        changes = json.loads(given)
    except (ValueError, RecursionError):
        raise InvalidFieldMap("NOTION_FIELD_MAP is no JSON") from None
    if not isinstance(changes, dict):
        raise InvalidFieldMap("NOTION_FIELD_MAP has to be an object from fields to columns")
    for field, column in changes.items():
        if field not in fields:
            raise InvalidFieldMap(f"NOTION_FIELD_MAP names {field!r}, and there is no such field")
        if not isinstance(column, str) or not column.strip():
            raise InvalidFieldMap(f"NOTION_FIELD_MAP has no column for {field!r}")
        fields[field] = column
    return fields
