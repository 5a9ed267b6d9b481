"""Limits that follow from the text itself."""

import pytest

from apps.grading.tests.scoring.grading_texts import (
    ESSAY,
    LETTER,
    SPEECH,
    TALK,
    evidence,
    graded,
    long_text,
    spoken,
)
from grading.questions import packaged
from grading.scoring.caps import LIMITS
from grading.speech import SpeechFacts

VIETNAMESE = (
    "Du lịch mang lại nhiều lợi ích cho người dân địa phương. Tuy nhiên, nó cũng gây ra ô nhiễm "
    "môi trường và làm cho cuộc sống hằng ngày trở nên khó khăn hơn. Theo tôi, chính phủ nên giới "
    "hạn số lượng khách du lịch mỗi năm. Ví dụ, ở quê tôi có rất nhiều khách sạn mới được xây. "
) * 4


def test_a_text_without_faults_has_no_cap():
    result = graded(long_text())

    assert result.caps == []
    assert result.overallScore > 6


@pytest.mark.parametrize(
    ("text", "cap"),
    [
        ("Tourism is good because people earn money from tourists every day.", "too_short"),
        (ESSAY.prompt * 2, "copied_prompt"),
        ("Tourism helps local people to earn money every single day. " * 30, "repeated"),
        ("tourism and travel help local people to earn money " * 40, "repeated"),
        (VIETNAMESE, "not_english"),
        (
            "My grandmother bakes bread with flour and butter. She kneads dough before dawn, "
            "then lights the oven. The crust turns golden. "
            * 3
            + "Her kitchen smells of yeast and salt. Nobody makes better rolls. " * 2,
            "off_topic",
        ),
    ],
    ids=["short", "copied", "repeated sentences", "repeated words", "vietnamese", "off topic"],
)
def test_a_text_gets_its_cap_whatever_the_model_says(text, cap):
    result = graded(text, evidence(text, level=5, onTopic=True))

    assert cap in result.caps
    assert result.overallScore <= LIMITS[cap]


def test_a_text_of_thirty_percent_of_the_minimum_is_not_too_short():
    words = ("tourism", "gives", "many", "local", "families", "honest", "work", "roads", "fields")
    exactly = " ".join(f"{words[n % len(words)]}" if n % 3 else f"word{n}" for n in range(75))

    assert "too_short" not in graded(exactly).caps
    assert "too_short" in graded(" ".join(exactly.split()[:74])).caps


def test_invisible_characters_make_a_text_no_longer():
    short = "Tourism is good because people earn money. " * 2
    result = graded(short.replace(" ", " \u200b \u2060 ") + "\u200b \u200d " * 500)

    assert result.wordCount == 14
    assert "too_short" in result.caps


def test_a_model_can_add_the_cap_for_the_topic():
    text = long_text()

    assert graded(text, evidence(text, onTopic=False)).caps == ["off_topic"]
    assert graded(text, evidence(text, onTopic=False), evidence(text), evidence(text)).caps == []


def test_each_packaged_prompt_tells_its_own_topic_from_bread():
    bread = (
        "A baker mixes flour and butter into dough before dawn, then somebody lights the oven. "
        "The crust turns golden while yeast and salt smell wonderful. Nobody makes softer rolls, "
        "and the miller across the river envies such crust, such patience and that iron oven."
    )

    for question in packaged().all():
        assert "off_topic" in graded(bread, question=question).caps, question.id


def test_a_weakly_spelt_text_is_still_english():
    text = (
        "I lik to go to the beech with my famly becuase it is gud fun and the wether is warm. " * 2
    )

    assert "not_english" not in graded(text, question=LETTER).caps


@pytest.mark.parametrize(
    ("text", "speech"),
    [
        ("", SPEECH),
        ("thank you", SpeechFacts(20.0, 0.0, 0, 20.0, 0.0)),
    ],
    ids=["no words", "silence that a recogniser took for words"],
)
def test_a_recording_without_speech_scores_nothing(text, speech):
    result = spoken(text, speech=speech)

    assert result.caps == ["no_speech"]
    assert result.overallScore == 0
    assert set(result.criteriaScores.values()) == {0}
    assert result.band is None


def test_reading_out_the_prompt_is_copying():
    assert "copied_prompt" in spoken(TALK.prompt).caps
