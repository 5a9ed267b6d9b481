"""Lines for people: short, without what terminals obey, databases refuse or pages turn round."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final

MAX_LINE_CHARACTERS: Final = 400
_MAX_LINES: Final = 6
_KEPT: Final = frozenset("\n\t")
_REMOVED: Final = frozenset({"Cc", "Cf", "Cs"})


def clean(text: str, *, max_characters: int | None = MAX_LINE_CHARACTERS) -> str:
    """Return a text without control, formatting and surrogate characters, cut to a length."""
    cut = text[:max_characters]
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(
        character
        for character in cut
        if character in _KEPT or unicodedata.category(character) not in _REMOVED
    )


def lines_of(groups: Iterable[Iterable[str]]) -> list[str]:
    """Return the different lines of several runs, in order, and not too many of them."""
    lines = (clean(line).strip() for group in groups for line in group)
    return list(dict.fromkeys(filter(None, lines)))[:_MAX_LINES]
