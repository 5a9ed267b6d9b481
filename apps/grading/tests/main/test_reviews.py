from collections.abc import Iterator

import pytest

from apps.grading.tests.sides import RESULT, Main, completed, made_main
from grading.main.review import HumanScores, merge
from grading.main.submissions import HumanGrade
from grading.refusals import Conflict, ValidationRefused, WrongState
from holdfast.testing import ManualClock


@pytest.fixture
def main(database_url: str, clock: ManualClock) -> Iterator[Main]:
    with made_main(database_url, clock=clock, review_below=85) as made:
        yield made


def reviewed(main: Main, confidence: int, key: str) -> str:
    """Return a submission whose result has so much confidence."""
    request = main.requested(key=key)
    main.take(completed(request, result={**RESULT, "confidenceScore": confidence}))
    return request["submissionId"]


def test_little_confidence_waits_for_a_teacher_and_learners_see_no_result(main: Main):
    low, sure = reviewed(main, 40, "a"), reviewed(main, 95, "b")
    view = main.submissions.get(low, owner="lan")

    assert (view.status, main.status(sure)) == ("REVIEW_REQUIRED", "COMPLETED")
    assert view.document()["result"] is None
    assert view.document(for_teacher=True)["result"]["overallScore"] == 6.5
    assert main.submissions.progress_of("lan")["writing"]["count"] == 1


def test_without_reviews_little_confidence_completes(database_url: str, clock: ManualClock):
    with made_main(database_url, clock=clock) as main:
        assert main.status(reviewed(main, 10, "a")) == "COMPLETED"


def test_the_queue_is_by_priority_then_age(main: Main, clock: ManualClock):
    ids = {}
    for confidence in (80, 60, 40, 45):
        clock.advance(1)
        ids[confidence] = reviewed(main, confidence, str(confidence))
    found = [each.view.submission_id for each in main.submissions.pending_reviews()]

    assert found == [ids[40], ids[45], ids[60], ids[80]]


def test_a_claim_keeps_others_away_for_a_quarter_of_an_hour(main: Main, clock: ManualClock):
    submission_id = reviewed(main, 40, "a")
    main.submissions.claim(submission_id, by="ann")
    with pytest.raises(Conflict) as error:
        main.submissions.claim(submission_id, by="bob")
    with pytest.raises(Conflict):
        main.submissions.review(submission_id, HumanGrade(overall_score=6.5, band="B2"), by="bob")
    clock.advance(901)
    later = main.submissions.claim(submission_id, by="bob")
    main.submissions.release(submission_id, by="bob")

    assert error.value.held_by == "ann"
    assert later.claimed_by == "bob"
    assert main.submissions.pending_reviews()[0].claimed_by is None


def test_a_review_is_final_once(main: Main):
    submission_id = reviewed(main, 40, "a")
    grade = HumanGrade(overall_score=7.0, band="B2", comment="fine")
    view = main.submissions.review(submission_id, grade, by="ann")
    with pytest.raises(Conflict):
        main.submissions.review(submission_id, grade, by="ann")

    assert (view.status, view.result["gradingMode"]) == ("COMPLETED", "hybrid")
    assert view.result["overallScore"] == 7.0
    assert view.document()["result"]["reviewComment"] == "fine"
    assert view.result["criteriaScores"] == RESULT["criteriaScores"]
    assert [each["overallScore"] for each in view.versions] == [6.5]
    assert main.submissions.progress_of("lan")["writing"] == {
        "count": 1,
        "windowAvg": 7.0,
        "trend": "insufficient_data",
    }


@pytest.mark.parametrize(
    ("overall", "band", "criteria"),
    [(11.0, None, {}), (6.3, "B2", {}), (6.5, "C1", {}), (6.5, "B2", {"fluency": 5.0})],
)
def test_a_grade_that_does_not_fit_is_refused(
    main: Main, overall: float, band: str | None, criteria: dict
):
    submission_id = reviewed(main, 40, "a")
    grade = HumanGrade(overall_score=overall, band=band, criteria_scores=criteria)
    with pytest.raises(ValidationRefused):
        main.submissions.review(submission_id, grade, by="ann")

    assert main.status(submission_id) == "REVIEW_REQUIRED"


def test_what_is_complete_cannot_be_reviewed(main: Main):
    submission_id = reviewed(main, 95, "a")
    with pytest.raises(WrongState):
        main.submissions.review(submission_id, HumanGrade(overall_score=6.5, band="B2"), by="ann")


@pytest.mark.parametrize(
    ("human", "band", "mode", "final"),
    [
        (6.5, "B2", "hybrid", 6.5),
        (7.0, "B2", "hybrid", 7.0),
        (6.0, "B2", "hybrid", 6.0),
        (7.5, "B2", "human", 7.5),
        (3.5, None, "human", 3.5),
    ],
)
def test_close_grades_are_mixed_and_others_replaced(
    human: float, band: str | None, mode: str, final: float
):
    merged = merge(RESULT, HumanScores(human, band, {}))

    assert (merged.mode, merged.overall, merged.audit) == (mode, final, mode == "human")


def test_where_the_teachers_score_counts_alone_nothing_of_the_graders_seems_to_count(main: Main):
    request = main.requested()
    machine = RESULT | {
        "confidenceScore": 40,
        "caps": ["off_topic"],
        "feedback": {"strengths": ["a"], "weaknesses": ["b"], "suggestions": ["c"]},
    }
    main.take(completed(request, result=machine))
    grade = HumanGrade(overall_score=8.5, band="C1", criteria_scores={"grammar": 9.0})
    view = main.submissions.review(request["submissionId"], grade, by="ann")
    [version] = view.versions

    assert (view.result["gradingMode"], view.result["overallScore"]) == ("human", 8.5)
    assert view.result["criteriaScores"] == {"grammar": 9.0}
    assert view.result["caps"] == []
    assert view.result["feedback"] == {"strengths": [], "weaknesses": [], "suggestions": []}
    assert version["criteriaScores"] == RESULT["criteriaScores"]
    assert version["feedback"]["weaknesses"] == ["b"]
