"""How much of a text is another's, or the same again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

from grading.scoring.texts.text import AnalysedText, words_of

GRAM: Final = 5
"""How many words in a row are compared."""
_MIN_SENTENCE_WORDS: Final = 3


def copied_share(words: Sequence[str], source: str) -> float:
    """Return which share of the 5-grams of a text is in a source; 0 for fewer than five words."""
    grams = _grams(words)
    if not grams:
        return 0.0
    known = set(_grams(words_of(source)))
    return sum(gram in known for gram in grams) / len(grams)


def repeated_share(analysed: AnalysedText) -> float:
    """Return which share of a text repeats what came before in it.

    By sentences, by the words in them, and by 5-grams, which notice also what is repeated without
    punctuation; the largest share counts.
    """
    sentences = [
        each.words for each in analysed.sentences if len(each.words) >= _MIN_SENTENCE_WORDS
    ]
    by_words = [word for sentence in _repeats(sentences) for word in sentence]
    total = sum(map(len, sentences))
    return max(
        _extra_share(sentences),
        len(by_words) / total if total else 0.0,
        _extra_share(_grams(analysed.words)),
    )


def _grams(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + GRAM]) for at in range(len(words) - GRAM + 1)]


def _extra_share(items: Sequence[Hashable]) -> float:
    return (len(items) - len(set(items))) / len(items) if items else 0.0


def _repeats(sentences: Iterable[tuple[str, ...]]) -> Iterable[tuple[str, ...]]:
    seen: set[tuple[str, ...]] = set()
    for sentence in sentences:
        if sentence in seen:
            yield sentence
        seen.add(sentence)
