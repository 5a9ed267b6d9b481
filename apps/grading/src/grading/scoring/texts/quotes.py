"""Where a quote stands in a text, if it does."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from functools import cached_property
from typing import Final, NamedTuple

_ALIKE: Final = (
    dict.fromkeys("\u2018’\u02bc`\u00b4\uff07", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb\uff02", '"')
    | {"\u2010": "-", "\u2011": "-"}
)
_AROUND: Final = " \"'.\u2026"
_MAX_TRIES: Final = 50


class Span(NamedTuple):
    """A place in a text, in characters."""

    offset: int
    length: int


class Quotable:
    """A text in which quotes are looked up.

    Case, the kind of quotation marks, the kind and number of blanks, and invisible characters make
    no difference, because models change them; anything else does.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def holds(self, quote: str) -> bool:
        """Return whether a quote is in the text."""
        # Most quotes are exact, and then the text need not be folded.
        return (_has_word(quote) and quote in self._text) or self.find(quote) is not None

    def find(self, quote: str, *, after: int = 0) -> Span | None:
        """Return the first place of a quote at or after an offset, whole words preferred."""
        wanted = _fold(quote)[0].strip(_AROUND)
        if not _has_word(wanted):
            return None
        folded, origins = self._folded
        at = _place(wanted, folded, bisect_left(origins, after))
        if at is None:
            return None
        return Span(origins[at], origins[at + len(wanted) - 1] + 1 - origins[at])

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        return _fold(self._text)


def _has_word(quote: str) -> bool:
    return any(map(str.isalnum, quote))


def _place(wanted: str, text: str, start: int) -> int | None:
    """Return where a quote stands in a text: as whole words, or else anywhere."""
    first = at = text.find(wanted, start)
    for _ in range(_MAX_TRIES):
        if at < 0:
            break
        before, behind = text[at - 1 : at], text[at + len(wanted) : at + len(wanted) + 1]
        if not (before.isalnum() or behind.isalnum()):
            return at
        at = text.find(wanted, at + 1)
    return None if first < 0 else first


def _fold(text: str) -> tuple[str, list[int]]:
    """Return the text as it is compared, and for each of its characters where it comes from."""
    folded: list[str] = []
    origins: list[int] = []
    after_blank = True
    for index, character in enumerate(text):
        if character.isspace():
            if not after_blank:
                folded.append(" ")
                origins.append(index)
            after_blank = True
            continue
        if not character.isascii() and unicodedata.category(character) == "Cf":
            continue
        after_blank = False
        alike = _ALIKE.get(character) or character.lower()
        folded.append(alike)
        origins.extend([index] * len(alike))
    return "".join(folded), origins
