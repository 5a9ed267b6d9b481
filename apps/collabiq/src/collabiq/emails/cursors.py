"""Cursors of lists: where a page ends, and of which list it is one."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from typing import Final

from collabiq.refusals import InvalidCursor

_MAX_CHARACTERS: Final = 512


def written(number: int, *, list_key: Sequence[str | None]) -> str:
    """Return the cursor of a place in a list; `list_key` is what the list was asked for by."""
    text = json.dumps([number, _digest(list_key)], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def number_of(cursor: str, *, list_key: Sequence[str | None]) -> int:
    """Return the place that a cursor names; raises `InvalidCursor` for one of another list."""
    if len(cursor) > _MAX_CHARACTERS:
        raise InvalidCursor
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        number, digest = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError):
        raise InvalidCursor from None
    if type(number) is not int or not 0 <= number < 2**63 or digest != _digest(list_key):
        raise InvalidCursor
    return number


def _digest(list_key: Sequence[str | None]) -> str:
    text = json.dumps(list(list_key), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
