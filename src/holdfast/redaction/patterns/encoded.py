"""Secrets written in another way: base64, compressed, percent-encoded, escaped, coloured."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import unquote

from holdfast.redaction.marker import Inspection, Kind
from holdfast.redaction.patterns import looks

# Four groups of base64 that can only be twelve printable ASCII characters: hashes, identifiers and
# images hardly ever begin so.
_TEXT_GROUP: Final = "[I-Za-f][C-HS-Xi-nyz0-3][ABEFIJMNQRUVYZcdghklopstwx014589]"
_ANY: Final = r"[A-Za-z0-9+/_\-]"
_BREAK: Final = r"(?:\r?\n|(?:\\{1,3}r)?\\{1,3}n)"
_BASE64_TEXT: Final = re.compile(
    rf"{_TEXT_GROUP}(?:(?<![A-Za-z0-9]...)|(?<=\\[nrt]...)){_ANY}(?:{_TEXT_GROUP}{_ANY}){{3}}"
    rf"{_ANY}*+(?:{_BREAK}{_ANY}{{4,76}}){{0,4096}}+={{0,2}}"
)
_LINE_BREAK: Final = re.compile(_BREAK)
# The beginnings of gzip and zlib data.
_COMPRESSED: Final = re.compile(
    r"(?:H4sI|e(?:J[w-z]|AE|F[4-7]|N[o-r]))[A-Za-z0-9+/_\-]{16,}+={0,2}"
)
_FROM_ADDRESSES: Final = str.maketrans("-_", "+/")
_CREDENTIALS: Final = re.compile(r"[^\s:@/]{1,64}:(?P<password>\S{6,256})")
_MAX_INFLATED: Final = 65_536
_GZIP_OR_ZLIB: Final = 47
_DECODING_COSTS: Final = 4
_INFLATING_COSTS: Final = 32

_COLOUR: Final = re.compile(
    r"(?:\x1b|\\\\{0,2}(?:x1[bB]|u001[bB]|033|e)|\^\[)\[[0-9;]{0,16}[A-Za-z]"
)
_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_ESCAPE: Final = re.compile(r"\\(?:u00|x)([2-7][0-9a-fA-F])")
_ENTITIES: Final = {
    "&quot;": '"',
    "&#34;": '"',
    "&#x22;": '"',
    "&#39;": "'",
    "&#x27;": "'",
    "&apos;": "'",
    "&#61;": "=",
    "&#x3D;": "=",
    "&amp;": "&",
}
_PERCENT: Final = re.compile(r"%[2-7C-Fc-f][0-9A-Fa-f]")
_REST_OF_WORD: Final = re.compile(r"\S++")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_MAX_LAYERS: Final = 3


def redact_encoded(text: str, inspection: Inspection, *, redact: Callable[[str], str]) -> str:
    """Return the text without base64 of what `redact` would change, compressed or not."""
    may_be_text = _BASE64_TEXT.search(text)
    may_be_compressed = _COMPRESSED.search(text)
    if not may_be_text and not may_be_compressed:
        return text

    def hide_text(found: re.Match[str]) -> str:
        inspection.step(_DECODING_COSTS)
        encoded = found.group()
        for part in _readings_of(encoded):
            plain = _decoded_text(part)
            if plain is not None:
                return hidden(part, plain) + encoded[len(part) :]
        return encoded

    def hide_compressed(found: re.Match[str]) -> str:
        inspection.step(_INFLATING_COSTS)
        try:
            plain = _inflated(_decoded(found.group()))
        except (ValueError, zlib.error):
            return found.group()
        inspection.scan(len(plain))
        return hidden(found.group(), plain)

    def hidden(encoded: str, plain: str) -> str:
        credentials = _CREDENTIALS.fullmatch(plain)
        secret = credentials is not None and looks.is_random(credentials["password"])
        if secret or redact(plain) != plain:
            return inspection.mark(Kind.ENCODED, encoded)
        return encoded

    if may_be_text:
        text = _BASE64_TEXT.sub(hide_text, text)
    return _COMPRESSED.sub(hide_compressed, text) if may_be_compressed else text


def redact_readings(text: str, inspection: Inspection, *, redact: Callable[[str], str]) -> str:
    """Return the text, read as a person or a program would read it wherever that shows a secret.

    Where `redact` finds nothing in a reading, the text stays as it was written.
    """
    reading = text
    for read in _READINGS:
        shown = read(reading, inspection)
        if shown != reading:
            reading = redact(shown)
            if reading != shown:
                text = reading
    if "%" in text and _PERCENT.search(text):
        text = _redact_percent(text, inspection, redact)
    return text


def without_colours(text: str) -> str:
    """Return the text as a terminal shows it: without colour codes and invisible characters."""
    shown = _COLOUR.sub("", text) if "[" in text else text
    return shown if shown.isascii() else _INVISIBLE.sub("", shown)


def _without_entities(text: str, _inspection: Inspection) -> str:
    if "&" in text:
        for entity, character in _ENTITIES.items():
            text = text.replace(entity, character)
    return text


def _without_escapes(text: str, inspection: Inspection) -> str:
    if "\\" not in text or not _ESCAPE.search(text):
        return text
    inspection.step(text.count("\\u00") + text.count("\\x"))
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)


_READINGS: Final = (_without_entities, _without_escapes)


def _redact_percent(text: str, inspection: Inspection, redact: Callable[[str], str]) -> str:
    pieces: list[str] = []
    copied = 0
    while (found := _PERCENT.search(text, copied)) is not None:
        start = max(copied, *(text.rfind(space, copied, found.start()) + 1 for space in " \t\n\r"))
        rest = _REST_OF_WORD.match(text, found.start())
        end = rest.end() if rest else found.end()
        pieces += (text[copied:start], _without_percent(text[start:end], inspection, redact))
        copied = end
    return "".join((*pieces, text[copied:])) if pieces else text


def _without_percent(word: str, inspection: Inspection, redact: Callable[[str], str]) -> str:
    reading = word
    for _ in range(_MAX_LAYERS):
        inspection.step(2 + reading.count("%"))
        decoded = unquote(reading, errors="replace")
        if decoded == reading:
            break
        reading = decoded
        redacted = redact(reading)
        if redacted != reading:
            return _CONTROL.sub(lambda control: f"%{ord(control.group()):02X}", redacted)
    return word


def _readings_of(encoded: str) -> Iterator[str]:
    """All of it, then its first line: what follows may be another word."""
    yield encoded
    line_break = _LINE_BREAK.search(encoded)
    if line_break is not None:
        yield encoded[: line_break.start()]


def _decoded_text(encoded: str) -> str | None:
    try:
        return _decoded(encoded).decode("utf-8")
    except ValueError:
        return None


def _decoded(encoded: str) -> bytes:
    if "\n" in encoded or "\\" in encoded:
        encoded = _LINE_BREAK.sub("", encoded)
    plain = encoded.rstrip("=").translate(_FROM_ADDRESSES)
    if len(plain) % 4 == 1:
        plain = plain[:-1]
    return base64.b64decode(plain + "=" * (-len(plain) % 4))


def _inflated(data: bytes) -> str:
    plain = zlib.decompressobj(_GZIP_OR_ZLIB).decompress(data, _MAX_INFLATED)
    return plain.decode("utf-8", "replace")
