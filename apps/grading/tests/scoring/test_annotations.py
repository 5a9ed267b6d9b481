"""Quotes and where they stand."""

import pytest

from apps.grading.tests.scoring.grading_texts import evidence, graded, long_text
from grading.scoring.evidence import ErrorFound
from grading.scoring.texts.quotes import Quotable


def found(text, quote, **options):
    span = Quotable(text).find(quote, **options)
    return None if span is None else text[span.offset : span.offset + span.length]


@pytest.mark.parametrize(
    ("text", "quote", "place"),
    [
        ("He go home.", "He go", "He go"),
        ("He  go\nhome.", "he go home", "He  go\nhome"),
        ("It’s a “good” day", 'it\'s a "good" day', "It’s a “good” day"),
        ("a\u200bdvi\u200bces are", "advices", "a\u200bdvi\u200bces"),
        ("An cat and a cat", "cat", "cat"),
        ("İstanbul is big", "is big", "is big"),
        ("nothing", "something", None),
        ("nothing", "", None),
        ("nothing...", "...", None),
        ("he said so", '"he said so..."', "he said so"),
    ],
)
def test_a_quote_is_found_as_it_stands_in_the_text(text, quote, place):
    assert found(text, quote) == place


def test_whole_words_are_preferred():
    assert Quotable("The cathedral has a cat").find("cat").offset == 20
    assert Quotable("The cathedral").find("cat").offset == 4


def test_the_same_mistake_twice_is_marked_at_both_places():
    text = long_text() + " He go there. Then he go home."
    errors = [ErrorFound(quote="he go", kind="grammar", message="goes", suggestion="he goes")] * 3
    marks = graded(text, evidence(text, errors=errors)).annotations

    assert [text[each.offset : each.offset + each.length] for each in marks] == ["He go", "he go"]
    assert [each.suggestion for each in marks] == ["he goes", "he goes"]


def test_annotations_are_in_order_and_do_not_overlap():
    text = "People is happy. " + long_text()
    errors = [
        ErrorFound(quote="happy", message="third"),
        ErrorFound(quote="People is", message="first"),
        ErrorFound(quote="is", message="overlaps"),
    ]
    marks = graded(text, evidence(text, errors=errors)).annotations

    assert [each.message for each in marks] == ["first", "third"]


def test_what_is_shown_holds_no_control_characters():
    text = long_text()
    errors = [ErrorFound(quote="Tourism", message="a\x00b\x1b[31m\u202ec", suggestion="\u200bd")]
    made = graded(text, evidence(text, errors=errors, strengths=["x\x07y", "x\x07y", " "]))

    assert made.annotations[0].message == "ab[31mc"
    assert made.annotations[0].suggestion == "d"
    assert made.feedback.strengths == ["xy"]
