"""Limits of the score that follow from the text itself, whatever a model found in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from grading.llm.task import AssessTask
from grading.result import MAX_SCORE
from grading.scoring.texts.language import is_english
from grading.scoring.texts.overlap import copied_share, repeated_share
from grading.scoring.texts.text import AnalysedText
from grading.scoring.texts.topic import is_off_topic, topic_stems


class Cap(StrEnum):
    """Why a score is limited."""

    TOO_SHORT = "too_short"
    OFF_TOPIC = "off_topic"
    COPIED_PROMPT = "copied_prompt"
    REPEATED = "repeated"
    NOT_ENGLISH = "not_english"
    NO_SPEECH = "no_speech"


LIMITS: Final[Mapping[Cap, float]] = {
    Cap.TOO_SHORT: 4.0,
    Cap.OFF_TOPIC: 3.5,
    Cap.COPIED_PROMPT: 3.5,
    Cap.REPEATED: 4.0,
    Cap.NOT_ENGLISH: 3.0,
    Cap.NO_SPEECH: 0.0,
}
"""The highest score, of the answer and of each criterion, that goes with a cap."""
_MIN_LENGTH_SHARE: Final = 0.3
_MAX_COPIED_SHARE: Final = 0.6
_MAX_REPEATED_SHARE: Final = 0.5


def caps_of(
    analysed: AnalysedText, task: AssessTask, *, called_off_topic: bool = False
) -> list[Cap]:
    """Return the caps of a text; `called_off_topic` says that the model found it off topic.

    A model can add that cap, and can take none away.
    """
    found = []
    words = analysed.words
    if len(words) < _MIN_LENGTH_SHARE * task.minimum_words:
        found.append(Cap.TOO_SHORT)
    english = is_english(analysed)
    topic = topic_stems(prompt=task.prompt, requirements=task.requirements, keywords=task.keywords)
    # What is written in another language shares no words with the prompt, whatever it is about.
    if called_off_topic or (english and is_off_topic(words, topic)):
        found.append(Cap.OFF_TOPIC)
    if copied_share(words, task.prompt) >= _MAX_COPIED_SHARE:
        found.append(Cap.COPIED_PROMPT)
    if repeated_share(analysed) >= _MAX_REPEATED_SHARE:
        found.append(Cap.REPEATED)
    if not english:
        found.append(Cap.NOT_ENGLISH)
    return found


def limit_of(caps: Iterable[Cap]) -> float:
    """Return the highest score that these caps leave."""
    return min((LIMITS[each] for each in caps), default=MAX_SCORE)
