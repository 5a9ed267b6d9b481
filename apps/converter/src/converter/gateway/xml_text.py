"""Text as XML 1.0 may hold it."""

from __future__ import annotations

import re
from typing import Final

_ILLEGAL: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# A parser turns a bare CR into LF, and white space in attributes into spaces.
_IN_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_ATTRIBUTE: Final = _IN_TEXT | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def legal(text: str) -> str:
    """Return the text without the characters that no XML document can hold, even escaped."""
    return _ILLEGAL.sub("", text)


def escaped(text: str) -> str:
    """Return the text as content of an element; what a parser reads is `legal(text)`."""
    return legal(text).translate(_IN_TEXT)


def escaped_attribute(text: str) -> str:
    """Return the text as an attribute's value in double quotes; a parser reads `legal(text)`."""
    return legal(text).translate(_IN_ATTRIBUTE)
