"""A text taken apart: words, sentences and paragraphs, in linear time for any characters."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

_WORD: Final = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_SENTENCE: Final = re.compile(r"[^.!?\n\r\u2028\u2029]+[.!?]*")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LINE: Final = re.compile(r"[^\n\r\u2028\u2029]+")
_APOSTROPHES: Final = str.maketrans(
    dict.fromkeys("\u2018’\u02bc`\u00b4\uff07", "'") | dict.fromkeys("\u2010\u2011", "-")
)
_MAX_MARKS: Final = 3
_MIN_PARAGRAPH_WORDS: Final = 12

MAX_WORD_CHARACTERS: Final = 40
"""A longer word is no word of any language; it counts as one and is looked up nowhere."""


class Sentence(NamedTuple):
    """A sentence: where it stands in the text as it was given, and its words in lower case."""

    start: int
    end: int
    words: tuple[str, ...]


@dataclass(frozen=True)
class AnalysedText:
    """A text and what it consists of."""

    text: str
    sentences: tuple[Sentence, ...]
    paragraphs: int
    """Lines of a dozen words or more."""

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All words in lower case, in order."""
        return tuple(word for sentence in self.sentences for word in sentence.words)

    @cached_property
    def plain(self) -> str:
        """The words with single spaces between them, none too long for a pattern."""
        return " ".join(word[:MAX_WORD_CHARACTERS] for word in self.words)

    def passage(self, sentence: Sentence, *, max_characters: int = 400) -> str:
        """Return a sentence as it stands in the text, cut to a length."""
        return self.text[sentence.start : sentence.end].strip()[:max_characters].strip()


def analyse(text: str) -> AnalysedText:
    """Return the parts of a text."""
    sentences = tuple(
        Sentence(found.start(), found.end(), words)
        for found in _SENTENCE.finditer(text)
        if (words := words_of(found[0]))
    )
    paragraphs = sum(
        len(_WORD.findall(line[0])) >= _MIN_PARAGRAPH_WORDS for line in _LINE.finditer(text)
    )
    return AnalysedText(text, sentences, paragraphs)


def encodable(text: str) -> str:
    """Return the text with a replacement for each half of a character, which nothing can store."""
    return _SURROGATE.sub("\ufffd", text)


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case; characters that nobody sees are left out."""
    return tuple(_WORD.findall(visible(text).lower()))


def visible(text: str) -> str:
    """Return the text without invisible characters, accents composed and apostrophes alike."""
    if text.isascii():
        return text
    kept: list[str] = []
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        if category == "Cf":
            continue
        # Composing sorts marks that follow each other, which takes long for a long run of them.
        marks = marks + 1 if category == "Mn" else 0
        if marks <= _MAX_MARKS:
            kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_APOSTROPHES)
