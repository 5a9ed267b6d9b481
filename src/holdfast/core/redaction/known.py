"""Secrets that the program knows: hidden wherever they occur, also encoded."""

from __future__ import annotations

import base64
import html
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import quote

from holdfast.core.redaction.likeness import zeroed
from holdfast.core.redaction.looks import is_maskable
from holdfast.core.redaction.marker import Inspection, Kind

_MIN_CORE_LENGTH: Final = 8
_PERCENT: Final = re.compile(r"%[0-9A-F]{2}")
_RUN: Final = re.compile(r"[A-Za-z0-9]{1,64}")
_LONG_RUN: Final = 8
"""Most words are shorter, and nearly all secrets are longer."""


class _Form(NamedTuple):
    """One way in which a secret is written; an encoded one is hidden with what is around it."""

    written: str
    value: str
    run: int
    """How many letters and digits it has on end, up to 64."""
    alike: str
    """It with other digits, as texts that differ in their numbers only are one text."""
    is_core: bool = False


class KnownValues:
    """Secrets and the ways in which they are written; those too plain to be hidden are left out."""

    __slots__ = ("_any_long", "_long", "_long_runs", "_short", "longest", "values")

    def __init__(self, values: Iterable[str]) -> None:
        self.values: Final = frozenset(value for value in values if is_maskable(value))
        self.longest: Final = max(map(len, self.values), default=0)
        forms = (form for value in self.values for form in _forms(value))
        by_run = sorted(forms, key=lambda form: form.run)
        runs = [form.run for form in by_run]
        first_long = bisect_left(runs, _LONG_RUN)
        self._short: Final = by_run[:first_long]
        self._long: Final = by_run[first_long:]
        self._long_runs: Final = runs[first_long:]
        shortest = self._long_runs[0] if self._long_runs else _LONG_RUN
        self._any_long: Final = re.compile(f"[A-Za-z0-9]{{{shortest}}}")

    def redact(self, text: str, inspection: Inspection) -> str:
        """The text without any of the secrets."""
        found = [form for form in self._candidates(text) if form.written in text]
        for form in sorted(found, key=_plainest_first):
            marker = inspection.mark(Kind.KNOWN, form.value)
            if form.is_core:
                text = re.sub(_whole(form.written), marker, text)
            else:
                text = text.replace(form.written, marker)
        return text

    def may_occur_in(self, alike: str) -> bool:
        """Tell whether any of the secrets may be in a text that is like this one but for digits."""
        return any(form.alike in alike for form in self._candidates(alike))

    def _candidates(self, text: str) -> list[_Form]:
        """The forms that may be in the text: none that has a longer run than the text itself.

        So looking for a thousand secrets takes little longer than looking for one.
        """
        if not self._long or not self._any_long.search(text):
            return self._short
        longest = max(map(len, _RUN.findall(text)))
        return self._short + self._long[: bisect_right(self._long_runs, longest)]


def _plainest_first(form: _Form) -> tuple[bool, int, str]:
    """The order in which forms are hidden: one that holds another goes before it, as a whole."""
    return form.is_core, -len(form.written), form.written


@lru_cache(maxsize=2048)
def _forms(value: str) -> tuple[_Form, ...]:
    plain = (value, *_escapes(value))
    return (
        *(_Form(form, value, _run_of(form), zeroed(form)) for form in plain),
        *(_Form(core, value, _run_of(core), zeroed(core), is_core=True) for core in _cores(value)),
    )


def _run_of(form: str) -> int:
    """The longest run of letters and digits, as it is counted in texts."""
    return max(map(len, _RUN.findall(form)), default=0)


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
    """The core with the characters around it that still hold bits of the secret."""
    return rf"[A-Za-z0-9+/_\-]{{0,2}}{re.escape(core)}[A-Za-z0-9+/_\-]{{0,2}}={{0,2}}"
