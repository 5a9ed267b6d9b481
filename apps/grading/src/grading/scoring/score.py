"""Scores from evidence: pure, and for any text a valid result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from grading.llm.task import AssessTask
from grading.result import (
    SPEAKING_CRITERIA,
    WRITING_CRITERIA,
    Annotation,
    Cost,
    Feedback,
    Result,
    Speech,
    band_of,
)
from grading.rules import NAME as RULES
from grading.rules import evidence_by_rules
from grading.scoring.caps import Cap, caps_of, limit_of
from grading.scoring.checked import CheckedEvidence, check
from grading.scoring.combined import combine
from grading.scoring.confidence import (
    confidence_of,
    consistency,
    length_factor,
    plausibility,
    quotes_factor,
    review_of,
)
from grading.scoring.criteria import spoken_scores, writing_scores
from grading.scoring.delivery import fluency_score, has_speech, pronunciation_estimate
from grading.scoring.evidence import Evidence
from grading.scoring.rounding import mean_score
from grading.scoring.texts.lines import clean, lines_of
from grading.scoring.texts.quotes import Quotable
from grading.scoring.texts.text import AnalysedText, analyse, encodable
from grading.speech import SpeechFacts, Transcript
from grading.states import Skill

RUBRIC_VERSION: Final = 1
SPOKEN_CRITERIA: Final = ("grammar", "vocabulary", "discourse")
"""Those of speaking that the transcript says something about."""
_MAX_ANNOTATIONS: Final = 100

_Scoring = Callable[[CheckedEvidence, dict[str, int]], dict[str, float]]


@dataclass(frozen=True, slots=True)
class _Scored:
    """The runs over one text, and the scores that the formula makes of them, before caps."""

    checked: CheckedEvidence
    scores: dict[str, float]
    overalls: list[float]
    """Of each run by itself."""
    by_rules: float | None
    """The overall score by rules; None where the rules graded."""


def score_writing(
    evidences: Sequence[Evidence],
    *,
    text: str,
    question: AssessTask,
    grader: str,
    graded_at: datetime,
    cost: Cost,
) -> Result:
    """Return the result of an essay; the same arguments give the same result.

    `evidences` are those of all runs. It never raises, whatever the text or the evidence holds.
    """
    task = question._replace(skill=Skill.WRITING, text=encodable(text))
    analysed = analyse(task.text)

    def formula(checked: CheckedEvidence, levels: dict[str, int]) -> dict[str, float]:
        return writing_scores(checked, levels=levels, analysed=analysed, task=task)

    scored = _scored(
        evidences, task=task, criteria=WRITING_CRITERIA, formula=formula, grader=grader
    )
    caps = caps_of(analysed, task, called_off_topic=not scored.checked.on_topic)
    factors = _factors(scored, words=len(analysed.words), task=task)
    return Result(
        **_judged(scored.scores if analysed.words else dict.fromkeys(WRITING_CRITERIA, 0.0), caps),
        **_explained(scored, evidences, factors=factors, grader=grader),
        wordCount=len(analysed.words),
        grader=clean(grader),
        gradedAt=graded_at,
        cost=cost,
        rubricVersion=RUBRIC_VERSION,
    )


def score_speaking(
    evidences: Sequence[Evidence],
    *,
    transcript: Transcript,
    speech: SpeechFacts,
    audio_flags: Sequence[str],
    task: AssessTask,
    grader: str,
    graded_at: datetime,
    cost: Cost,
) -> Result:
    """Return the result of a recording; see `score_writing`.

    Fluency is measured on the recording; pronunciation is an estimate, and marked as one.
    """
    task = task._replace(skill=Skill.SPEAKING, text=encodable(transcript.text))
    analysed = analyse(task.text)
    speech = _finite(speech)
    fluency = fluency_score(speech, analysed.words)

    def formula(checked: CheckedEvidence, levels: dict[str, int]) -> dict[str, float]:
        spoken = spoken_scores(checked, levels=levels, words=len(analysed.words))
        others = [*spoken.values(), fluency]
        estimate = pronunciation_estimate(transcript, others)
        known = spoken | {"fluency": fluency, "pronunciation": estimate}
        return {name: known[name] for name in SPEAKING_CRITERIA}

    scored = _scored(evidences, task=task, criteria=SPOKEN_CRITERIA, formula=formula, grader=grader)
    caps = _speaking_caps(analysed, task, scored, speech=speech)
    factors = _factors(scored, words=len(analysed.words), task=task)
    return Result(
        **_judged(scored.scores, caps),
        **_explained(scored, evidences, factors=factors, grader=grader),
        wordCount=len(analysed.words),
        grader=clean(grader),
        gradedAt=graded_at,
        cost=cost,
        rubricVersion=RUBRIC_VERSION,
        basis={"pronunciation": "estimate"},
        transcript=clean(transcript.text, max_characters=None),
        speech=Speech(
            seconds=round(speech.seconds, 2),
            wordsPerMinute=round(speech.words_per_minute, 1),
            pauses=speech.pauses,
            longestPauseSeconds=round(speech.longest_pause_s, 2),
        ),
        audioFlags=[clean(flag) for flag in audio_flags],
    )


def _scored(
    evidences: Sequence[Evidence],
    *,
    task: AssessTask,
    criteria: Sequence[str],
    formula: _Scoring,
    grader: str,
) -> _Scored:
    quotable = Quotable(task.text)

    def checked(evidence: Evidence) -> CheckedEvidence:
        return check(evidence, quotable=quotable, task=task, criteria=criteria)

    runs = [checked(evidence) for evidence in evidences]
    combined = combine(runs) if runs else None
    is_ruled = grader == RULES and combined is not None and combined.levels.keys() >= {*criteria}
    by_rules = None if is_ruled else checked(evidence_by_rules(task))

    def scores(run: CheckedEvidence) -> dict[str, float]:
        # What no run spoke of the rules decide.
        return formula(run, run.levels if by_rules is None else by_rules.levels | run.levels)

    used = combined or by_rules or checked(evidence_by_rules(task))
    return _Scored(
        checked=used,
        scores=scores(used),
        overalls=[mean_score(scores(run).values()) for run in runs],
        by_rules=(
            None if grader == RULES or by_rules is None else mean_score(scores(by_rules).values())
        ),
    )


def _speaking_caps(
    analysed: AnalysedText, task: AssessTask, scored: _Scored, *, speech: SpeechFacts
) -> list[Cap]:
    if not has_speech(speech, words=len(analysed.words)):
        return [Cap.NO_SPEECH]
    return caps_of(analysed, task, called_off_topic=not scored.checked.on_topic)


def _factors(scored: _Scored, *, words: int, task: AssessTask) -> dict[str, float | None]:
    overall = mean_score(scored.scores.values())
    return {
        "consistency": consistency(scored.overalls),
        "quotes": quotes_factor(given=scored.checked.quotes, found=scored.checked.quotes_found),
        "plausibility": (
            None if scored.by_rules is None else plausibility(overall, scored.by_rules)
        ),
        "length": length_factor(words, task.minimum_words),
    }


def _judged(scores: dict[str, float], caps: Sequence[Cap]) -> dict[str, Any]:
    """Return the scores under their caps; each criterion is capped, so that the mean is too."""
    limit = limit_of(caps)
    capped = {name: min(score, limit) for name, score in scores.items()}
    overall = mean_score(capped.values())
    return {
        "overallScore": overall,
        "band": band_of(overall),
        "criteriaScores": capped,
        "caps": [cap.value for cap in caps],
    }


def _explained(
    scored: _Scored,
    evidences: Sequence[Evidence],
    *,
    factors: dict[str, float | None],
    grader: str,
) -> dict[str, Any]:
    """Return the reasons for the scores, and how sure they are."""
    confidence = confidence_of(factors, by_rules=grader == RULES)
    review = review_of(confidence)
    checked = scored.checked
    return {
        "feedback": Feedback(
            strengths=lines_of(evidence.strengths for evidence in evidences),
            weaknesses=lines_of(evidence.weaknesses for evidence in evidences),
            suggestions=lines_of(evidence.suggestions for evidence in evidences),
        ),
        "annotations": [
            Annotation(
                offset=error.span.offset,
                length=error.span.length,
                message=clean(error.found.message),
                suggestion=clean(error.found.suggestion) if error.found.suggestion else None,
            )
            for error in checked.errors[:_MAX_ANNOTATIONS]
        ],
        "confidenceScore": confidence,
        "reviewRequired": review.required,
        "reviewPriority": review.priority,
        "auditFlag": review.audit,
        "details": {
            "confidence": {
                name: None if value is None else round(min(max(value, 0.0), 100.0), 1)
                for name, value in factors.items()
            },
            "criteria": {
                name: {"reason": clean(found.reason), "quote": clean(found.quote)}
                for name, found in checked.reasons.items()
            },
            "requirements": [
                {
                    "requirement": clean(name),
                    "met": share > 0,
                    "quote": clean(checked.requirement_quotes.get(name, "")),
                }
                for name, share in checked.met.items()
            ],
        },
    }


def _finite(speech: SpeechFacts) -> SpeechFacts:
    def number(value: float) -> float:
        return value if math.isfinite(value) and value > 0 else 0.0

    return SpeechFacts(
        seconds=number(speech.seconds),
        speech_seconds=number(speech.speech_seconds),
        pauses=max(speech.pauses, 0),
        longest_pause_s=number(speech.longest_pause_s),
        words_per_minute=number(speech.words_per_minute),
    )
