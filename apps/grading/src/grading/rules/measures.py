"""What can be counted in a text: the numbers that levels are read off."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final

from grading.rules.linking import LINKING, STRUCTURES
from grading.scoring.texts.dictionary import is_known, is_rare
from grading.scoring.texts.text import AnalysedText

_WINDOW: Final = 50
_CAPITALISED: Final = re.compile(r"\b[A-Z][a-z]{1,39}\b")
_MIN_WORD: Final = 3
_LONG_WORD: Final = 8
_MAX_REPEATS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Counts and shares, from 0 to 1."""

    words: int
    sentences: int
    sentence_words: float
    """The mean length of a sentence."""
    paragraphs: int
    diversity: float
    """The share of different words, in windows of fifty."""
    rare_share: float
    """Of words that are not among the five thousand most common ones."""
    long_share: float
    """Of words of eight letters or more."""
    misspelt: tuple[str, ...]
    misspelt_share: float
    linking: tuple[str, ...]
    """Different ones, in order of appearance."""
    structures: tuple[str, ...]
    """Kinds that occur."""
    structures_per_100: float
    """How often they occur in a hundred words, each kind three times at most."""


def measure(analysed: AnalysedText) -> Measures:
    """Return the measures of a text, in time that grows with its length."""
    words = analysed.words
    plain = analysed.plain
    misspelt = _misspelt(analysed)
    counts = Counter(words)
    seen = {name: len(pattern.findall(plain)) for name, pattern in STRUCTURES.items()}
    total = max(len(words), 1)
    sentences = len(analysed.sentences)
    return Measures(
        words=len(words),
        sentences=sentences,
        sentence_words=len(words) / max(sentences, 1),
        paragraphs=analysed.paragraphs,
        diversity=_diversity(words),
        rare_share=sum(
            min(number, _MAX_REPEATS) for word, number in counts.items() if is_rare(word)
        )
        / total,
        long_share=sum(
            min(number, _MAX_REPEATS) for word, number in counts.items() if len(word) >= _LONG_WORD
        )
        / total,
        misspelt=misspelt,
        misspelt_share=sum(counts[word] for word in misspelt) / total,
        linking=tuple(dict.fromkeys(LINKING.findall(plain))),
        structures=tuple(name for name, number in seen.items() if number),
        structures_per_100=100 * sum(min(n, _MAX_REPEATS) for n in seen.values()) / total,
    )


def _misspelt(analysed: AnalysedText) -> tuple[str, ...]:
    """Return the words that the dictionary does not have; what is written as a name is one."""
    names = {name.lower() for name in _CAPITALISED.findall(analysed.text)}
    different = dict.fromkeys(analysed.words)
    return tuple(
        word
        for word in different
        if len(word) >= _MIN_WORD and word not in names and not is_known(word)
    )


def _diversity(words: tuple[str, ...]) -> float:
    """Return the mean share of different words in windows of fifty that slide over the text."""
    if len(words) <= _WINDOW:
        # As in a window that the rest of is the same word again, so that short is not diverse.
        return len(set(words)) / _WINDOW
    inside = Counter(words[:_WINDOW])
    total = len(inside)
    for at in range(_WINDOW, len(words)):
        inside[words[at]] += 1
        leaving = words[at - _WINDOW]
        inside[leaving] -= 1
        if not inside[leaving]:
            del inside[leaving]
        total += len(inside)
    return total / (len(words) - _WINDOW + 1) / _WINDOW
