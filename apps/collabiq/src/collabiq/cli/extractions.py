"""What was found out about a mail, as a terminal shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from collabiq.cli.output import facts, line, table
from collabiq.cli.times import shown_time
from collabiq.extract import Extraction

_FIELDS: Final = (
    ("person_in_charge", "person"),
    ("startup_name", "startup"),
    ("partner_org", "partner"),
    ("date", "date"),
    ("collaboration_intensity", None),
    ("details", "details"),
    ("summary", None),
)
_MATCHED: Final = ("startup", "partner", "person")
_MAX_ERRORS: Final = 10
_WIDEST: Final = 70
_SURE: Final = 0.85
_LIKELY: Final = 0.6


def print_extraction(found: Extraction) -> None:
    """Print the fields of an extraction, each with how sure it is."""
    print_fields(found.to_document())


def print_fields(found: Mapping[str, Any]) -> None:
    """Print the fields of an extraction's document."""
    confidence = found.get("confidence") or {}
    table(
        ("FIELD", "VALUE", "SURE"),
        (
            (
                field,
                shortened(found.get(field)),
                sure_words(confidence.get(name)) if name and found.get(field) else "",
            )
            for field, name in _FIELDS
        ),
    )


def sure_words(share: float | None) -> str:
    """Return a confidence as a number with a word."""
    if share is None:
        return ""
    word = "sure" if share >= _SURE else "likely" if share >= _LIKELY else "a guess"
    return f"{share:.2f} {word}"


def value_text(value: Mapping[str, Any]) -> str:
    """Return the value of a property as people read it."""
    [(kind, inner)] = value.items()
    match kind:
        case "title" | "rich_text":
            return "".join(each["text"]["content"] for each in inner)
        case "select" | "status":
            return str(inner["name"])
        case "date":
            return str(inner["start"])
        case "checkbox":
            return "yes" if inner else "no"
        case _:
            return str(inner)


def shortened(value: object, *, widest: int = _WIDEST) -> str:
    """Return a value on one line, cut where it is long."""
    text = " ".join(str("" if value is None else value).split())
    return text if len(text) <= widest else f"{text[: widest - 1]}…"


def print_email(found: Mapping[str, Any], *, text: bool) -> None:
    """Print all that is known of a mail."""
    facts(
        [
            ("id", found["email_id"]),
            ("subject", found["subject"]),
            ("from", found["from"]),
            ("received", shown_time(found["received_at"])),
            ("status", found["status"]),
            ("why", found["reason"]),
            ("for review", "; ".join(found["review"])),
            ("row", found["page_url"]),
            ("dead letter", found["dlq_id"]),
        ]
    )
    if found["extraction"]:
        line()
        print_fields(found["extraction"])
    if found["matches"]:
        line()
        table(
            ("NAME", "AS THE MAIL HAS IT", "IS", "SCORE"),
            (_match_row(name, found["matches"][name]) for name in _MATCHED),
        )
    if text and found["cleaned"]:
        line()
        line(found["cleaned"]["text"])
    for record in found["errors"][:_MAX_ERRORS]:
        line(f"{shown_time(record['timestamp'])}  {record['severity']}  {record['message']}")


def _match_row(name: str, match: Mapping[str, Any]) -> tuple[object, ...]:
    found = match["found"]
    if found is None:
        return name, match["name"], "several fit" if match["ambiguous"] else "-", ""
    return name, match["name"], found["name"], f"{found['score']:.2f}"
