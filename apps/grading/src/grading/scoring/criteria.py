"""The scores of the criteria: the formula, and nothing that a model said in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grading.llm.task import AssessTask
from grading.scoring.checked import CheckedEvidence
from grading.scoring.rounding import half_step
from grading.scoring.texts.text import AnalysedText

ANCHORS: Final = (0.0, 2.5, 4.5, 6.0, 7.5, 9.5)
"""The score that each level from 0 to 5 begins with."""
_STEP: Final = 0.5
_FEW_ERRORS_PER_100: Final = 1.0
_SOME_ERRORS_PER_100: Final = 4.0
_MANY_ERRORS_PER_100: Final = 8.0
_MAX_UNMET: Final = 2.0
_MAX_MISSING_WORDS: Final = 2.0
_MAX_IRRELEVANT: Final = 2
_PARAGRAPHS: Final = {1: 2, 2: 3}
"""How many paragraphs a letter and an essay need for the best score."""


def writing_scores(
    checked: CheckedEvidence,
    *,
    levels: dict[str, int],
    analysed: AnalysedText,
    task: AssessTask,
) -> dict[str, float]:
    """Return the score of each criterion of an essay."""
    words = len(analysed.words)
    grammar, vocabulary = _per_100(checked, words)
    paragraphs = analysed.paragraphs >= _PARAGRAPHS.get(task.number, 1)
    return {
        "taskFulfillment": half_step(
            ANCHORS[levels["taskFulfillment"]] + _task_change(checked, words=words, task=task)
        ),
        "organization": half_step(
            ANCHORS[levels["organization"]] + (_STEP if paragraphs else -_STEP)
        ),
        "vocabulary": half_step(ANCHORS[levels["vocabulary"]] + _error_change(vocabulary)),
        "grammar": half_step(ANCHORS[levels["grammar"]] + _error_change(grammar)),
    }


def spoken_scores(
    checked: CheckedEvidence, *, levels: dict[str, int], words: int
) -> dict[str, float]:
    """Return the scores of the criteria that a transcript says something about."""
    grammar, vocabulary = _per_100(checked, words)
    return {
        "grammar": half_step(ANCHORS[levels["grammar"]] + _error_change(grammar)),
        "vocabulary": half_step(ANCHORS[levels["vocabulary"]] + _error_change(vocabulary)),
        "discourse": half_step(
            ANCHORS[levels["discourse"]] + (_STEP - _MAX_UNMET * (1 - _met_share(checked)))
        ),
    }


def median_level(levels: Sequence[int]) -> int:
    """Return the middle one of some levels, the lower one of two."""
    return sorted(levels)[(len(levels) - 1) // 2]


def _task_change(checked: CheckedEvidence, *, words: int, task: AssessTask) -> float:
    change = -_MAX_UNMET * (1 - _met_share(checked))
    missing = 1 - words / task.minimum_words if task.minimum_words else 0.0
    change -= min(max(missing, 0.0) * 5, _MAX_MISSING_WORDS)
    change -= _STEP * min(checked.irrelevant, _MAX_IRRELEVANT)
    if task.number == 2 and not checked.position_clear:  # noqa: PLR2004 - letters take none
        change -= _STEP
    return change if change < 0 else _STEP


def _met_share(checked: CheckedEvidence) -> float:
    met = checked.met.values()
    return sum(met) / len(met) if met else 1.0


def _per_100(checked: CheckedEvidence, words: int) -> tuple[float, float]:
    """Return how many mistakes of grammar and of vocabulary there are in a hundred words."""
    of_words = sum(each.is_of_vocabulary for each in checked.errors)
    scale = 100 / max(words, 1)
    return (len(checked.errors) - of_words) * scale, of_words * scale


def _error_change(per_100: float) -> float:
    if per_100 < _FEW_ERRORS_PER_100:
        return _STEP
    if per_100 < _SOME_ERRORS_PER_100:
        return 0.0
    return -_STEP if per_100 < _MANY_ERRORS_PER_100 else -2 * _STEP
