"""Patterns of many words that are searched for at once.

A scan tries every branch of a pattern at every character. Branches that begin with different
letters, level by level, fail at the first one, and whole stretches of text can be skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_ANY: Final = ""
# The sooner a letter of ordinary text meets its branch, the fewer are tried.
_COMMON_FIRST: Final = {letter: place for place, letter in enumerate("etaoinsrhldcumfpgwybvkxjqz")}


def words(text: str) -> tuple[str, ...]:
    """The words of a text: a table of words is read more easily than one of quotes and commas."""
    return tuple(text.split())


def any_of(alternatives: Iterable[str | tuple[str, str]]) -> str:
    """A pattern for any of the words, longest first; a pair is a word and a pattern after it."""
    root: dict[str, _Branch] = {}
    tails: list[str] = []
    for alternative in alternatives:
        word, tail = (alternative, _ANY) if isinstance(alternative, str) else alternative
        branches, ends = root, tails
        for letter in word:
            branch = branches.setdefault(letter, _Branch())
            branches, ends = branch.branches, branch.tails
        ends.append(tail)
    return _joined(root, tails)


class _Branch:
    __slots__ = ("branches", "tails")

    def __init__(self) -> None:
        self.branches: dict[str, _Branch] = {}
        self.tails: list[str] = []


def _joined(branches: dict[str, _Branch], tails: list[str]) -> str:
    longer = [
        re.escape(letter) + _joined(branch.branches, branch.tails)
        for letter, branch in sorted(branches.items(), key=_rarity)
    ]
    options = longer + sorted(tails, key=lambda tail: (not tail, tail))
    return options[0] if len(options) == 1 else f"(?:{'|'.join(options)})"


def _rarity(item: tuple[str, _Branch]) -> tuple[int, str]:
    return _COMMON_FIRST.get(item[0].lower(), len(_COMMON_FIRST)), item[0]
