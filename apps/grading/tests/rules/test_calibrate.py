"""Sample texts in a folder."""

import pytest

from apps.grading.tests.scoring.grading_texts import NOW
from grading.questions import packaged
from grading.rules import RulesAssessor
from grading.samples.calibrate import (
    BadSample,
    calibrate,
    grade_text,
    packaged_samples,
    read_samples,
    table,
)

GOOD = "question: w2-tourism\nexpected: below B1\n---\nTourism is good. I like it.\n"


def test_a_folder_is_graded_and_shown_beside_what_was_expected(tmp_path):
    (tmp_path / "one.txt").write_text(GOOD)
    (tmp_path / "two.txt").write_text(GOOD.replace("below B1", "C1"))
    (tmp_path / "notes.md").write_text("not a sample")
    made = calibrate(
        read_samples(tmp_path, questions=packaged()), assessor=RulesAssessor(), graded_at=NOW
    )

    assert [(each.sample.name, each.got, each.steps_off) for each in made] == [
        ("one", "below B1", 0),
        ("two", "below B1", -3),
    ]
    shown = table(made)
    assert "one" in shown[1]
    assert shown[-1] == "1 of 2 as expected, 1 at most one band off"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("Tourism is good.", "no line with ---"),
        (GOOD.replace("w2-tourism", "w9"), "no question 'w9'"),
        (GOOD.replace("below B1", "A2"), "expected must be one of"),
    ],
)
def test_a_file_that_is_no_sample_is_named(tmp_path, content, why):
    (tmp_path / "bad.txt").write_text(content)

    with pytest.raises(BadSample, match=f"bad: .*{why}"):
        read_samples(tmp_path, questions=packaged())


def test_the_packaged_samples_have_three_answers_to_each_of_some_questions():
    samples = read_samples(packaged_samples(), questions=packaged())

    assert len(samples) >= 15
    assert {each.question.skill for each in samples} == {"writing", "speaking"}


def test_a_text_is_graded_without_a_store():
    result = grade_text(
        "I go to work by bus.",
        packaged().get("s1-travel"),
        assessor=RulesAssessor(),
        graded_at=NOW,
    )

    assert result.transcript == "I go to work by bus."
    assert result.gradedAt == NOW
