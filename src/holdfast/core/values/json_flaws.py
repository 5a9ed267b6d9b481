"""What keeps a value or a text from being an acceptable JSON document, and where.

Nothing here is fast, and nothing here recurses: it runs once something is known or suspected to
be wrong, on input that may have been made to hurt.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from holdfast.core.values.failure import clean_text
from holdfast.errors import InvalidValue

MAX_DEPTH: Final = 256
"""The deepest nesting any limit may allow: the codec recurses in both directions."""
MAX_BYTES: Final = 2**31 - 1
MAX_INTEGER_DIGITS: Final = 4_300

_TOO_LONG_INTEGER: Final = 10**MAX_INTEGER_DIGITS
_BAD_CHARACTER: Final = re.compile("[\x00\ud800-\udfff]")
_SHOWN_LENGTH: Final = 200
_LONGEST_ESCAPE: Final = len("\\ud800")

_TOKEN: Final = re.compile(
    r"""[ \t\n\r]*+(?:
        (?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")
      | (?P<number>-?[0-9]++(?P<real>(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+))
      | (?P<mark>[\[\]{}:,])
      | (?P<word>-?[A-Za-z]++)
    )""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Limits:
    """How large and how deep a document may be; `[[]]` is two deep."""

    max_bytes: int = 1_048_576
    max_depth: int = 64

    def __post_init__(self) -> None:
        for name, most in (("max_bytes", MAX_BYTES), ("max_depth", MAX_DEPTH)):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= most:
                limit = f"a whole number from 1 to {most}"
                raise InvalidValue("Limits", field=name, value=value, limit=limit)


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is wrong: where, what was found, what would be right."""

    path: str
    found: str
    limit: str
    position: str | None = None


class _Trouble(NamedTuple):
    found: str
    limit: str


def find_in_value(root: object, limits: Limits) -> Flaw | None:
    """Return the first flaw of a Python value; None when there is none.

    Size is judged only roughly, by the number of values: each takes a byte at least.
    """
    room = limits.max_bytes
    path: list[object] = []
    containers: list[Iterator[tuple[object, object]]] = [iter([("", root)])]
    while containers:
        entry = next(containers[-1], None)
        if entry is None:
            containers.pop()
            del path[-1:]
            continue
        key, value = entry
        path.append(key)
        if not isinstance(value, dict | list | tuple):
            trouble = _trouble_of_scalar(value)
            if trouble is not None:
                return Flaw(_pointer(path[1:]), *trouble)
            path.pop()
            continue
        room -= len(value)
        if room < 0:
            return too_large(f"more than {limits.max_bytes} values", limits)
        if len(containers) > limits.max_depth:
            return Flaw(_pointer(path[1:]), *_too_deep(limits))
        if isinstance(value, dict):
            trouble = next(filter(None, map(_trouble_of_key, value)), None)
            if trouble is not None:
                return Flaw(_pointer(path[1:]), *trouble)
            containers.append(iter(value.items()))
        else:
            containers.append(iter(enumerate(value)))
    return None


@dataclass(slots=True)
class _Container:
    """An object or array being read, and where in it the reader stands."""

    is_object: bool
    index: int = 0
    key: str | None = None
    keys: set[str] = field(default_factory=set)

    @property
    def token(self) -> object:
        return self.key if self.is_object else self.index


def find_in_text(source: str, limits: Limits) -> Flaw | None:
    """The first flaw of a JSON text that a parser would let through or choke on, with its place.

    Syntax is not judged: the search ends at the first character that begins no token.
    """
    containers: list[_Container] = []
    end = 0
    while (token := _TOKEN.match(source, end)) is not None:
        end = token.end()
        trouble = _trouble_of_token(token, containers, limits)
        if trouble is not None:
            path = _pointer([each.token for each in containers])
            return Flaw(path, *trouble, position_in(source, token.start(str(token.lastgroup))))
    return None


def position_in(source: str, offset: int) -> str:
    """An offset as people count it."""
    line = source.count("\n", 0, offset) + 1
    column = offset - source.rfind("\n", 0, offset)
    return f"line {line} column {column}"


def too_large(found: str, limits: Limits) -> Flaw:
    """Return the flaw of a document that is over its size limit."""
    return Flaw("", found, f"at most {limits.max_bytes} bytes")


def _trouble_of_token(
    token: re.Match[str], containers: list[_Container], limits: Limits
) -> _Trouble | None:
    kind = str(token.lastgroup)
    text = token[kind]
    match kind:
        case "string":
            return _trouble_of_string_token(text, containers)
        case "number":
            return _trouble_of_number_token(text, real=bool(token["real"]))
        case "word":
            return _infinite(text) if text.lstrip("-") in {"NaN", "Infinity"} else None
        case _:
            return _trouble_of_mark(text, containers, limits)


def _trouble_of_mark(mark: str, containers: list[_Container], limits: Limits) -> _Trouble | None:
    if mark in "[{":
        if len(containers) == limits.max_depth:
            return _too_deep(limits)
        containers.append(_Container(is_object=mark == "{"))
    elif containers and mark in "]}":
        containers.pop()
    elif containers and mark == ",":
        containers[-1].index += 1
        containers[-1].key = None
    return None


def _trouble_of_string_token(token: str, containers: list[_Container]) -> _Trouble | None:
    try:
        text = json.loads(token)
    except ValueError:
        return None
    if containers and containers[-1].is_object and containers[-1].key is None:
        innermost = containers[-1]
        innermost.key = text
        if text in innermost.keys:
            return _Trouble(f"the key {_shown(text)} twice", "an object whose keys differ")
        innermost.keys.add(text)
    return _trouble_of_text(text)


def _trouble_of_number_token(token: str, *, real: bool) -> _Trouble | None:
    if real:
        return None if math.isfinite(float(token)) else _infinite(token)
    digits = len(token.lstrip("-"))
    return None if digits <= MAX_INTEGER_DIGITS else _too_long(f"{digits}")


def _trouble_of_scalar(value: object) -> _Trouble | None:
    match value:
        case None | bool():
            return None
        case str():
            return _trouble_of_text(value)
        case int():
            fits = -_TOO_LONG_INTEGER < value < _TOO_LONG_INTEGER
            return None if fits else _too_long(f"more than {MAX_INTEGER_DIGITS}")
        case float():
            return None if math.isfinite(value) else _infinite(float.__repr__(value))
        case _:
            found = f"a value of type {_type_name(value)}"
            return _Trouble(found, "null, a boolean, a number, a string, a list or a dict")


def _trouble_of_key(key: object) -> _Trouble | None:
    if isinstance(key, str):
        return _trouble_of_text(key)
    return _Trouble(f"a key of type {_type_name(key)}", "an object whose keys are strings")


def _trouble_of_text(text: str) -> _Trouble | None:
    bad = _BAD_CHARACTER.search(text)
    if bad is None:
        return None
    name = "a NUL character" if bad.group() == "\0" else "a lone surrogate"
    limit = "text without NUL characters and lone surrogates"
    return _Trouble(f"{name} in {_shown(text)}", limit)


def _too_long(digits: str) -> _Trouble:
    limit = f"an integer of at most {MAX_INTEGER_DIGITS} digits"
    return _Trouble(f"an integer of {digits} digits", limit)


def _infinite(number: str) -> _Trouble:
    return _Trouble(clean_text(number, _SHOWN_LENGTH), "a finite number")


def _too_deep(limits: Limits) -> _Trouble:
    depth = limits.max_depth
    return _Trouble(f"nesting deeper than {depth}", f"nested at most {depth} deep")


def _type_name(value: object) -> str:
    kind = type(value)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return clean_text(f"{module}{kind.__qualname__}", _SHOWN_LENGTH)


def _shown(text: str) -> str:
    """Return the text, whole or not at all: part of it could be part of a secret."""
    if len(text) > _SHOWN_LENGTH:
        return f"a text of {len(text)} characters"
    return f'"{clean_text(text, len(text) * _LONGEST_ESCAPE)}"'


def _pointer(path: Sequence[object]) -> str:
    """Return the path as a JSON pointer that is safe to print, as far as whole names fit."""
    pointer = ""
    for token in path:
        name = str(token).replace("~", "~0").replace("/", "~1")
        name = clean_text(name, len(name) * _LONGEST_ESCAPE)
        if len(pointer) + len(name) >= _SHOWN_LENGTH:
            return f"{pointer}/…"
        pointer = f"{pointer}/{name}"
    return pointer
