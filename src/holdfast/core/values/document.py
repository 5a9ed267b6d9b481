"""The JSON edge: every payload, result and policy passes here before it may be stored.

What is let through is the same for every database: no NUL, no lone surrogates, no NaN, no
infinity, no keys but strings, bounded in size, depth and digits.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from typing import Final, NoReturn, TypeAlias

from holdfast.core.values.json_flaws import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_INTEGER_DIGITS,
    Flaw,
    Limits,
    find_in_text,
    find_in_value,
    position_in,
    too_large,
)
from holdfast.errors import InvalidDocument

__all__ = ["DEFAULT_LIMITS", "JsonValue", "Limits", "decode", "encode", "fingerprint", "parse"]

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

DEFAULT_LIMITS: Final = Limits()
_WIDEST: Final = Limits(max_bytes=MAX_BYTES, max_depth=MAX_DEPTH)

_SCALARS: Final = frozenset({type(None), bool, int, float, str})
_TEXTS: Final = frozenset({str})
_SCALAR_BASES: Final = (str, int, float)
_CONTAINER_BASES: Final = (dict, list, tuple)
_LONG_DIGITS: Final = re.compile(rf"[0-9]{{{MAX_INTEGER_DIGITS + 1}}}")
# Escapes of NUL and of surrogates, numbers with an exponent of three digits, which ids in quotes
# may look like, and numbers too long for a float.
_SUSPECT: Final = re.compile(
    r"\\u(?:0000|[dD][89a-fA-F])"
    r"|(?:^|[\s,:\[])-?[0-9]++(?:\.[0-9]++)?[eE]\+?0*[1-9][0-9][0-9]"
    r"|[0-9]{309}",
    re.ASCII,
)


_Writer: TypeAlias = Callable[[object, int], Iterable[str]]


def _writer(*, sort_keys: bool) -> _Writer:
    """Return what writes compact JSON, made once: the library would make it for every document.

    It takes the value and the level to begin at, which is 0, and gives the text in pieces.
    """
    # Cycles cannot reach it: depth is checked first.
    encoder = json.JSONEncoder(
        ensure_ascii=False,
        allow_nan=False,
        check_circular=False,
        separators=(",", ":"),
        sort_keys=sort_keys,
    )
    make = json.encoder.c_make_encoder  # type: ignore[attr-defined]
    if make is None:  # pragma: no cover - an interpreter without json's accelerator
        return lambda value, _level: encoder.iterencode(value)
    writer: _Writer = make(
        markers=None,
        default=encoder.default,
        encoder=json.encoder.encode_basestring,
        indent=None,
        key_separator=":",
        item_separator=",",
        sort_keys=sort_keys,
        skipkeys=False,
        allow_nan=False,
    )
    return writer


_compact: Final = _writer(sort_keys=False)
_canonical: Final = _writer(sort_keys=True)


def encode(value: object, *, what: str, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return the value as compact JSON text; `decode` gives it back, with tuples as lists.

    Raises InvalidDocument, which names `what` and the place, for anything JSON cannot carry.
    """
    if value is None:
        return "null"
    return _written(value, _compact, what=what, limits=limits)


def fingerprint(value: object) -> str:
    """A digest that is equal for equal documents, whatever the order of their keys.

    The digest of what `decode(encode(value))` gives is the same. 1 and 1.0 are different documents.
    """
    text = _written(value, _canonical, what="document", limits=_WIDEST)
    return hashlib.sha256(text.encode()).hexdigest()


def decode(text: str) -> JsonValue:
    """Return the value of a text that `encode` wrote; InvalidDocument when it is something else."""
    if text == "null":
        return None
    try:
        return _scanned(text)
    except (ValueError, RecursionError) as error:
        flaw = Flaw("", _described(error), "JSON text as holdfast writes it")
        _refuse(flaw, what="stored document")


def parse(text: str | bytes, *, what: str, limits: Limits = DEFAULT_LIMITS) -> JsonValue:
    """Return the value of JSON text from outside; InvalidDocument says where it is not acceptable.

    Stricter than JSON parsers usually are: a key may occur once in an object, a number must fit,
    and the text must be UTF-8.
    """
    source = _decoded(text, what=what, limits=limits)
    try:
        value: JsonValue = _strict.decode(source)
    except json.JSONDecodeError as error:
        place = position_in(source, error.pos)
        flaw = Flaw("", f"a syntax error: {error.msg}", "valid JSON", place)
        _refuse(find_in_text(source[: error.pos], limits) or flaw, what=what)
    except (ValueError, RecursionError) as error:
        flaw = Flaw("", _described(error), "JSON that can be read safely")
        _refuse(find_in_text(source, limits) or flaw, what=what)
    if _SUSPECT.search(source) or not _is_plain(value, limits):
        found = find_in_text(source, limits)
        if found is not None:
            _refuse(found, what=what)
    return value


def _scanned(text: str) -> JsonValue:
    """The value of JSON text, quickly where nothing surrounds it, which the library looks for."""
    value: JsonValue
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        end = -1
    return value if end == len(text) else _trusting.decode(text)


def _written(value: object, write: _Writer, *, what: str, limits: Limits) -> str:
    try:
        if not _is_plain(value, limits):
            _refuse_value(value, what=what, limits=limits)
        text = "".join(write(value, 0))
        size = len(text) if text.isascii() else len(text.encode())
    except InvalidDocument:
        raise
    except Exception:  # noqa: BLE001 - a container of the user's may raise anything while it is read
        _refuse_value(value, what=what, limits=limits)
    if size > limits.max_bytes:
        _refuse(too_large(f"{size} bytes", limits), what=what)
    if "\\u0000" in text or (size > MAX_INTEGER_DIGITS and _LONG_DIGITS.search(text)):
        flaw = find_in_value(value, limits)
        if flaw is not None:
            _refuse(flaw, what=what)
    return text


def _is_plain(root: object, limits: Limits) -> bool:
    """Whether the value is made of JSON's types with string keys, and neither too deep nor wide."""
    # Most documents are one flat object, and this is done for every one of them.
    return (
        type(root) is dict
        and len(root) <= limits.max_bytes
        and limits.max_depth > 0
        and _TEXTS.issuperset(map(type, root))
        and _SCALARS.issuperset(map(type, root.values()))
    ) or _is_plain_below(root, limits)


def _is_plain_below(root: object, limits: Limits) -> bool:
    """Whether the value is made of JSON's types with string keys, and neither too deep nor wide.

    Level by level, so that cycles and endless nesting stop at the depth limit without recursion;
    every entry takes a byte at least, so that shared parts cannot multiply without bound.
    """
    level: list[object] = [root]
    room = limits.max_bytes
    levels_left = limits.max_depth
    while level:
        below: list[object] = []
        for item in level:
            if type(item) in _SCALARS or isinstance(item, _SCALAR_BASES):
                continue
            if not isinstance(item, _CONTAINER_BASES) or not levels_left:
                return False
            room -= len(item)
            if room < 0:
                return False
            # By sets of types: most documents are flat, and this is done for every one of them.
            if isinstance(item, dict):
                if not _TEXTS.issuperset(map(type, item)) and not _are_texts(item):
                    return False
                entries: Iterable[object] = item.values()
            else:
                entries = item
            if not _SCALARS.issuperset(map(type, entries)):
                below += entries
        level = below
        levels_left -= 1
    return True


def _are_texts(keys: Iterable[object]) -> bool:
    return all(isinstance(key, str) for key in keys)


def _decoded(text: str | bytes, *, what: str, limits: Limits) -> str:
    """Return the text, once its size and its characters are known to be in order."""
    limit = "valid UTF-8"
    if isinstance(text, bytes):
        if len(text) > limits.max_bytes:
            _refuse(too_large(f"{len(text)} bytes", limits), what=what)
        try:
            return text.decode()
        except UnicodeDecodeError as error:
            flaw = Flaw("", f"the byte 0x{text[error.start]:02x}", limit, f"byte {error.start}")
            _refuse(flaw, what=what)
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError as error:
        flaw = Flaw("", "a lone surrogate", limit, position_in(text, error.start))
        _refuse(flaw, what=what)
    if size > limits.max_bytes:
        _refuse(too_large(f"{size} bytes", limits), what=what)
    return text


def _unique(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return result


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_trusting: Final = json.JSONDecoder(parse_constant=_no_constant)
_scan: Final = _trusting.scan_once  # type: ignore[attr-defined] # what `raw_decode` calls
_strict: Final = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_unique)


def _described(error: ValueError | RecursionError) -> str:
    return "nesting too deep to read" if isinstance(error, RecursionError) else str(error)[:200]


def _refuse_value(value: object, *, what: str, limits: Limits) -> NoReturn:
    try:
        flaw = find_in_value(value, limits)
    except Exception:  # noqa: BLE001 - as above
        flaw = None
    unreadable = Flaw("", "a value that fails or changes while it is read", "at rest")
    _refuse(flaw or unreadable, what=what)


def _refuse(flaw: Flaw, *, what: str) -> NoReturn:
    raise InvalidDocument(
        what, path=flaw.path, limit=flaw.limit, found=flaw.found, position=flaw.position
    ) from None
