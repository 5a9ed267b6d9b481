"""Secrets that the program knows: hidden wherever they occur, also encoded."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import quote

from holdfast.core.redaction.looks import is_maskable
from holdfast.core.redaction.marker import Inspection, Kind

_LONG_RUN: Final = re.compile(r"[A-Za-z0-9+/_\-]{8}")
_MIN_CORE_LENGTH: Final = 8
_PERCENT: Final = re.compile(r"%[0-9A-F]{2}")


class _Form(NamedTuple):
    written: str
    value: str
    pattern: re.Pattern[str] | None = None


class KnownValues:
    """Secrets and the ways in which they are written; those too plain to be hidden are left out."""

    __slots__ = ("_encoded", "_escaped", "_plain", "values")

    def __init__(self, values: Iterable[str]) -> None:
        # Longest first: a secret that holds another one goes as a whole.
        kept = sorted({value for value in values if is_maskable(value)}, key=_longest_first)
        self.values: Final = frozenset(kept)
        self._plain: Final = tuple(_Form(value, value) for value in kept)
        self._escaped: Final = tuple(
            _Form(form, value) for value in kept for form in _escapes(value)
        )
        self._encoded: Final = tuple(
            _Form(core, value, re.compile(_whole(core))) for value in kept for core in _cores(value)
        )

    def redact(self, text: str, inspection: Inspection) -> str:
        """The text without any of the secrets."""
        for form in self._plain:
            if form.written in text:
                text = text.replace(form.written, inspection.mark(Kind.KNOWN, form.value))
        if self._escaped and ("\\" in text or "%" in text or "&" in text or "+" in text):
            for form in self._escaped:
                if form.written in text:
                    text = text.replace(form.written, inspection.mark(Kind.KNOWN, form.value))
        if self._encoded and _LONG_RUN.search(text):
            for form in self._encoded:
                if form.pattern is not None and form.written in text:
                    text = form.pattern.sub(inspection.mark(Kind.KNOWN, form.value), text)
        return text


def _longest_first(value: str) -> tuple[int, str]:
    return -len(value), value


def _escapes(value: str) -> Iterator[str]:
    """The value as JSON, Python, addresses and HTML write it, where that differs from itself."""
    in_json = json.dumps(value)[1:-1]
    in_addresses = {
        encoded
        for kept in ("", "!*'()", "!*'()/:@$,;~")
        for quoted in (quote(value, safe=kept, errors="replace"),)
        for encoded in (quoted, quoted.replace("%20", "+"))
    }
    forms = {
        in_json,
        json.dumps(in_json)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
        html.escape(value),
        *in_addresses,
        *(_PERCENT.sub(lambda found: found.group().lower(), form) for form in in_addresses),
        *(quote(form, safe="+") for form in in_addresses),
    }
    yield from sorted(forms - {value}, key=_longest_first)


def _cores(value: str) -> Iterator[str]:
    """What of the value's base64 does not depend on what stands before or after it."""
    data = value.encode("utf-8", "surrogatepass")
    cores = {data.hex(), data.hex().upper()}
    for offset in range(3):
        encoded = base64.b64encode(bytes(offset) + data).decode("ascii")
        first = (offset * 8 + 5) // 6
        last = (offset + len(data)) * 8 // 6
        cores |= {encoded[first:last], encoded[first:last].translate(_FOR_ADDRESSES)}
    yield from sorted((core for core in cores if len(core) >= _MIN_CORE_LENGTH), key=_longest_first)


_FOR_ADDRESSES: Final = str.maketrans("+/", "-_")


def _whole(core: str) -> str:
    """The core with the characters around it that still hold bits of the secret."""
    return rf"[A-Za-z0-9+/_\-]{{0,2}}{re.escape(core)}[A-Za-z0-9+/_\-]{{0,2}}={{0,2}}"
