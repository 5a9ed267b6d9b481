"""Text from outside on its way to a terminal, a log or a file's name: nothing in it is obeyed."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Final

# What a terminal obeys, what breaks a line or turns it round, and what cannot be encoded.
_BEYOND_ASCII: Final = "\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_UNSAFE: Final = re.compile(f"[\x00-\x1f{_BEYOND_ASCII}]")
_UNSAFE_IN_JSON: Final = re.compile(f"[{_BEYOND_ASCII}]")
_UNSAFE_IN_NAME: Final = re.compile(r"[^A-Za-z0-9._-]++")


def visible(text: str) -> str:
    """Return `text` on one line, every character that a terminal obeys written as an escape."""
    return _UNSAFE.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), text)


def json_text(value: object) -> str:
    """Return `value` as one line of JSON that is safe to print; what JSON lacks becomes text."""
    text = _encode(value)
    if text.isascii() and "\x7f" not in text:
        return text
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def safe_name(text: str, *, longest: int) -> str:
    """Return `text` as part of a file's name; a digest marks what had to be changed."""
    safe = _UNSAFE_IN_NAME.sub("_", text).strip("._-")[:longest]
    if safe == text and safe:
        return safe
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe or 'unknown'}-{digest}"


def text_of(value: object) -> str:
    """Return `str(value)`, or the name of its type when that raises."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a value's own text may raise anything
        return f"<{type(value).__name__}>"


_encode: Final = json.JSONEncoder(ensure_ascii=False, default=text_of).encode
