"""English words by how common they are, from the dictionary of pyspellchecker."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from spellchecker import SpellChecker

from grading.scoring.texts.listed import listed
from grading.scoring.texts.text import MAX_WORD_CHARACTERS

_COMMON: Final = 10_000
"""How often each of the five thousand most common words was counted for the dictionary."""
_MORE: Final = frozenset(
    listed(
        "app apps blog blogs covid email emails homestay homestays lockdown online smartphone "
        "smartphones upload vlog website websites wifi youtube"
    )
)
_BRITISH: Final = (
    ("isation", "ization"),
    ("our", "or"),
    ("ise", "ize"),
    ("ising", "izing"),
    ("yse", "yze"),
    ("ysing", "yzing"),
    ("tre", "ter"),
    ("ence", "ense"),
    ("ogue", "og"),
    ("lling", "ling"),
    ("lled", "led"),
    ("ller", "ler"),
    ("ramme", "ram"),
    ("scep", "skep"),
)
"""The dictionary has American spellings; others are looked up as those."""


@cache
def speller() -> SpellChecker:
    """Return the speller; the first call takes most of a second."""
    return SpellChecker(language="en", distance=1, case_sensitive=False)


@cache
def _counts() -> dict[str, int]:
    return dict(speller().word_frequency.dictionary)


def is_known(word: str) -> bool:
    """Return whether a word in lower case is English, its parts where it is put together."""
    counts = _counts()
    if len(word) > MAX_WORD_CHARACTERS:
        return False
    if _is_entry(word, counts):
        return True
    if word.endswith("'s"):
        return _is_entry(word[:-2], counts)
    return "-" in word and all(_is_entry(part, counts) for part in word.split("-"))


def _is_entry(word: str, counts: Mapping[str, int]) -> bool:
    return (
        word in counts
        or word in _MORE
        or word[:1].isdecimal()
        or any(
            british in word and word.replace(british, american) in counts
            for british, american in _BRITISH
        )
    )


def is_rare(word: str) -> bool:
    """Return whether a known word is not among the most common ones."""
    return 0 < _counts().get(word, 0) < _COMMON


def suggestion_for(word: str) -> str | None:
    """Return the most common word that is one slip away, or None."""
    if not 3 <= len(word) <= 20:  # noqa: PLR2004 - shorter ones have too many neighbours
        return None
    found = speller().candidates(word) or set()
    counts = _counts()
    best = max(found, key=lambda each: (counts.get(each, 0), each), default=None)
    return None if best in {None, word} else best
