"""Writes XML that is always well-formed, and stops before there is too much of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

from converter.gateway.errors import Reason, Refused
from converter.gateway.xml_text import escaped, escaped_attribute

_FARTHEST_PT: Final = 1_000_000.0

Value = str | int | float | bool


class XmlWriter:
    """Elements one below the other, as UTF-8; raises `Refused` above `max_bytes`.

    Names of elements and attributes are the caller's own; everything else is escaped here.
    """

    def __init__(self, out: BinaryIO, *, max_bytes: int) -> None:
        self._out = out
        self._left = max_bytes
        self._write('<?xml version="1.0" encoding="UTF-8"?>\n')

    @contextmanager
    def element(self, name: str, **attributes: Value) -> Iterator[None]:
        """Write an element around what is written meanwhile."""
        self._write(f"<{name}{_written(attributes)}>\n")
        yield
        self._write(f"</{name}>\n")

    def leaf(self, name: str, text: str = "", **attributes: Value) -> None:
        """Write an element with nothing but text in it."""
        start = f"<{name}{_written(attributes)}"
        end = f">{escaped(text)}</{name}>\n" if text else "/>\n"
        self._write(start + end)

    def _write(self, text: str) -> None:
        # Surrogates cannot be here: they are no characters of XML.
        written = text.encode("utf-8")
        self._left -= len(written)
        if self._left < 0:
            raise Refused(Reason.RESULT_TOO_LARGE)
        self._out.write(written)


def _written(attributes: dict[str, Value]) -> str:
    return "".join(
        f' {name}="{escaped_attribute(_as_text(value))}"' for name, value in attributes.items()
    )


def _as_text(value: Value) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return _decimal(value)
        case _:
            return str(value)


def _decimal(value: float) -> str:
    """Return an `xs:decimal`, which knows neither infinity nor exponents."""
    if math.isnan(value):
        return "0"
    bounded = max(-_FARTHEST_PT, min(_FARTHEST_PT, value))
    short = f"{bounded:.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short
