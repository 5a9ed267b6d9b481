"""Tables for spreadsheets: what people and programs stored is shown there, and never run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

MEDIA_TYPE: Final = "text/csv; charset=utf-8"
_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", *"\uff1d\uff0b\uff0d\uff20")
"""With which a spreadsheet takes a text for a formula, or may have it split where one begins;
the last four are those of East Asian keyboards."""


def csv_of(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as RFC 4180 writes them, the names first."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([cell(row.get(name)) for name in names])
    return text.getvalue()


def cell(value: Any) -> str:  # noqa: ANN401 - plain JSON of any shape
    """Return a value as a cell that no spreadsheet runs: a text like a formula gets a quote first.

    Line breaks become spaces, so that a row is a line.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    text = " ".join(str(value).split("\r\n"))
    text = "".join(" " if letter in "\r\n\t\v\f\u2028\u2029" else letter for letter in text)
    return f"'{text}" if text.lstrip().startswith(_STARTS) or text != text.lstrip() else text
