"""The offline grader: what it finds, and that it tells weak texts from strong ones."""

import json

import pytest

from apps.grading.tests.scoring.grading_texts import ESSAY, NOW, TALK
from grading.llm import AssessTask, LlmConfig, evidence_of, open_assessor
from grading.questions import packaged
from grading.rules import RulesAssessor, evidence_by_rules
from grading.rules.measures import measure
from grading.rules.slips import slips_in
from grading.samples.calibrate import calibrate, packaged_samples, read_samples
from grading.scoring.texts.text import analyse

SAMPLES = read_samples(packaged_samples(), questions=packaged())


@pytest.fixture(scope="module")
def results():
    """The results of all packaged samples by name."""
    made = calibrate(SAMPLES, assessor=RulesAssessor(), graded_at=NOW)
    return {each.sample.name: each for each in made}


@pytest.mark.parametrize("topic", ["w1-hotel", "w1-course", "w2-tourism", "w2-phones", "s1-travel"])
def test_weak_middling_and_strong_answers_are_told_apart(results, topic):
    weak, middling, strong = (
        results[f"{topic}-{each}"].result.overallScore for each in ("weak", "middling", "strong")
    )

    assert weak + 1.5 <= middling
    assert middling + 1 <= strong


def test_a_long_plain_essay_scores_less_than_a_good_one_and_that_less_than_a_fine_one(results):
    scores = [
        results[f"w2-tourism-{each}"].result.overallScore
        for each in ("weak", "plain", "good", "fine")
    ]

    assert scores == sorted(set(scores))


def test_the_rules_are_at_most_one_band_off_on_the_samples(results):
    assert all(abs(each.steps_off) <= 1 for each in results.values())
    assert sum(each.steps_off == 0 for each in results.values()) >= 0.7 * len(results)


def test_the_rules_say_who_graded_and_are_not_too_sure(results):
    for each in results.values():
        assert each.result.grader == "rules"
        assert each.result.confidenceScore <= 70
        assert each.result.cost.usd == 0


def test_no_sample_has_a_cap_that_it_does_not_deserve(results):
    assert {name for name, each in results.items() if each.result.caps} == set()


def test_a_strong_answer_is_marked_in_few_places_and_a_weak_one_in_many(results):
    weak, strong = results["w2-tourism-weak"].result, results["w2-tourism-strong"].result

    assert len(weak.annotations) >= 6
    assert len(strong.annotations) <= 1
    assert weak.feedback.weaknesses
    assert weak.feedback.suggestions
    assert strong.feedback.strengths


def test_without_an_address_the_rules_assess():
    assessor = open_assessor(LlmConfig())
    answer = assessor.assess(
        AssessTask.of(ESSAY, "Tourism is good."), token="t", timeout_s=1.0, headers={}
    )

    assert (assessor.name, answer.provider) == ("rules", "rules")
    assert answer.usage == {"inputTokens": 0, "outputTokens": 0, "usd": 0.0}
    assert json.loads(answer.body)["levels"]
    assert evidence_of(answer) == evidence_by_rules(AssessTask.of(ESSAY, "Tourism is good."))


def test_evidence_quotes_the_text_and_names_each_criterion():
    text = next(each.text for each in SAMPLES if each.name == "w2-tourism-middling")
    found = evidence_by_rules(AssessTask.of(ESSAY, text))

    assert [each.criterion for each in found.levels] == [
        "taskFulfillment",
        "organization",
        "vocabulary",
        "grammar",
    ]
    assert all(each.quote in text for each in found.levels)
    assert all(each.quote in text for each in found.requirements if each.met)
    assert found.positionClear


def test_a_transcript_is_assessed_for_what_it_shows():
    found = evidence_by_rules(AssessTask.of(TALK, "I go to work by bus every day."))

    assert {each.criterion for each in found.levels} == {"grammar", "vocabulary", "discourse"}


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("My brother says she go home.", "she go"),
        ("People is angry.", "People is"),
        ("We must to clean it.", "must to clean"),
        ("He gave me many advices.", "advices"),
        ("It is more better now.", "more better"),
        ("This is a apple.", "a apple"),
        ("He saw an cat there.", "an cat"),
        ("I am agree with it.", "I am agree"),
        ("I saw the the car.", "the the"),
        ("She didn't went home.", "didn't went"),
        ("When i was young", "i"),
        ("It was late. then we left.", "then"),
    ],
)
def test_a_mistake_is_found_where_it_stands(text, quote):
    assert quote in [each.quote for each in slips_in(text, written=True)]


@pytest.mark.parametrize(
    "text",
    [
        "Let it go, please.",
        "Did she have an hour? It was a university that I liked, e.g. in Hue.",
        "I would like to make it work. He can do it, and they have it.",
        "This is one of the places that people want to see. Hoi An would be another.",
    ],
)
def test_what_is_right_is_not_marked(text):
    assert slips_in(text, written=True) == []


def test_spelling_is_checked_but_names_and_british_words_are_not_marked():
    text = "Nguyen likes the colour of the centre and definately wants to organise a programme."

    assert measure(analyse(text)).misspelt == ("definately",)
    errors = evidence_by_rules(AssessTask.of(ESSAY, text)).errors
    assert [(each.quote, each.suggestion) for each in errors] == [("definately", "definitely")]
