"""Whether a text is about what it was meant to be about, by the words it shares with the prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from grading.scoring.texts.listed import listed
from grading.scoring.texts.text import words_of

_SUFFIXES: Final = ("ingly", "ings", "ing", "edly", "ed", "ies", "es", "s", "ly")
_MIN_STEM: Final = 3
_MAX_STEM: Final = 5
_GENERIC: Final = frozenset(
    listed(
        "a about after all also always an and answer any are as at away back be because been "
        "before best better between both but by can choice choose come could day describe "
        "discuss do does each every everybody example examples experience explain extent few "
        "first for from get give go good had has have her him his how idea ideas if in include "
        "into is it its just know knowledge last less let life like main make many may me more "
        "most much must my new next not now number of often on one opinion or other others our "
        "out over own part people person place point prefer problem reason reasons relevant say "
        "second see several she should so some such support take talk than that the their them "
        "then there these they thing things think this those three time to today too topic two "
        "up use useful usually very view views want was way we well were what when where "
        "whether which while who why will with within without would write year years you young "
        "your"
    )
)
"""Words that say nothing about a topic."""
_MIN_WORDS: Final = 40
"""Of fewer words nobody can say what they are about."""
_MIN_DISTINCT: Final = 2
_MIN_SHARE: Final = 0.05
"""Packaged samples hold twice that of their own topic; of another one the median holds 0.03."""


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return what forms of a word have in common: a few letters of its beginning."""
    word = word.removesuffix("'s")
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _MIN_STEM:
            word = word[: -len(suffix)]
            break
    if word.endswith("e") and len(word) > _MIN_STEM:
        word = word[:-1]
    return word[:_MAX_STEM]


def content_stems(words: Iterable[str]) -> list[str]:
    """Return the stems of the words that say something about a topic, in order."""
    return [stem(word) for word in words if word not in _GENERIC and len(word) >= _MIN_STEM]


def topic_stems(*, prompt: str, requirements: Sequence[str], keywords: Sequence[str]) -> set[str]:
    """Return the stems that a text about this prompt can be expected to hold some of."""
    source = " ".join((prompt, *requirements, *keywords))
    return set(content_stems(words_of(source)))


def is_off_topic(words: Sequence[str], topic: set[str]) -> bool:
    """Return whether a text of some length shares next to nothing with its topic."""
    if len(words) < _MIN_WORDS or not topic:
        return False
    stems = content_stems(words)
    hits = [each for each in stems if each in topic]
    return len(set(hits)) < _MIN_DISTINCT or len(hits) < _MIN_SHARE * len(stems)
