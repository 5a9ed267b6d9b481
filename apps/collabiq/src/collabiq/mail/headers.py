"""The header fields of a mail or of a part of it, decoded without trusting them."""

from __future__ import annotations

import base64
import binascii
import quopri
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email import policy
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import collapse_rfc2231_value, getaddresses, parsedate_to_datetime
from typing import Final, NamedTuple

from collabiq.mail.charsets import decoded
from collabiq.mail.text import one_line, plain

MAX_BLOCK_BYTES: Final = 256 * 1024
"""Of a header that are read; who sends more has something else in mind."""
MAX_FIELD_CHARACTERS: Final = 64 * 1024
MAX_ADDRESSES: Final = 200
_MAX_NAME: Final = 255
_PARSER: Final = BytesHeaderParser(policy=policy.default)
_WORD: Final = re.compile(r"=\?([^?\s]{1,60})\?([bBqQ])\?([^?\s]*)\?=")
_FIELD: Final = re.compile(rb"(?:^|\n)[!-9;-~]{1,200}[ \t]*:")


class Address(NamedTuple):
    """A person as a header names one."""

    name: str
    address: str


class Headers:
    """Fields by name in lower case, in their order; every value is readable text."""

    def __init__(self, block: bytes) -> None:
        self._fields: list[tuple[str, str]] = []
        parsed = _PARSER.parsebytes(block[:MAX_BLOCK_BYTES])
        for name, raw in parsed.raw_items():
            self._fields.append((name.lower(), _unfolded(str(raw))[:MAX_FIELD_CHARACTERS]))

    def __len__(self) -> int:
        return len(self._fields)

    def raw(self, name: str) -> str:
        """Return the first field of a name without decoding words in it, or nothing."""
        return next((value for found, value in self._fields if found == name), "")

    def every(self, name: str) -> list[str]:
        """Return all fields of a name."""
        return [words(value) for found, value in self._fields if found == name]

    def get(self, name: str) -> str:
        """Return the first field of a name, or nothing."""
        return words(self.raw(name))

    def __contains__(self, name: str) -> bool:
        return any(found == name for found, _ in self._fields)

    def addresses(self, *names: str) -> list[Address]:
        """Return whom the fields name."""
        found = []
        # Words are decoded after the splitting: a name may hold a comma or an angle.
        fields = [value for field, value in self._fields if field in names]
        for name, address in _split_addresses(fields):
            found.append(
                Address(one_line(words(name), limit=_MAX_NAME), one_line(address, limit=320))
            )
            if len(found) == MAX_ADDRESSES:
                break
        return [each for each in found if each.name or each.address]

    def date(self) -> datetime | None:
        """Return when the mail was written, as it says, or None when it does not."""
        try:
            found = parsedate_to_datetime(self.raw("date"))
            return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None

    def content_type(self) -> tuple[str, dict[str, str]]:
        """Return the media type in lower case and its parameters."""
        return _with_parameters(self.raw("content-type"), field="content-type")

    def disposition(self) -> tuple[str, dict[str, str]]:
        """Return `inline`, `attachment` or nothing, and the parameters."""
        return _with_parameters(self.raw("content-disposition"), field="content-disposition")


def looks_like_a_header(raw: bytes) -> bool:
    """Return whether a text begins with a field, as every mail does."""
    return _FIELD.match(raw[:2_000].lstrip(b"\r\n")) is not None


def words(value: str) -> str:
    """Return a field with its encoded words decoded.

    Neighbours of one charset are joined as bytes first: mailers cut within a character.
    """
    if "=?" not in value:
        return plain(value)
    out: list[str] = []
    pending, charset, end = b"", "", 0
    for found in _WORD.finditer(value):
        between = value[end : found.start()]
        language_free = found[1].partition("*")[0].lower()
        if pending and (between.strip() or language_free != charset):
            out.append(decoded(pending, declared=charset))
            pending = b""
        if between.strip() or not end:
            out.append(between)
        pending, charset, end = (
            pending + _word_bytes(found[2], found[3]),
            language_free,
            found.end(),
        )
    if pending:
        out.append(decoded(pending, declared=charset))
    return plain("".join([*out, value[end:]]))


def _word_bytes(encoding: str, text: str) -> bytes:
    ascii_only = text.encode("ascii", "replace")
    if encoding in "bB":
        return unbased(ascii_only)
    return quopri.decodestring(ascii_only, header=True)


def unbased(raw: bytes) -> bytes:
    """Return what base64 stands for, up to where it is none."""
    kept = re.sub(rb"[^A-Za-z0-9+/]", b"", raw)
    kept = kept[: len(kept) - 1] if len(kept) % 4 == 1 else kept
    try:
        return base64.b64decode(kept + b"=" * (-len(kept) % 4))
    except (binascii.Error, ValueError):
        return b""


def _unfolded(raw: str) -> str:
    """Return a field on one line; bytes above 127 are decoded as they look."""
    joined = raw.replace("\r", "").replace("\n", "")
    if joined.isascii():
        return joined
    return decoded(joined.encode("utf-8", "surrogateescape"))


def _split_addresses(fields: list[str]) -> Iterator[tuple[str, str]]:
    for field in fields:
        try:
            yield from getaddresses([field])
        except (ValueError, IndexError, TypeError, AttributeError, RecursionError):
            yield ("", field)


def _with_parameters(value: str, *, field: str) -> tuple[str, dict[str, str]]:
    """Return the value of a field without its parameters, and those, by RFC 2231 where used."""
    carrier = Message()
    try:
        carrier[field] = value[:8_000]
        pairs = carrier.get_params(failobj=[], header=field)
    except (ValueError, TypeError, IndexError, AttributeError, RecursionError):
        return value.partition(";")[0].strip().lower(), {}
    parameters: dict[str, str] = {}
    for name, found in pairs[1:]:
        parameters.setdefault(name.lower(), _parameter(found))
    return (pairs[0][0].strip().lower() if pairs else ""), parameters


def _parameter(found: str | tuple[str | None, str | None, str]) -> str:
    if isinstance(found, str):
        return words(found)
    charset, _, text = found
    try:
        # The text holds the bytes one by one.
        return plain(decoded(text.encode("latin-1"), declared=charset))
    except UnicodeEncodeError:
        return plain(collapse_rfc2231_value(found))
