"""The packaged prompts, and those that were added."""

import re

import pytest

from grading.questions import Question, Questions, minimum_words, packaged
from grading.states import Skill

ADDED = Question(
    id="w2-added",
    skill=Skill.WRITING,
    number=2,
    title="Added",
    prompt="Write about lamps.",
    minimum_words=250,
)


def test_every_task_and_part_has_two_prompts_or_more():
    found = packaged().all()

    assert len(found) >= 12
    for skill, number in [(Skill.WRITING, n) for n in (1, 2)] + [
        (Skill.SPEAKING, n) for n in (1, 2, 3)
    ]:
        assert sum((each.skill, each.number) == (skill, number) for each in found) >= 2


@pytest.mark.parametrize("question", packaged().all(), ids=lambda each: each.id)
def test_a_packaged_prompt_is_complete(question):
    assert re.fullmatch(rf"{question.skill[0]}{question.number}-[a-z-]+", question.id)
    assert question.title
    assert len(question.requirements) >= 3
    assert len(question.keywords) >= 8
    assert question.minimum_words == minimum_words(question.skill, question.number)
    assert Question.from_document(question.to_document()) == question


def test_writing_needs_as_many_words_as_the_task_says():
    assert packaged().get("w1-hotel").minimum_words == 120
    assert packaged().get("w2-tourism").minimum_words == 250


def test_questions_are_found_by_id_and_by_skill():
    questions = packaged()

    assert questions.get("s1-travel").skill is Skill.SPEAKING
    assert questions.get("nothing") is None
    assert {each.skill for each in questions.all(Skill.WRITING)} == {Skill.WRITING}


def test_an_added_question_is_seen_at_once_and_replaces_no_packaged_one():
    added = []
    questions = packaged(lambda: added)
    assert questions.get("w2-added") is None
    added += [ADDED, Question.from_document(ADDED.to_document() | {"id": "w2-tourism"})]

    assert questions.get("w2-added") == ADDED
    assert ADDED in questions.all()
    assert questions.get("w2-tourism").prompt != ADDED.prompt
    assert [each.prompt for each in questions.all() if each.id == "w2-tourism"] != [ADDED.prompt]


def test_a_document_with_a_number_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="part 4"):
        Question.from_document(
            {"id": "s4", "skill": "speaking", "partNumber": 4, "title": "x", "prompt": "x"}
        )


def test_questions_may_be_given_by_hand():
    assert Questions([ADDED]).all() == [ADDED]
