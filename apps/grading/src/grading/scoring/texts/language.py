"""Whether a text is English."""

from __future__ import annotations

from typing import Final

from grading.scoring.texts.dictionary import is_known
from grading.scoring.texts.text import AnalysedText, Sentence, visible

_MIN_KNOWN_SHARE: Final = 0.6
"""Of the words of a sentence, for it to be taken for English without a closer look."""
_MIN_FOREIGN_SHARE: Final = 0.5
"""Of the words of a text in sentences of other languages, for it not to be English."""
_MAX_CHARACTERS: Final = 4_000
_ENGLISH: Final = "en"


def is_english(analysed: AnalysedText) -> bool:
    """Return whether at least half of the words are in English sentences.

    The dictionary says which sentences may not be; of those the identifier decides, so that bad
    spelling is not taken for another language. A text without words is not another language.
    """
    doubtful = [each for each in analysed.sentences if not _is_plainly_english(each)]
    foreign_words = sum(len(each.words) for each in doubtful)
    if foreign_words < _MIN_FOREIGN_SHARE * len(analysed.words) or not analysed.words:
        return True
    passages = " ".join(analysed.text[each.start : each.end] for each in doubtful)
    return _language_of(visible(passages)[:_MAX_CHARACTERS]) == _ENGLISH


def _is_plainly_english(sentence: Sentence) -> bool:
    known = sum(map(is_known, sentence.words))
    return known >= _MIN_KNOWN_SHARE * len(sentence.words)


def _language_of(text: str) -> str:
    # Loading it and its model takes seconds, and English texts do not need it.
    import py3langid  # type: ignore[import-untyped]  # noqa: PLC0415 - as above

    code, _ = py3langid.classify(text.lower().encode("utf-8", "ignore"))
    return str(code)
