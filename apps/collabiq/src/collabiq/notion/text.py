"""Texts as Notion takes them: plain, in pieces that fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from collabiq.mail.text import plain

MAX_UNITS: Final = 2_000
"""Of UTF-16 in one text object."""
MAX_OBJECTS: Final = 100
MAX_BLOCKS: Final = 100
MAX_BODY_BYTES: Final = 200_000
"""Of text in the body of a page: a request may have 500 KB in all, and JSON makes it longer."""
CUT: Final = " […]"
_BEYOND_ONE_UNIT: Final = "\uffff"


def pieces(text: str, *, limit: int = MAX_UNITS) -> Iterator[str]:
    """Yield a text in pieces of at most so many UTF-16 units; no character is ever divided."""
    start = 0
    while start < len(text):
        # Half of the limit fits in any case, and all of it where every character is one unit.
        piece = text[start : start + limit]
        while (over := units(piece) - limit) > 0:
            piece = piece[: len(piece) - (over + 1) // 2]
        yield piece
        start += len(piece)


def units(text: str) -> int:
    """Return how many UTF-16 units a text has."""
    return len(text) + sum(character > _BEYOND_ONE_UNIT for character in text)


def text_objects(text: str) -> list[dict[str, Any]]:
    """Return a text as plain text objects; what does not fit is cut off with a mark."""
    found = list(pieces(plain(text)))
    if len(found) > MAX_OBJECTS:
        found = found[:MAX_OBJECTS]
        last = found[-1]
        found[-1] = next(pieces(last, limit=MAX_UNITS - units(CUT))) + CUT
    return [{"type": "text", "text": {"content": piece}} for piece in found]


def body_blocks(text: str) -> list[dict[str, Any]]:
    """Return a text as the paragraphs of a page, as many as one request may have."""
    blocks: list[dict[str, Any]] = []
    paragraphs = [each.strip("\n") for each in plain(text).split("\n\n") if each.strip()]
    left = MAX_BODY_BYTES
    for at, paragraph in enumerate(paragraphs):
        size = len(paragraph.encode())
        is_last = len(blocks) == MAX_BLOCKS - 1 and at < len(paragraphs) - 1
        if is_last or size > left:
            kept = paragraph.encode()[: max(0, left)].decode("utf-8", "ignore")
            blocks.append(_paragraph(kept + CUT))
            break
        blocks.append(_paragraph(paragraph))
        left -= size
    return blocks


def _paragraph(text: str) -> dict[str, Any]:
    return {"object": "block", "type": "paragraph", "paragraph": {"rich_text": text_objects(text)}}


def option_name(text: str) -> str:
    """Return a text as the name of an option: without commas, and not too long."""
    return " ".join(text.replace(",", " ").split())[:100]
