import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collabiq.extract import (
    AnswerInvalid,
    Company,
    Extraction,
    ExtractTask,
    occurs,
    read_answer,
)

TEXT = "소리담과 서하백화점이 11월 10일부터 매장 음향 안내 파일럿을 시작하기로 했습니다."
TASK = ExtractTask(
    text=TEXT,
    subject="파일럿",
    companies=(Company("id-1", "소리담"), Company("id-2", "서하백화점")),
)
ANSWER = {
    "person_in_charge": None,
    "startup_name": "소리담",
    "partner_org": "서하백화점",
    "details": TEXT,
    "date": "2025-11-10",
    "confidence": {"person": 0, "startup": 0.9, "partner": 0.95, "details": 1, "date": 0.9},
    "collaboration_intensity": "협력",
    "summary": "요약.",
    "matched_company_id": "id-1",
    "matched_partner_id": None,
}


def read(text=None, **changes):
    given = json.dumps(ANSWER | changes, ensure_ascii=False) if text is None else text
    return read_answer(given, TASK, extractor="gemini", model="m")


def test_an_answer_becomes_an_extraction():
    found = read()

    document = found.to_document()
    assert {name: document[name] for name in ANSWER} == ANSWER
    assert (found.extractor, found.model, list(found.review)) == ("gemini", "m", [])


@pytest.mark.parametrize(
    "wrapped", ["```json\n{}\n```", "```\n{}\n```", "Here you are:\n{}\nAnything else?", "  {}  "]
)
def test_what_stands_around_the_json_does_not_matter(wrapped):
    assert read(wrapped.replace("{}", json.dumps(ANSWER))).startup_name == "소리담"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no",
        "[]",
        "null",
        json.dumps(ANSWER)[:150],
        '{"a": "' + "x" * 5_000_000,
        "{" * 100_000 + "}" * 1_000,
        "[" * 3_000 + "{}" + "]" * 3_000,
    ],
)
def test_an_answer_that_is_no_whole_object_is_none(text):
    with pytest.raises(AnswerInvalid):
        read(text)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"details": None}, "details"),
        ({"details": ["x"]}, "details"),
        ({"summary": 3}, "summary"),
        ({"startup_name": {"a": 1}}, "startup_name"),
        ({"collaboration_intensity": "강함"}, "collaboration_intensity"),
        ({"collaboration_intensity": ["협력"]}, "collaboration_intensity"),
        ({"confidence": 1}, "confidence"),
        ({"confidence": ANSWER["confidence"] | {"date": 95}}, "confidence.date"),
        ({"confidence": ANSWER["confidence"] | {"date": True}}, "confidence.date"),
        ({"confidence": {}}, "confidence.person"),
    ],
)
def test_an_answer_that_breaks_the_schema_says_where(changes, why):
    with pytest.raises(AnswerInvalid, match=why):
        read(**changes)


def test_what_is_too_long_is_cut():
    found = read(startup_name="가" * 500, person_in_charge="나" * 500, summary="다 " * 5_000)

    assert (len(found.startup_name), len(found.person_in_charge)) == (200, 100)
    assert len(found.summary) <= 2_000


@pytest.mark.parametrize("given", ["id-9", "00000000-0000-0000-0000-000000000000", 7, ["id-1"]])
def test_an_id_that_was_not_given_is_left_out_and_looked_at(given):
    found = read(matched_company_id=given)

    assert found.matched_company_id is None
    assert "matched_company_id" in found.review[0]


def test_a_name_stands_for_the_id_of_the_one_company_that_has_it():
    found = read(matched_company_id=" 소리담 ", matched_partner_id="서하백화점")

    assert (found.matched_company_id, found.matched_partner_id) == ("id-1", "id-2")
    assert list(found.review) == []


def test_details_that_do_not_stand_in_the_mail_are_looked_at():
    found = read(details="두 회사는 90억 원 규모의 합병에 즉시 합의하였으며 발표만 남았습니다.")

    assert list(found.review) == ["the details do not stand in the mail"]


def test_details_with_another_blank_or_letter_stand_in_the_mail():
    assert occurs(TEXT.replace(" ", "  ").replace("음향", "음양"), TEXT) >= 0.8
    assert list(read(details=TEXT.replace("음향", "음양")).review) == []


def test_a_short_mail_does_not_pass_for_a_long_quote():
    assert occurs("x" * 1_000 + " yes", "yes") < 0.2


def test_a_date_that_is_none_is_looked_at():
    found = read(date="11월 첫째 주")

    assert found.date is None
    assert list(found.review) == ["the date is no date"]


def test_odd_characters_are_taken_out():
    found = read(json.dumps(ANSWER | {"startup_name": "소\u202e리\ud800담\x00"}))

    assert found.startup_name == "소리\ufffd담"


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(sorted(ANSWER)), inner, max_size=8)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_no_json_makes_it_fail_otherwise(document):
    changed = document if isinstance(document, dict) else {"details": document}
    for given_answer in (document, ANSWER | changed):
        try:
            found = read(json.dumps(given_answer))
        except AnswerInvalid:
            continue
        assert isinstance(found, Extraction)
