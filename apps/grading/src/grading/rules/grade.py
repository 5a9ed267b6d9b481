"""The offline grader: evidence that rules find, in the form that a model gives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from grading.calls import FREE, RawAnswer
from grading.llm.task import AssessTask
from grading.rules.advice import advice_on
from grading.rules.linking import POSITION
from grading.rules.measures import Measures, measure
from grading.rules.requirements import requirements_in
from grading.rules.slips import slips_in
from grading.scoring.evidence import ErrorFound, Evidence, LevelFound
from grading.scoring.texts.dictionary import suggestion_for
from grading.scoring.texts.text import AnalysedText, analyse, encodable
from grading.scoring.texts.topic import is_off_topic, topic_stems
from grading.states import Skill

NAME: Final = "rules"
_MAX_SPELLING: Final = 20
_TOP_LEVEL: Final = 5
_STEEPNESS: Final = 1.4
"""Middling texts score well in most of what can be counted; this sets them apart from good ones."""
_ENDLESS_SENTENCE: Final = 40
_ESSAY_WORDS: Final = 150
_GREETING: Final = re.compile(r"^\s*(?:dear|hi|hello)\b", re.IGNORECASE)
_CLOSING: Final = re.compile(
    r"\b(?:yours|sincerely|faithfully|regards|best wishes|love)\b", re.IGNORECASE
)
_CLOSING_CHARACTERS: Final = 120


class RulesAssessor:
    """Assesses without a model; costs nothing and needs no network."""

    @property
    def name(self) -> str:
        """`rules`."""
        return NAME

    def assess(
        self,
        task: AssessTask,
        *,
        token: str,  # noqa: ARG002 - nothing is charged
        timeout_s: float,  # noqa: ARG002 - it takes milliseconds
        headers: Mapping[str, str],  # noqa: ARG002 - nothing is sent
    ) -> RawAnswer:
        """Return the evidence as JSON."""
        return RawAnswer(evidence_by_rules(task).model_dump_json(), NAME, dict(FREE))


def evidence_by_rules(task: AssessTask) -> Evidence:
    """Return what the rules find in a text; the same text gives the same evidence."""
    task = task._replace(text=encodable(task.text))
    analysed = analyse(task.text)
    measures = measure(analysed)
    written = task.skill is Skill.WRITING
    slips = slips_in(task.text, written=written)
    requirements = requirements_in(analysed, task)
    topic = topic_stems(prompt=task.prompt, requirements=task.requirements, keywords=task.keywords)
    met = sum(each.met for each in requirements) / max(len(requirements), 1)
    levels = levels_by_rules(
        analysed, task, measures, slips=len(slips), met_share=met if requirements else None
    )
    strengths, weaknesses, suggestions = advice_on(
        measures, task, requirements=requirements, slips=len(slips)
    )
    return Evidence(
        requirements=requirements[:20],
        positionClear=bool(POSITION.search(analysed.plain)),
        onTopic=not is_off_topic(analysed.words, topic),
        levels=[
            LevelFound(
                criterion=criterion,
                level=level,
                quote=_quote(analysed),
                reason=_reason(criterion, measures, slips=len(slips)),
            )
            for criterion, level in levels.items()
        ],
        errors=[*slips, *_spelling(measures)],
        strengths=strengths,
        weaknesses=weaknesses,
        suggestions=suggestions,
    )


def levels_by_rules(
    analysed: AnalysedText,
    task: AssessTask,
    measures: Measures,
    *,
    slips: int,
    met_share: float | None,
) -> dict[str, int]:
    """Return a level from 0 to 5 for each criterion that a text says something about.

    `met_share` is the share of requirements that are met; None where there are none.
    """
    length = _share(measures.words, task.minimum_words)
    # Of few words nobody can see a range.
    shown = _share(measures.words, 0.6 * task.minimum_words)
    per_100 = 100 * slips / max(measures.words, 1)
    long_sentences = _share(measures.sentence_words - 5, 16)
    if measures.sentence_words > _ENDLESS_SENTENCE:
        long_sentences = 0.5
    kinds = _share(len(measures.structures), 12)
    # Letters and speech are plainer than essays.
    scale = 1.0 if task.minimum_words > _ESSAY_WORDS else 0.6
    rich = (
        _share(measures.long_share, 0.22 * scale) + _share(measures.rare_share, 0.18 * scale)
    ) / 2
    joined = _share(len(measures.linking), 14 if task.minimum_words > _ESSAY_WORDS else 10)
    grammar = 0.35 * (1 - _share(per_100, 6)) + 0.45 * kinds + 0.2 * long_sentences
    vocabulary = (
        0.2 * _share(measures.diversity - 0.6, 0.3)
        + 0.6 * rich
        + 0.2 * (1 - _share(measures.misspelt_share, 0.08))
    )
    if task.skill is Skill.SPEAKING:
        fulfilled = 0.5 if met_share is None else met_share
        discourse = 0.5 * joined + 0.3 * fulfilled + 0.2 * length
        values = {"grammar": grammar, "vocabulary": vocabulary, "discourse": discourse}
    else:
        fulfilled = 0.6 * (1.0 if met_share is None else met_share) + 0.4 * length
        form = _form(analysed, task, measures)
        values = {
            "taskFulfillment": fulfilled * (0.4 + 0.3 * rich + 0.3 * kinds),
            "organization": 0.4 * joined + 0.3 * form + 0.3 * kinds,
            "vocabulary": vocabulary,
            "grammar": grammar,
        }
    levels = {name: _level(value * shown) for name, value in values.items()}
    if "taskFulfillment" in levels:
        # Words can be counted; whether what they say is convincing cannot.
        levels["taskFulfillment"] = min(levels["taskFulfillment"], _TOP_LEVEL - 1)
    return levels


def _form(analysed: AnalysedText, task: AssessTask, measures: Measures) -> float:
    """Return how far a text has the form of a letter or of an essay."""
    if task.number == 1:
        greeted = bool(_GREETING.match(analysed.text[:200]))
        closed = bool(_CLOSING.search(analysed.text[-_CLOSING_CHARACTERS:]))
        return (_share(measures.paragraphs, 3) + greeted + closed) / 3
    return _share(measures.paragraphs, 4)


def _share(value: float, whole: float) -> float:
    return min(max(value / whole, 0.0), 1.0) if whole > 0 else 1.0


def _level(share: float) -> int:
    return min(int(share**_STEEPNESS * _TOP_LEVEL + 0.5), _TOP_LEVEL)


def _quote(analysed: AnalysedText) -> str:
    """Return the longest sentence, which shows most of how the learner writes."""
    longest = max(analysed.sentences, key=lambda each: len(each.words), default=None)
    return "" if longest is None else analysed.passage(longest)


def _reason(criterion: str, measures: Measures, *, slips: int) -> str:
    match criterion:
        case "grammar":
            return (
                f"{len(measures.structures)} kinds of structures, "
                f"{measures.sentence_words:.0f} words in a sentence, {slips} mistakes found."
            )
        case "vocabulary":
            return (
                f"{measures.rare_share:.0%} less common words, "
                f"{len(measures.misspelt)} words that the dictionary does not have."
            )
        case "organization" | "discourse":
            return (
                f"{len(measures.linking)} different linking words in {measures.sentences} "
                f"sentences and {measures.paragraphs} paragraphs."
            )
        case _:
            return f"{measures.words} words."


def _spelling(measures: Measures) -> list[ErrorFound]:
    return [
        ErrorFound(
            quote=word[:400],
            kind="spelling",
            message="The dictionary does not have this word.",
            suggestion=suggestion_for(word),
        )
        for word in measures.misspelt[:_MAX_SPELLING]
    ]
