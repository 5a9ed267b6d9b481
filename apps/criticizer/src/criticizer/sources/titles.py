"""What a change is called, for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx2

from criticizer.sources.contract import FULL_HASH
from criticizer.sources.errors import SourceError
from criticizer.wire import MEBIBYTE

MAX_TITLE_LENGTH: Final = 500
MAX_ANSWER_BYTES: Final = MEBIBYTE
"""Of an answer that is read for the title in it alone."""


def line_of(text: str) -> str:
    """Return the first line of a text, of letters that can be printed."""
    first = next(iter(text.strip().splitlines()), "")[:MAX_TITLE_LENGTH]
    return "".join(letter if letter.isprintable() else " " for letter in first).strip()


def title_in(document: object, *path: str) -> str:
    """Return the first line of the text at this place of a document; empty when there is none."""
    found = document
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return line_of(found) if isinstance(found, str) else ""


def hash_in(body: bytes, name: str) -> str | None:
    """Return the hash of a commit that an answer has under a name; None when it has none."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    found = document.get(name) if isinstance(document, Mapping) else None
    return found if isinstance(found, str) and FULL_HASH.fullmatch(found) else None


def asked_title(ask: Callable[[], bytes], *path: str, otherwise: str) -> str:
    """Return the title in what is answered. A review does not fail for want of it."""
    try:
        document: Any = json.loads(ask())
    except (SourceError, httpx2.HTTPError, ValueError, RecursionError):
        return otherwise
    return title_in(document, *path) or otherwise
