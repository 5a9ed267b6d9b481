"""Whatever is handed in and whatever a model says: a valid result, the same each time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.grading.tests.scoring.grading_texts import (
    ESSAY,
    HOSTILE,
    evidence,
    evidences,
    graded,
    hostile_texts,
    spoken,
)
from grading.llm.task import AssessTask
from grading.result import SPEAKING_CRITERIA, WRITING_CRITERIA, Result
from grading.rules import evidence_by_rules
from grading.scoring.caps import LIMITS
from grading.scoring.rounding import mean_score
from grading.speech import SpeechFacts

odd_floats = st.floats(allow_nan=True, allow_infinity=True)


def assert_valid(result, criteria):
    again = Result.model_validate_json(result.model_dump_json())
    assert again == result
    assert tuple(result.criteriaScores) == criteria
    assert result.overallScore == mean_score(result.criteriaScores.values())
    limit = min((LIMITS[cap] for cap in result.caps), default=10.0)
    assert result.overallScore <= limit
    assert max(result.criteriaScores.values()) <= limit
    assert (result.reviewPriority is not None) == result.reviewRequired


@given(text=hostile_texts, runs=st.lists(evidences, max_size=3))
def test_any_text_and_any_evidence_make_a_valid_result(text, runs):
    result = graded(text, *runs)

    assert_valid(result, WRITING_CRITERIA)
    assert graded(text, *runs) == result
    for each in result.annotations:
        assert each.length > 0
        assert each.offset + each.length <= len(text)


@given(
    text=hostile_texts,
    runs=st.lists(evidences, max_size=2),
    speech=st.builds(
        SpeechFacts,
        seconds=odd_floats,
        speech_seconds=odd_floats,
        pauses=st.integers(-5, 10_000),
        longest_pause_s=odd_floats,
        words_per_minute=odd_floats,
    ),
    confidence=st.none() | st.floats(-1, 2),
)
def test_any_recording_makes_a_valid_result(text, runs, speech, confidence):
    result = spoken(text, *runs, speech=speech, confidence=confidence)

    assert_valid(result, SPEAKING_CRITERIA)
    assert result.basis == {"pronunciation": "estimate"}
    assert spoken(text, *runs, speech=speech, confidence=confidence) == result


@given(text=hostile_texts)
def test_the_rules_find_the_same_in_any_text_each_time(text):
    task = AssessTask.of(ESSAY, text)
    found = evidence_by_rules(task)

    assert evidence_by_rules(task) == found
    result = graded(text, found, grader="rules")
    assert_valid(result, WRITING_CRITERIA)
    assert result.confidenceScore <= 70


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, marks=() if number % 3 == 0 else pytest.mark.slow)
        for number, text in enumerate(HOSTILE)
    ],
    ids=lambda text: ascii(text[:16]),
)
def test_no_text_takes_more_than_linear_time(text):
    graded("Warm up. " * 10)
    whole = (text * (20_000 // max(len(text), 1) + 1))[:20_000] if text else text
    started_at_s = time.process_time()
    graded(whole, evidence_by_rules(AssessTask.of(ESSAY, whole)), evidence(whole))

    assert time.process_time() - started_at_s < 5
