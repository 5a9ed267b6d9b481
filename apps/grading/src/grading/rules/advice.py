"""What the rules say to a learner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grading.llm.task import AssessTask
from grading.rules.measures import Measures
from grading.scoring.evidence import RequirementFound
from grading.states import Skill

_MANY_LINKING: Final = 7
_FEW_LINKING: Final = 4
_MANY_STRUCTURES: Final = 8
_FEW_STRUCTURES: Final = 4
_RICH_SHARE: Final = 0.1
_POOR_SHARE: Final = 0.04
_SHORT_SENTENCE: Final = 8
_MANY_SLIPS: Final = 3
_DEALT_WITH: Final = {True: "dealt with", False: "mentioned"}
"""By whether the answer is long enough to deal with anything."""


def advice_on(
    measures: Measures, task: AssessTask, *, requirements: Sequence[RequirementFound], slips: int
) -> tuple[list[str], list[str], list[str]]:
    """Return strengths, weaknesses and suggestions."""
    strengths: list[str] = []
    weaknesses: list[str] = []
    suggestions: list[str] = []

    def weak(weakness: str, suggestion: str) -> None:
        weaknesses.append(weakness)
        suggestions.append(suggestion)

    missing = [each.requirement for each in requirements if not each.met]
    if requirements and not missing:
        is_long_enough = measures.words >= task.minimum_words
        strengths.append(f"Every point of the task is {_DEALT_WITH[is_long_enough]}.")
    for each in missing[:3]:
        weak(f"Not found in the answer: {each[:300]}.", f"Write about this as well: {each[:300]}.")
    if measures.words < task.minimum_words:
        weak(
            f"The answer has {measures.words} words of at least {task.minimum_words}.",
            "Develop each idea with a reason and an example.",
        )
    if len(measures.linking) >= _MANY_LINKING:
        strengths.append("Ideas are joined by many different linking words.")
    elif len(measures.linking) < _FEW_LINKING:
        weak(
            "Sentences are hardly joined to each other.",
            "Show how sentences belong together: however, therefore, although, for instance.",
        )
    if measures.rare_share >= _RICH_SHARE:
        strengths.append("The vocabulary goes beyond the most common words.")
    elif measures.rare_share < _POOR_SHARE:
        weak("The vocabulary is simple.", "Replace common words such as good, bad and thing.")
    if len(measures.structures) >= _MANY_STRUCTURES:
        strengths.append("Many kinds of structures are used.")
    elif len(measures.structures) < _FEW_STRUCTURES or measures.sentence_words < _SHORT_SENTENCE:
        weak(
            "Most sentences are short and plain.",
            "Join two short sentences with who, which, because or although.",
        )
    if slips >= _MANY_SLIPS:
        weak(f"{slips} mistakes of grammar were found.", "Check the form of each verb again.")
    if measures.misspelt and task.skill is Skill.WRITING:
        weak("Some words are spelt wrongly.", "Look up the marked words in a dictionary.")
    return strengths[:5], weaknesses[:6], suggestions[:6]
