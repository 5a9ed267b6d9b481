"""The formula: steps, bands, levels, mistakes."""

import pytest

from apps.grading.tests.scoring.grading_texts import (
    SPEECH,
    evidence,
    graded,
    long_text,
    spoken,
)
from grading.result import WRITING_CRITERIA, band_of
from grading.scoring.evidence import ErrorFound, LevelFound
from grading.scoring.rounding import exam_score, half_step, mean_score

TEXT = long_text()


@pytest.mark.parametrize(
    ("value", "step"),
    [
        (6.25, 6.5),
        (6.2499, 6.0),
        (6.75, 7.0),
        (0.24, 0.0),
        (0.25, 0.5),
        (10.0, 10.0),
        (11.0, 10.0),
        (-1.0, 0.0),
        (float("nan"), 0.0),
        (float("inf"), 10.0),
    ],
)
def test_scores_are_half_steps_and_ties_go_up(value, step):
    assert half_step(value) == step


def test_the_overall_score_is_the_mean_of_the_criteria():
    assert mean_score([6.5, 6.5, 6.0, 6.0]) == 6.5
    assert mean_score([6.0, 6.0, 6.0, 6.5]) == 6.0
    assert mean_score([]) == 0.0


@pytest.mark.parametrize(
    ("score", "band"),
    [(0, None), (3.5, None), (4.0, "B1"), (5.5, "B1"), (6.0, "B2"), (8.0, "B2"), (8.5, "C1")],
)
def test_a_score_has_its_band(score, band):
    assert band_of(score) == band


def test_the_second_task_of_an_exam_counts_twice():
    assert exam_score(task1=6.0, task2=7.5) == 7.0
    assert exam_score(task1=10.0, task2=0.0) == 3.5
    assert exam_score(task1=4.0, task2=5.0) == 4.5


def test_a_higher_level_never_scores_less():
    scores = [graded(TEXT, evidence(TEXT, level=level)).overallScore for level in range(6)]

    assert scores == sorted(scores)
    assert scores[0] < 2
    assert scores[5] == 10


def test_a_high_level_that_no_quote_shows_counts_as_a_middle_one():
    unproven = [
        LevelFound(criterion=each, level=5, quote="this is not in the text")
        for each in WRITING_CRITERIA
    ]
    shown = graded(TEXT, evidence(TEXT, level=3))
    result = graded(TEXT, evidence(TEXT, levels=unproven))

    assert result.criteriaScores == shown.criteriaScores
    assert result.confidenceScore < shown.confidenceScore
    assert all(not each["quote"] for each in result.details["criteria"].values())


def test_a_requirement_that_is_not_met_costs_points_of_the_task():
    met = graded(TEXT).criteriaScores
    requirements = [
        each.model_copy(update={"met": number > 1})
        for number, each in enumerate(evidence(TEXT).requirements)
    ]
    unmet = graded(TEXT, evidence(TEXT, requirements=requirements)).criteriaScores

    assert unmet["taskFulfillment"] == met["taskFulfillment"] - 1.5
    assert unmet["grammar"] == met["grammar"]


def test_mistakes_count_where_they_belong_and_only_those_in_the_text():
    errors = [
        ErrorFound(quote="tourism", kind="spelling", message="x"),
        *[ErrorFound(quote="number", kind="grammar", message=f"{n}") for n in range(12)],
        *[ErrorFound(quote="this is invented", kind="spelling", message="x") for _ in range(50)],
    ]
    plain = graded(TEXT).criteriaScores
    result = graded(TEXT, evidence(TEXT, errors=errors))

    assert result.criteriaScores["grammar"] < plain["grammar"]
    assert result.criteriaScores["vocabulary"] == plain["vocabulary"]
    assert len(result.annotations) == 13


def test_a_criterion_that_the_model_left_out_is_decided_by_the_rules():
    some = [each for each in evidence(TEXT).levels if each.criterion != "grammar"]
    result = graded(TEXT, evidence(TEXT, levels=some))

    assert set(result.criteriaScores) == set(WRITING_CRITERIA)
    assert result.criteriaScores["grammar"] > 0


def test_most_of_three_runs_decide():
    runs = [evidence(TEXT, level=level) for level in (4, 4, 1)]

    assert (
        graded(TEXT, *runs).criteriaScores == graded(TEXT, evidence(TEXT, level=4)).criteriaScores
    )


def test_an_essay_below_the_minimum_loses_points_of_the_task():
    short = long_text(160)

    assert (
        graded(short).criteriaScores["taskFulfillment"]
        < graded(TEXT).criteriaScores["taskFulfillment"]
    )
    assert graded(short).caps == []


def test_slow_speech_with_long_pauses_is_less_fluent():
    text = "I usually travel to work by bus and I spent my last holiday at the beach with friends. "
    slow = SPEECH._replace(words_per_minute=45.0, pauses=20, longest_pause_s=7.0)

    assert (
        spoken(text, speech=slow).criteriaScores["fluency"] + 3
        < spoken(text).criteriaScores["fluency"]
    )


def test_pronunciation_is_an_estimate_and_never_high_without_a_measure():
    text = "I usually travel to work by bus and I spent my last holiday at the beach with friends. "
    sure = spoken(text, confidence=1.0)
    unknown = spoken(text, evidence(text, level=5), confidence=None)

    assert sure.basis == {"pronunciation": "estimate"}
    assert sure.criteriaScores["pronunciation"] == 8.0
    assert unknown.criteriaScores["pronunciation"] <= 6.0
    assert spoken(text, confidence=0.4).criteriaScores["pronunciation"] == 3.0
