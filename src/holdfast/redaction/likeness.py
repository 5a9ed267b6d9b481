"""Texts that are one and the same to the redactor, although their numbers differ."""

from __future__ import annotations

import re
from typing import Final

_MAX_LENGTH: Final = 512
_FEW_SMALL_NUMBERS: Final = re.compile(
    r"[^0-9\\%&]*+(?:(?<![\w+/=~.\-])[0-9]{1,6}+(?![\w+/=~\-])[^0-9\\%&]*+){1,2}"
)
"""Numbers that stand alone; a digit behind an escape may be part of any character."""
_DIGITS: Final = re.compile(r"[0-9]++")
_ONE_DIGIT: Final = bytes.maketrans(b"0123456789", b"0000000000")
_OTHER: Final = "729481"
"""Digits without a pattern, and fewer than any number has that is secret by itself."""


def shape_of(text: str) -> bytes:
    """Return what is left of a text when its digits are all the same.

    Texts of one shape are alike, and it is found out many times faster than what they are alike to.
    """
    return text.encode("utf-8", "surrogatepass").translate(_ONE_DIGIT)


def text_of(shape: bytes) -> str:
    """Return a text of this shape."""
    return shape.decode("utf-8", "surrogatepass")


def zeroed(text: str) -> str:
    """Return the text that stands for all of its shape: what is in one of them is in it, zeroed."""
    return text_of(shape_of(text))


def with_other_numbers(text: str) -> str | None:
    """Return the text with other digits in its numbers, the same for all texts that are alike.

    What the redactor takes from the one it takes from the other, but for known values. None when
    the text has no numbers, or such that may be secret themselves.
    """
    if len(text) > _MAX_LENGTH or _FEW_SMALL_NUMBERS.fullmatch(text) is None:
        return None
    rest = _OTHER
    parts: list[str] = []
    end = 0
    for found in _DIGITS.finditer(text):
        start, stop = found.span()
        length = stop - start
        if length > len(rest):
            return None
        parts += (text[end:start], rest[:length])
        rest = rest[length:]
        end = stop
    return "".join((*parts, text[end:]))
