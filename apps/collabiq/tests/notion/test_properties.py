from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.collabiq.tests.notion.world import COLUMNS, TYPES
from collabiq.notion import (
    InvalidFieldMap,
    MissingColumn,
    RowValues,
    Source,
    body_blocks,
    collaboration_type,
    field_map,
    row_properties,
    text_objects,
)
from collabiq.notion.schema import Column
from collabiq.notion.text import MAX_BLOCKS, MAX_OBJECTS, MAX_UNITS, option_name, pieces, units

FIELDS = field_map(None)
VALUES = RowValues(
    email_id="19a3",
    title="소리담-서하백화점",
    person_ids=["p1"],
    startup_ids=["c1"],
    partner_ids=["c2"],
    details="매장 음향 안내",
    summary="요약입니다.",
    date=date(2025, 11, 10),
    type="[A]",
    intensity="협력",
    confidences={"person": 0.9, "date": 0.333},
    message_url="https://mail.google.com/x",
)


def source(without: str = "", **changed: str) -> Source:
    kinds = {name: kind for name, kind in (COLUMNS | changed).items() if name != without}
    return Source("s", "d", {name: Column(name, kind) for name, kind in kinds.items()})


def test_every_field_has_its_column():
    built = row_properties(VALUES, source(), FIELDS)

    assert built.properties == {
        "제목": {"title": [{"type": "text", "text": {"content": "소리담-서하백화점"}}]},
        "Email ID": {"rich_text": [{"type": "text", "text": {"content": "19a3"}}]},
        "담당자": {"people": [{"id": "p1"}]},
        "스타트업명": {"relation": [{"id": "c1"}]},
        "협업기관": {"relation": [{"id": "c2"}]},
        "협업내용": {"rich_text": [{"type": "text", "text": {"content": "매장 음향 안내"}}]},
        "요약": {"rich_text": [{"type": "text", "text": {"content": "요약입니다."}}]},
        "날짜": {"date": {"start": "2025-11-10"}},
        "협업형태": {"select": {"name": "[A]"}},
        "협업강도": {"select": {"name": "협력"}},
        "담당자 신뢰도": {"number": 0.9},
        "날짜 신뢰도": {"number": 0.33},
        "Message URL": {"url": "https://mail.google.com/x"},
        "검토필요": {"checkbox": False},
    }
    assert (built.missing, built.lost) == ([], [])


def test_a_column_that_is_missing_is_left_out_and_makes_the_row_one_to_look_at():
    built = row_properties(VALUES, source(without="날짜"), FIELDS)

    assert "날짜" not in built.properties
    assert (built.missing, built.lost) == (["날짜"], ["날짜"])
    assert built.properties["검토필요"] == {"checkbox": True}


def test_a_column_that_is_missing_for_no_value_loses_nothing():
    built = row_properties(RowValues(email_id="1", title="t"), source(without="날짜"), FIELDS)

    assert (built.missing, built.lost) == (["날짜"], [])
    assert built.properties["검토필요"] == {"checkbox": False}


def test_a_column_of_another_kind_is_as_good_as_missing():
    built = row_properties(VALUES, source(담당자="rich_text"), FIELDS)

    assert built.lost == ["담당자"]


def test_the_title_is_found_whatever_it_is_called():
    kinds = {name: kind for name, kind in COLUMNS.items() if name != "제목"} | {"Name": "title"}
    found = Source("s", "d", {name: Column(name, kind) for name, kind in kinds.items()})

    assert "Name" in row_properties(VALUES, found, FIELDS).properties


def test_without_a_column_for_the_mails_id_nothing_is_written():
    with pytest.raises(MissingColumn, match="Email ID"):
        row_properties(VALUES, source(without="Email ID"), FIELDS)


def test_an_option_that_a_status_does_not_have_is_lost_and_of_a_select_is_made():
    columns = dict(source().columns) | {"협업강도": Column("협업강도", "status", ("이해",))}

    built = row_properties(VALUES, Source("s", "d", columns), FIELDS)

    assert built.lost == ["협업강도"]


def test_names_of_options_have_no_commas():
    assert option_name("a, b,c") == "a b c"


def test_a_title_is_one_visible_line():
    built = row_properties(
        RowValues(email_id="1", title="a\u202e\nb" + "x" * 500), source(), FIELDS
    )

    content = built.properties["제목"]["title"][0]["text"]["content"]
    assert content.startswith("a bx")
    assert len(content) == 300


@given(st.text(max_size=300), st.integers(min_value=2, max_value=40))
def test_pieces_are_the_text_and_fit(text, limit):
    found = list(pieces(text, limit=limit))

    assert "".join(found) == text
    assert all(0 < units(piece) <= limit for piece in found)


def test_units_are_those_of_utf_16():
    text = "a가😀𝒜\ufffd"

    assert units(text) == len(text.encode("utf-16-le")) // 2


def test_a_text_of_emoji_is_divided_between_them():
    found = [each["text"]["content"] for each in text_objects("a" + "😀" * 2_000)]

    assert [units(each) for each in found] == [1_999, 2_000, 2]
    assert "".join(found) == "a" + "😀" * 2_000


def test_a_text_of_more_than_a_hundred_objects_is_cut_with_a_mark():
    found = text_objects("x" * 300_000)

    assert len(found) == MAX_OBJECTS
    assert found[-1]["text"]["content"].endswith("[…]")
    assert all(units(each["text"]["content"]) <= MAX_UNITS for each in found)


def test_no_text_becomes_a_link_or_a_mention():
    (only,) = text_objects("https://evil.example @everyone $x^2$")

    assert only == {"type": "text", "text": {"content": "https://evil.example @everyone $x^2$"}}


@pytest.mark.parametrize("text", ["a\n\n" * 500, "x" * 1_000_000, "가\n\n" * 100, ""])
def test_a_body_fits_into_one_request(text):
    blocks = body_blocks(text)

    assert len(blocks) <= MAX_BLOCKS
    assert len(str(blocks).encode()) < 500_000


@pytest.mark.parametrize(
    ("startup", "partner_portfolio", "affiliate", "kind"),
    [
        (True, False, True, TYPES[0]),
        (True, True, True, TYPES[0]),
        (True, False, False, TYPES[1]),
        (True, True, False, TYPES[2]),
        (False, False, True, TYPES[3]),
    ],
)
def test_the_kind_of_a_collaboration_is_an_option_of_the_schema(
    startup, partner_portfolio, affiliate, kind
):
    found = collaboration_type(
        startup_is_portfolio=startup,
        partner_is_portfolio=partner_portfolio,
        partner_is_affiliate=affiliate,
        options=TYPES,
    )

    assert found == kind


def test_a_field_map_changes_what_it_names():
    fields = field_map('{"person": "Owner"}')

    assert (fields["person"], fields["date"]) == ("Owner", "날짜")


@pytest.mark.parametrize(
    "given", ["{", "[]", '{"nobody": "x"}', '{"person": 1}', '{"person": " "}']
)
def test_a_field_map_that_makes_no_sense_is_refused(given):
    with pytest.raises(InvalidFieldMap, match="NOTION_FIELD_MAP"):
        field_map(given)
