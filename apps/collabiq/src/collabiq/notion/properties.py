"""From what is known of a mail to the properties of its row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, NamedTuple

from collabiq.mail.text import one_line
from collabiq.notion.schema import CONFIDENCES, Column, Source
from collabiq.notion.text import option_name, text_objects

MAX_TITLE: Final = 300
REQUIRED: Final = ("title", "email_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowValues:
    """What a row shall say; None and nothing are left empty."""

    email_id: str
    title: str
    person_ids: Sequence[str] = ()
    startup_ids: Sequence[str] = ()
    partner_ids: Sequence[str] = ()
    details: str = ""
    summary: str = ""
    date: date | None = None
    type: str | None = None
    intensity: str | None = None
    confidences: Mapping[str, float] = field(default_factory=dict)
    needs_review: bool = False
    message_url: str | None = None


class Built(NamedTuple):
    """Properties, and which columns were missing for them."""

    properties: dict[str, Any]
    missing: list[str]
    """Columns that are not there, or are of another kind."""
    lost: list[str]
    """Those of them that would have got a value."""


def row_properties(values: RowValues, source: Source, fields: Mapping[str, str]) -> Built:
    """Return the properties of a row, without those whose columns are not there.

    Raises `MissingColumn` for the two columns that no row can do without. What is lost makes a
    row one to look at: `needs_review` is set then.
    """
    for name in REQUIRED:
        source.required(name, fields)
    properties: dict[str, Any] = {}
    missing: list[str] = []
    lost: list[str] = []
    for name, value in _values(values).items():
        column = source.column(name, fields)
        if column is None:
            missing.append(fields[name])
            lost += [fields[name]] if _says(value) else []
        elif _says(value):
            built = _property(column, value)
            if built is None:
                lost.append(column.name)
            else:
                properties[column.name] = built
    review = source.column("needs_review", fields)
    if review is None:
        missing.append(fields["needs_review"])
    else:
        properties[review.name] = {"checkbox": values.needs_review or bool(lost)}
    return Built(properties, missing, lost)


def collaboration_type(
    *,
    startup_is_portfolio: bool,
    partner_is_portfolio: bool,
    partner_is_affiliate: bool,
    options: Sequence[str] = (),
) -> str:
    """Return the kind of a collaboration, as the option of the schema that has its letter."""
    if startup_is_portfolio and partner_is_affiliate:
        letter = "[A]"
    elif startup_is_portfolio and partner_is_portfolio:
        letter = "[C]"
    elif startup_is_portfolio:
        letter = "[B]"
    else:
        letter = "[D]"
    return next((option for option in options if option.strip().startswith(letter)), letter)


def _values(values: RowValues) -> dict[str, Any]:
    return {
        "title": one_line(values.title, limit=MAX_TITLE) or "-",
        "email_id": values.email_id,
        "person": values.person_ids,
        "startup": values.startup_ids,
        "partner": values.partner_ids,
        "details": values.details,
        "summary": values.summary,
        "date": values.date,
        "type": values.type,
        "intensity": values.intensity,
        **{f"{name}_confidence": values.confidences.get(name) for name in CONFIDENCES},
        "message_url": values.message_url,
    }


def _says(value: object) -> bool:
    return value is not None and (not isinstance(value, str | Sequence) or len(value) > 0)


def _property(column: Column, value: Any) -> dict[str, Any] | None:  # noqa: ANN401 - by kind
    """Return a value as its column takes it, or None where it cannot be said there."""
    match column.kind:
        case "title" | "rich_text":
            return {column.kind: text_objects(str(value))}
        case "people" | "relation":
            return {column.kind: [{"id": each} for each in value]}
        case "date":
            return {"date": {"start": value.isoformat()}}
        case "number":
            return {"number": round(float(value), 2)}
        case "select":
            return {"select": {"name": option_name(str(value))}}
        case "status":  # Notion makes no options here
            return {"status": {"name": value}} if value in column.options else None
        case _:
            return {column.kind: value}
