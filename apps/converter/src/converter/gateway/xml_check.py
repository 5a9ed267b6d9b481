"""Whether bytes are XML that may be kept and handed on: well-formed, bounded, without a DTD.

Without a DTD there are no entities but the five of XML itself, so nothing can grow when it is
read, and nothing can be fetched. Bytes are looked at as they arrive, and none are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from xml.parsers import expat

from converter.gateway.limits import MEBIBYTE

MAX_BYTES: Final = 64 * MEBIBYTE
MAX_DEPTH: Final = 256
MAX_ELEMENTS: Final = 5_000_000
MAX_TAG_BYTES: Final = MEBIBYTE
"""Expat reads an unfinished tag anew with every piece that arrives, and keeps all of it."""
_PART_BYTES: Final = 64 * 1024


class XmlRefused(Exception):
    """The bytes are not XML that may be kept; the text is one line and says why."""


class XmlCheck:
    """Looks at XML piece by piece: `feed` all of it, then `close`. Both raise `XmlRefused`."""

    def __init__(
        self,
        *,
        max_bytes: int = MAX_BYTES,
        max_depth: int = MAX_DEPTH,
        max_elements: int = MAX_ELEMENTS,
    ) -> None:
        self._max_bytes = max_bytes
        self._bytes = self._parsed = 0
        # What the parser calls must not lead back to it: only the cycle collector would free both.
        seen = _Seen(max_depth=max_depth, max_elements=max_elements)
        parser = expat.ParserCreate()
        parser.StartElementHandler = seen.start
        parser.EndElementHandler = seen.end
        parser.StartDoctypeDeclHandler = _doctype
        # Unreachable without a DTD; here should a parser ever disagree about what one is.
        parser.EntityDeclHandler = _entity
        parser.ExternalEntityRefHandler = _external
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self._parser = parser

    def feed(self, piece: bytes) -> None:
        """Look at the next bytes."""
        self._bytes += len(piece)
        if self._bytes > self._max_bytes:
            raise XmlRefused(f"there are more than {self._max_bytes} bytes of it")
        for start in range(0, len(piece), _PART_BYTES):
            self._parse(piece[start : start + _PART_BYTES])

    def close(self) -> None:
        """Look at the whole of it: everything that was begun has to have ended."""
        self._parse(b"", last=True)

    def _parse(self, piece: bytes, *, last: bool = False) -> None:
        try:
            self._parser.Parse(piece, last)
        # Python looks up encodings that expat does not know, and fails in ways of its own.
        except (expat.ExpatError, LookupError, ValueError) as error:
            raise XmlRefused(f"it is not well-formed: {error}") from error
        self._parsed += len(piece)
        if self._parsed - self._parser.CurrentByteIndex > MAX_TAG_BYTES:
            raise XmlRefused(f"it has a tag or a comment of more than {MAX_TAG_BYTES} bytes")


class _Seen:
    """What a parser has come across."""

    __slots__ = ("_depth", "_elements", "_max_depth", "_max_elements")

    def __init__(self, *, max_depth: int, max_elements: int) -> None:
        self._max_depth, self._max_elements = max_depth, max_elements
        self._depth = self._elements = 0

    def start(self, _name: str, _attributes: dict[str, str]) -> None:
        self._depth += 1
        self._elements += 1
        if self._depth > self._max_depth:
            raise XmlRefused(f"its elements are nested more than {self._max_depth} deep")
        if self._elements > self._max_elements:
            raise XmlRefused(f"it has more than {self._max_elements} elements")

    def end(self, _name: str) -> None:
        self._depth -= 1


def _doctype(*_declared: object) -> None:
    raise XmlRefused("it has a document type declaration")


def _entity(*_declared: object) -> None:
    raise XmlRefused("it declares entities")


def _external(*_referred: object) -> int:
    raise XmlRefused("it refers to something outside itself")


def check_xml(pieces: bytes | Iterable[bytes], *, max_bytes: int = MAX_BYTES) -> None:
    """Raise `XmlRefused` unless all the bytes together are XML that may be kept."""
    check = XmlCheck(max_bytes=max_bytes)
    for piece in [pieces] if isinstance(pieces, bytes) else pieces:
        check.feed(piece)
    check.close()
