"""Values made of mappings and sequences: names first, then the text inside."""

from __future__ import annotations

import datetime as dt
import decimal
import re
import uuid
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Final

from holdfast.redaction.marker import Exhausted, Inspection, Kind, bare
from holdfast.redaction.patterns.headers import hide_authorization, hide_cookies
from holdfast.redaction.patterns.judgement import HIDES_PARTS, is_hidden
from holdfast.redaction.patterns.key_names import Care, KeyNames, Sensitivity
from holdfast.redaction.patterns.looks import is_random

MAX_DEPTH: Final = 100
MAX_NODES: Final = 250_000

_Items = list[object] | tuple[object, ...]
_Container = Mapping[object, object] | _Items | set[object] | frozenset[object]

_KEPT: Final = (dt.date, dt.time, dt.timedelta, decimal.Decimal, uuid.UUID)
_NAMES_OF_NAMES: Final = ("name", "key", "header", "field", "variable", "Name", "Key")
_NAME: Final = re.compile(r"[\w.\-\s\[\]$]{1,96}:?")
_SMALL: Final = 100_000
_MAYBE_A_CARD: Final = 10**11
_PAIR: Final = 2
_MAX_COOKIES_LENGTH: Final = 65_536
_COOKIE_VALUE: Final = Sensitivity(Kind.COOKIE, Care.ALWAYS)
_HIDING_SMALL_NUMBERS: Final = frozenset({Care.ALWAYS, Care.IF_DIGITS})


class Structure:
    """One walk through a value. It never raises and never follows a circle."""

    __slots__ = ("_inspection", "_names", "_nodes_left", "_on_path", "_text")

    def __init__(
        self, *, text: Callable[[str], str], names: KeyNames, inspection: Inspection
    ) -> None:
        self._text: Final = text
        self._names: Final = names
        self._inspection: Final = inspection
        self._nodes_left = MAX_NODES
        self._on_path: Final[set[int]] = set()

    def redact(self, value: object, *, under: Sensitivity | None = None) -> object:
        """Return the value without its secrets; `under` is what the name before it says of it."""
        self._nodes_left -= 1
        if self._nodes_left < 0:
            return bare(Kind.TOO_MUCH)
        try:
            return self._redact(value, under)
        except Exhausted:
            return bare(Kind.TOO_MUCH)
        except Exception:  # noqa: BLE001 - objects of others may raise anything when looked at
            return bare(Kind.UNREADABLE)

    def _redact(self, value: object, under: Sensitivity | None) -> object:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._of_text(str.__str__(value), under)
        if isinstance(value, int | float):
            return self._of_number(value, under)
        if isinstance(value, bytes | bytearray | memoryview):
            return self._of_bytes(bytes(value), under)
        if isinstance(value, Mapping | list | tuple | set | frozenset):
            return self._of_container(value, under)
        if isinstance(value, _KEPT) and under is None:
            return value
        return self._of_text(str(value), under)

    def _of_text(self, text: str, under: Sensitivity | None) -> str:
        if under is None or not is_hidden(text, under.care, in_prose=False):
            return self._text(text)
        if under.care is Care.AUTHORIZATION:
            return hide_authorization(text, self._inspection)
        if under.care is Care.COOKIE and len(text) <= _MAX_COOKIES_LENGTH:
            return hide_cookies(text, self._inspection)
        return self._inspection.mark(under.kind, text)

    def _of_number(self, number: float, under: Sensitivity | None) -> object:
        counts = abs(number) < (_MAYBE_A_CARD if under is None else _SMALL)
        if counts and (under is None or under.care not in _HIDING_SMALL_NUMBERS):
            return number
        written = str(number)
        shown = self._of_text(written, under)
        return number if shown == written else shown

    def _of_bytes(self, data: bytes, under: Sensitivity | None) -> bytes:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return bare(Kind.BINARY).encode()
        return self._of_text(text, under).encode("utf-8", "surrogatepass")

    def _of_container(self, value: _Container, under: Sensitivity | None) -> object:
        if under is not None and under.care in HIDES_PARTS and len(value):
            return bare(under.kind)
        if id(value) in self._on_path:
            return bare(Kind.CYCLE)
        if len(self._on_path) >= MAX_DEPTH:
            return bare(Kind.TOO_DEEP)
        self._on_path.add(id(value))
        try:
            if isinstance(value, Mapping):
                return self._of_mapping(value, under)
            if isinstance(value, set | frozenset):
                return [self.redact(item, under=under) for item in value]
            items = self._of_items(value, under)
            return tuple(items) if isinstance(value, tuple) else items
        finally:
            self._on_path.discard(id(value))

    def _of_mapping(
        self, mapping: Mapping[object, object], under: Sensitivity | None
    ) -> dict[object, object]:
        result: dict[object, object] = {}
        named = self._named_value(mapping)
        inherited = _COOKIE_VALUE if under is not None and under.care is Care.COOKIE else None
        for key, value in mapping.items():
            inner = inherited or self._sensitivity(key)
            if key == "value" and named is not None:
                inner = named
            shown = self._text(key) if type(key) is str else self._key(key)
            while shown in result:
                shown = f"{shown}'"
            # Most values of most mappings, the quick way.
            if inner is None and type(value) is str and self._nodes_left > 0:
                self._nodes_left -= 1
                result[shown] = self._text(value)
            else:
                result[shown] = self.redact(value, under=inner)
        return result

    def _named_value(self, mapping: Mapping[object, object]) -> Sensitivity | None:
        """What the name in `{"name": …, "value": …}` says of the value."""
        if "value" not in mapping:
            return None
        found = (self._sensitivity(mapping.get(name)) for name in _NAMES_OF_NAMES)
        return next(filter(None, found), None)

    def _key(self, key: object) -> object:
        # What holds several values would not stay a key.
        return self.redact(str(key) if isinstance(key, tuple | frozenset) else key)

    def _of_items(self, items: _Items, under: Sensitivity | None) -> list[object]:
        pair = self._pair(items)
        result = [self.redact(item, under=under) for item in items[:1]]
        for before, item in pairwise(items):
            result.append(self.redact(item, under=pair or self._option(before, item) or under))
        return result

    def _pair(self, items: _Items) -> Sensitivity | None:
        """What the first of two items says of the second, if they are a name and its value."""
        if len(items) != _PAIR:
            return None
        found = self._sensitivity(items[0])
        if found is None or isinstance(items, tuple) or len(self._on_path) > 1:
            return found
        # A list of two texts may be a list of two names.
        return found if is_random(str(items[1])) else None

    def _option(self, option: object, value: object) -> Sensitivity | None:
        """What an option on a command line says of the value after it."""
        if not isinstance(option, str) or not option.startswith("-"):
            return None
        if isinstance(value, str) and value.startswith("-"):
            return None
        return self._sensitivity(option)

    def _sensitivity(self, name: object) -> Sensitivity | None:
        if isinstance(name, bytes):
            name = name.decode("utf-8", "replace")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            return None
        return self._names.sensitivity(name)
