"""Secrets that the program knows: hidden wherever they occur, also encoded."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import quote

from holdfast.redaction.likeness import zeroed
from holdfast.redaction.marker import Inspection, Kind
from holdfast.redaction.patterns.looks import is_maskable

_MIN_CORE_LENGTH: Final = 8
_PERCENT: Final = re.compile(r"%[0-9A-F]{2}")
_START_LENGTH: Final = 8
"""How much of the beginning of a form is looked for among all beginnings; nearly all are longer."""
_FEW_FORMS: Final = 128
"""So many forms are looked for one by one in less time than it takes to cut up the text."""


class _Form(NamedTuple):
    """One way in which a secret is written; an encoded one is hidden with what is around it."""

    written: str
    value: str
    alike: str
    """It with other digits, as texts that differ in their numbers only are one text."""
    is_core: bool = False


class KnownValues:
    """Secrets and the ways in which they are written; those too plain to be hidden are left out."""

    __slots__ = ("_alike", "_written", "longest", "values")

    def __init__(self, values: Iterable[str]) -> None:
        self.values: Final = frozenset(value for value in values if is_maskable(value))
        self.longest: Final = max(map(len, self.values), default=0)
        forms = [form for value in self.values for form in _forms(value)]
        self._written: Final = _Index((form.written, form) for form in forms)
        self._alike: Final = _Index((form.alike, form) for form in forms)

    def redact(self, text: str, inspection: Inspection) -> str:
        """Return the text without any of the secrets."""
        found = self._written.found_in(text)
        for form in sorted(found, key=_plainest_first):
            marker = inspection.mark(Kind.KNOWN, form.value)
            if form.is_core:
                text = re.sub(_whole(form.written), marker, text)
            else:
                text = text.replace(form.written, marker)
        return text

    def may_occur_in(self, alike: str) -> bool:
        """Return whether any of the secrets may be in a text like this one but for digits."""
        return bool(self._alike.found_in(alike))


class _Index:
    """Forms by what is looked for. Of many it tries only those whose beginning is in the text.

    So looking for a thousand secrets takes little longer than looking for one.
    """

    __slots__ = ("_all", "_short", "_starts")

    def __init__(self, forms: Iterable[tuple[str, _Form]]) -> None:
        self._all: Final = list(forms)
        self._short: Final[list[tuple[str, _Form]]] = []
        self._starts: Final[dict[str, list[tuple[str, _Form]]]] = {}
        if len(self._all) <= _FEW_FORMS:
            return
        for each in self._all:
            if len(each[0]) < _START_LENGTH:
                self._short.append(each)
            else:
                self._starts.setdefault(each[0][:_START_LENGTH], []).append(each)

    def found_in(self, text: str) -> list[_Form]:
        """Return the forms that are in the text."""
        return [form for written, form in self._candidates(text) if written in text]

    def _candidates(self, text: str) -> list[tuple[str, _Form]]:
        if not self._starts:
            return self._all
        last = len(text) - _START_LENGTH
        parts = {text[at : at + _START_LENGTH] for at in range(last + 1)}
        begun = self._starts.keys() & parts
        return [*self._short, *(each for start in begun for each in self._starts[start])]


def _plainest_first(form: _Form) -> tuple[bool, int, str]:
    """The order in which forms are hidden: one that holds another goes before it, as a whole."""
    return form.is_core, -len(form.written), form.written


@lru_cache(maxsize=2048)
def _forms(value: str) -> tuple[_Form, ...]:
    plain = (value, *_escapes(value))
    return (
        *(_Form(form, value, zeroed(form)) for form in plain),
        *(_Form(core, value, zeroed(core), is_core=True) for core in _cores(value)),
    )


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
    yield from forms - {value}


def _cores(value: str) -> Iterator[str]:
    """What of the value's base64 does not depend on what stands before or after it."""
    data = value.encode("utf-8", "surrogatepass")
    cores = {data.hex(), data.hex().upper()}
    for offset in range(3):
        encoded = base64.b64encode(bytes(offset) + data).decode("ascii")
        first = (offset * 8 + 5) // 6
        last = (offset + len(data)) * 8 // 6
        cores |= {encoded[first:last], encoded[first:last].translate(_FOR_ADDRESSES)}
    yield from (core for core in cores if len(core) >= _MIN_CORE_LENGTH)


_FOR_ADDRESSES: Final = str.maketrans("+/", "-_")


def _whole(core: str) -> str:
    """Return the core with the characters around it that still hold bits of the secret."""
    return rf"[A-Za-z0-9+/_\-]{{0,2}}{re.escape(core)}[A-Za-z0-9+/_\-]{{0,2}}={{0,2}}"
