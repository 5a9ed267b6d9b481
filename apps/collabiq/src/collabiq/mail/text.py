"""Text without characters that nothing downstream may get."""

from __future__ import annotations

import re
from typing import Final

REPLACEMENT: Final = "\ufffd"
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]+")
_INVISIBLE: Final = re.compile(
    "["
    "\u00ad\u034f\u061c\u180e"  # soft hyphen, joiner, marks of Arabic and Mongolian
    "\u200b-\u200f"  # zero-width characters and marks of direction
    "\u202a-\u202e"  # embeddings and overrides of direction
    "\u2060-\u206f"  # word joiner, isolates
    "\ufeff\ufff9-\ufffb"  # byte order mark, annotations
    "\U000e0000-\U000e007f"  # tags
    "]+"
)
_LINE_ENDS: Final = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")


def plain(text: str) -> str:
    """Return a text with newlines as its only line ends, without controls and lone surrogates."""
    return without_surrogates(_CONTROLS.sub("", _LINE_ENDS.sub("\n", text)))


def without_surrogates(text: str) -> str:
    """Return a text that can be encoded: halves of pairs are joined, or replaced when alone."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def one_line(text: str, *, limit: int) -> str:
    """Return a text as a title may have it: one line, nothing invisible, at most so long."""
    return " ".join(visible(plain(text)).split())[:limit].rstrip()


def visible(text: str) -> str:
    """Return a text without characters that have no width or turn the direction around."""
    return _INVISIBLE.sub("", text)
